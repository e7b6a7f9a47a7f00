"""The guide "Bring your own application": each of its commands runs on a small application, with tasks of a file and with templates."""

import importlib
import re
import shlex
import subprocess
import sys

import pytest

from agents.training.settings import PointerBCSettings
from tests.documents import ROOT, commands
from tests.test_own_application import folder as folder
from webarena_gym.tools.cli import main

GUIDE = ROOT / "docs" / "guides" / "bring-your-own-application.md"
FEW = "--worlds 1 --per-template 1"
SMALL = {
    "webarena-gym app new": "--name other",
    "webarena-gym app check": "--resets 2",
    "webarena-gym fuzz --application": "--steps 2",
    "webarena-gym app matrix": "--resets 2 --browser inprocess",
    "webarena-gym app record": "",
    "webarena-gym app audit": "--resets 2 --jobs 1",
    "webarena-gym evaluate": "--jobs 1 --out scores",
    "python -m agents.demonstrations": FEW,
    "python -m agents.train_bc": f"{FEW} --updates 1 --width 8 --hidden 8",
    "python -m agents.train_grpo": f"{FEW} --updates 1 --tasks-per-update 1 --group-size 2 --jobs 1",
    "python -m agents.evaluate": "--limit 1 --jobs 1 --save episodes.jsonl",
    "python -m agents.report": "episodes.jsonl",
    "webarena-gym mcp": "",
}
"""Options that make a command small. `serve` runs in tests/test_own_application.py until it is stopped."""
AGENT = "def act(observation, info):\n    return 'exit(message=\"\")'\n"


def run(words):
    if words[0] == "webarena-gym":
        assert main(words[1:]) == 0
    else:
        importlib.import_module(words[2]).main(words[3:])


@pytest.mark.parametrize("has_templates", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_commands_of_the_guide_run(folder, tmp_path, monkeypatch, has_templates):
    file = folder / "webarena-app.toml"
    text = file.read_text().replace("{ NOTES_DB", '{ NOTES_SOUND = "1", NOTES_DB')
    file.write_text(text if has_templates else text.replace('templates = "templates.toml"\n', ""))
    (tmp_path / "my_agent.py").write_text(AGENT)
    monkeypatch.chdir(tmp_path)
    lines = iter(["type Title Milk", "click Add", "exit"])
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    done = set()
    for command in commands(GUIDE):
        words = shlex.split(command)
        name = next((name for name in SMALL if command.startswith(name)), "")
        if words[1:3] in (["app", "serve"], ["suite", "add"]) or "notes.webarena.zip" in words:
            continue  # archives: tests/test_application_archive.py; suites: tests/test_suites.py
        assert name, f"the guide has a new command, {command!r}: add it to SMALL"
        place = "fresh" if "new" in words else str(folder)
        words = [place if word == "FOLDER" else word for word in words] + shlex.split(SMALL[name])
        if name == "webarena-gym mcp":
            subprocess.run(
                [sys.executable, "-m", "webarena_gym", *words[1:]], stdin=subprocess.DEVNULL, check=True, timeout=120
            )
        else:
            run(words)
        done.add(name)
    assert done == set(SMALL), "and the table has no others"
    assert re.search("Do it|Milk|note", (tmp_path / "report.html").read_text())


@pytest.mark.parametrize("option", [{"layout_worlds": (1,)}, {"one_world_each": True}])
def test_options_of_worlds_are_refused_with_an_application(folder, option):
    with pytest.raises(ValueError, match="with an application or a suite, which have no worlds"):
        PointerBCSettings(application=str(folder), out=folder / "bc", **option)
