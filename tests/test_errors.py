"""Every exception class of the package stands in one tree, which the docstring of `webarena_gym.errors` draws."""

import importlib
import inspect
import pickle
import pkgutil
import re

import pytest

import webarena_gym
from webarena_gym import errors

_NODE = re.compile(r"^([ │├└─]*)([A-Za-z_.]+)", re.MULTILINE)
_BUILTINS = {  # what callers have caught so far
    "TaskError": ValueError,
    "SnapshotError": ValueError,
    "RenderModeError": (ValueError, TypeError),
    "NothingToDraw": LookupError,
    "ConformanceError": AssertionError,
    "ResultError": ValueError,
}


def exception_classes():
    """Every exception class that a module of the package defines, by its name in the tree."""
    found = {}
    for module_info in pkgutil.walk_packages(webarena_gym.__path__, "webarena_gym."):
        # An adapter needs the package that it adapts to, which need not be here.
        if not module_info.name.endswith("__main__") and ".integrations." not in module_info.name:
            module = importlib.import_module(module_info.name)
            for name, value in vars(module).items():
                if inspect.isclass(value) and issubclass(value, BaseException) and value.__module__ == module_info.name:
                    place = module_info.name.removeprefix("webarena_gym.")
                    found[name if place == "errors" else f"{place}.{name}"] = value
    return found


def drawn():
    """The parent of each class as the docstring draws it, by name."""
    tree = errors.__doc__.split("\n\n")[1]
    parents, open_at = {}, {}
    for branch, name in _NODE.findall(tree):
        depth = len(branch) // 4
        open_at[depth] = name
        parents[name] = open_at.get(depth - 1)
    return parents


def test_the_tree_has_every_exception_class_under_its_base():
    classes = exception_classes()
    names = {value: name for name, value in classes.items()}
    assert drawn() == {name: names.get(value.__bases__[0]) for name, value in classes.items()}
    assert all(issubclass(value, webarena_gym.errors.WebArenaGymError) for value in classes.values())


@pytest.mark.parametrize("name", _BUILTINS)
def test_what_callers_have_caught_is_still_caught(name):
    kinds = _BUILTINS[name]
    assert all(issubclass(getattr(errors, name), kind) for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))


@pytest.mark.parametrize("name", [name for name in exception_classes() if "." not in name])
def test_an_error_comes_out_of_another_process_as_it_was(name):
    kind = getattr(errors, name)
    if name == "RefusedError":
        error = kind("a message", 503, {"retry-after": "1"})
    else:
        error = kind("a message", status=404, at="body.task") if name == "ArenaError" else kind("a message")
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), vars(copy)) == (kind, "a message", vars(error))
