"""The public names of `webarena_gym`, the modules that its import loads, its registered envs, and `python -m webarena_gym`."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import gymnasium
import pytest

import webarena_gym
from webarena_gym.__main__ import main
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


def test_names_that_are_not_public_are_attribute_errors():
    with pytest.raises(AttributeError, match="absent"):
        _ = webarena_gym.absent


@pytest.mark.parametrize("name", ["WebArenaLite-v0", "WebArenaLiteCandidates-v0", "MiniWoBText-v0"])
def test_envs_are_registered_without_gymnasium_s_passive_checker(name):
    spec = gymnasium.spec(name)
    assert spec.disable_env_checker
    assert spec.order_enforce is (name == "MiniWoBText-v0"), "a restored env needs no reset"
    module, _, entry = spec.entry_point.partition(":")
    assert callable(getattr(importlib.import_module(module), entry))


def test_the_module_is_the_command_and_ctrl_c_ends_it_without_a_traceback(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["webarena-gym", "--version"])
    assert (main(), capsys.readouterr().out) == (0, f"{webarena_gym.__version__}\n")

    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr("webarena_gym.tools.cli.main", interrupt)
    assert main() == 130
