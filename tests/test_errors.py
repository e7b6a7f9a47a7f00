"""Exceptions: one base class, builtin classes, and pickles."""

import importlib
import inspect
import pickle
import pkgutil
from functools import cache

import pytest

import webarena_gym
from tests.errors import expect_error
from webarena_gym import errors
from webarena_gym.errors import WebArenaGymError

_BUILTINS = {  # what callers have caught so far
    "TaskError": (ValueError,), "SnapshotError": (ValueError,), "RenderModeError": (ValueError, TypeError), "NothingToDraw": (LookupError,),
    "ConformanceError": (AssertionError,), "ResultError": (ValueError,),
}  # fmt: skip


@cache
def exception_classes():
    """Every exception class that a module of the package defines, by its name and module."""
    found = {}
    for module_info in pkgutil.walk_packages(webarena_gym.__path__, "webarena_gym."):
        # An adapter needs the package that it adapts to, which need not be here. The host runs in an application's interpreter, alone.
        if not module_info.name.endswith(("__main__", ".host")) and ".integrations." not in module_info.name:
            module = importlib.import_module(module_info.name)
            for name, value in vars(module).items():
                if inspect.isclass(value) and issubclass(value, BaseException) and value.__module__ == module_info.name:
                    place = module_info.name.removeprefix("webarena_gym.")
                    found[name if place == "errors" else f"{place}.{name}"] = value
    return found


def test_unknown_names_fail_and_exceptions_share_a_base_and_keep_builtin_classes():
    with expect_error(AttributeError, "'nothing'"):
        webarena_gym.nothing  # noqa: B018
    assert len(exception_classes()) > 20
    assert all(issubclass(value, WebArenaGymError) for value in exception_classes().values())
    assert all(issubclass(getattr(errors, name), kind) for name, kinds in _BUILTINS.items() for kind in kinds)


@pytest.mark.parametrize("name", [name for name in exception_classes() if "." not in name])
def test_an_error_comes_out_of_another_process_as_it_was(name):
    kind = getattr(errors, name)
    arguments = {"RefusedError": (503, {"retry-after": "1"}), "ArenaError": (404, "body.task"), "CutOffError": ((7, 5, None),)}
    error = kind("a message", *arguments.get(name, ()))
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), vars(copy)) == (kind, "a message", vars(error))
