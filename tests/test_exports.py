"""What `import webarena_gym` offers and costs, and that each of its exceptions has one base and comes out of other processes."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import webarena_gym
from webarena_gym import suite, tasks
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
