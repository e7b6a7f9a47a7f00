"""The names that `import webarena_gym` offers, and what that import costs."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import webarena_gym
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


def test_the_type_checker_is_told_of_the_same_names():
    tree = ast.parse(Path(webarena_gym.__file__).read_text(encoding="utf-8"))
    told = {alias.name: node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    told = {name: module for name, module in told.items() if module.startswith("webarena_gym")}
    assert sorted(told) == sorted(webarena_gym.__all__)
    assert {name: module for name, module in told.items() if module != "webarena_gym.errors"} == {
        name: f"webarena_gym.{module}" for name, module in webarena_gym._LAZY.items()
    }


def test_the_import_brings_nothing_of_the_package_but_its_errors():
    code = "import sys, webarena_gym; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = ast.literal_eval(done.stdout)
    assert [name for name in found if name.startswith("webarena_gym")] == ["webarena_gym", "webarena_gym.errors"]
    assert not {"torch", "lxml", "jinja2", "werkzeug", "playwright"} & set(found)


def test_other_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        webarena_gym.nothing  # noqa: B018
