"""What `import webarena_gym` offers and costs, and that each of its exceptions has one base and comes out of other processes."""

import ast
import importlib
import inspect
import pickle
import pkgutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import webarena_gym
from tests.errors import expect_error
from webarena_gym import errors, suite, tasks
from webarena_gym.errors import WebArenaGymError


@pytest.mark.parametrize("name", webarena_gym.__all__)
def test_every_exported_name_is_there_and_has_a_docstring(name):
    value = getattr(webarena_gym, name)
    assert value.__doc__
    assert name in dir(webarena_gym)
    if name in webarena_gym._LAZY:
        assert value is getattr(importlib.import_module(f"webarena_gym.{webarena_gym._LAZY[name]}"), name)
    else:
        assert issubclass(value, WebArenaGymError)


def test_former_places_of_names_lead_to_the_present_ones():
    assert {name for name in tasks._MOVED if getattr(tasks, name) is not getattr(suite, name)} == set()
    with pytest.raises(AttributeError):
        _ = tasks.absent


def test_type_checking_imports_match_the_public_names():
    tree = ast.parse(Path(webarena_gym.__file__).read_text(encoding="utf-8"))
    imported = {alias.name: node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    imported = {name: module for name, module in imported.items() if module.startswith("webarena_gym")}
    assert sorted(imported) == sorted(webarena_gym.__all__)
    others = {name: module for name, module in imported.items() if module != "webarena_gym.errors"}
    assert others == {name: f"webarena_gym.{module}" for name, module in webarena_gym._LAZY.items()}


def test_the_import_brings_nothing_of_the_package_but_its_errors():
    code = "import sys, webarena_gym; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = ast.literal_eval(done.stdout)
    assert [name for name in found if name.startswith("webarena_gym")] == ["webarena_gym", "webarena_gym.errors"]
    assert not {"torch", "lxml", "jinja2", "werkzeug", "playwright"} & set(found)


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
