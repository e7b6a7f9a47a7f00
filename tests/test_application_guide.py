"""The guide "Bring your own application": its worked example gives the outputs that it prints, and its other commands run.

The latter run on a small application, with tasks of a file and with templates. The example of the README runs, too.
"""

import importlib
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib

import pytest

from agents.training.settings import PointerBCSettings
from tests import needs
from tests.documents import README, ROOT, blocks, commands
from tests.errors import expect_error
from tests.own_application import folder as folder
from webarena_gym.tools.cli import main

GUIDE = ROOT / "docs" / "guides" / "bring-your-own-application.md"
FRAMEWORKS = ROOT / "docs" / "guides" / "flask-and-django.md"
PROGRAMS = {"python": "", "flask": "-m flask ", "django-admin": "-m django "}
"""Programs of the virtual environment of an example, and the options of Python that run them."""
FEW = "--worlds 1 --per-template 1"
SMALL = {
    "webarena-gym app fuzz": "--steps 2 --jobs 1",
    "webarena-gym fuzz --application": "--steps 2",
    "webarena-gym app matrix": "--resets 2 --browser inprocess",
    "webarena-gym app audit": "--resets 2 --jobs 1",
    "webarena-gym evaluate": "--jobs 1 --out scores",
    "python -m agents.demonstrations": FEW,
    "python -m agents.train_bc": f"{FEW} --updates 1 --width 8 --hidden 8",
    "python -m agents.train_grpo": f"{FEW} --updates 1 --tasks-per-update 1 --group-size 2 --jobs 1",
    "python -m agents.evaluate": "--limit 1 --jobs 1 --save episodes.jsonl",
    "python -m agents.report": "episodes.jsonl",
    "webarena-gym mcp": "",
}
"""Options that make a command small. `serve` runs in tests/test_application_interfaces.py until it is stopped."""
AGENT = "def agent(observation, info):\n    return 'exit(message=\"\")'\n"


COMMAND = f"""#!/bin/sh
exec {sys.executable} -c 'import sys; sys.path.insert(0, "{ROOT}"); from webarena_gym.tools.cli import main; sys.exit(main())' "$@"
"""
FOLDER = "/home/ann/my-app"
"""The folder of the application in the outputs of the guide."""


def without_measurements(text):
    return re.sub(r"\d[\d.,]* (s|ms|kB)\b", r"N \1", text)


def prepare(tmp_path):
    """Return a new folder for an application, and the variables of a shell in which this package is installed."""
    folder = tmp_path / "my-app"
    for path, content in (
        (tmp_path / "bin" / "webarena-gym", COMMAND),
        (tmp_path / "bin" / "python", f'#!/bin/sh\nexec {sys.executable} "$@"\n'),
    ):
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
        path.chmod(0o755)
    folder.mkdir()
    return folder, {
        "PYTHONPATH": str(ROOT),
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "XDG_DATA_HOME": str(tmp_path),
        "WEBARENA_GYM_CACHE": str(tmp_path / "cache"),
    }


def test_the_example_of_the_readme_runs(tmp_path):
    folder, environment = prepare(tmp_path)

    def run_in_folder(*command):
        return subprocess.run(
            command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=600, check=True
        ).stdout  # fmt: skip

    def block(language, text):
        [code] = [block.code for block in blocks(README, language) if text in block.code]
        return code

    (folder / "notes.py").write_text(block("python", "sqlite3"))
    output = run_in_folder("bash", "-ec", block("sh", "app new ."))
    assert re.findall(r"^no problems$|^all +100.0 %", output, re.MULTILINE) == ["no problems", "all                  100.0 %"]
    written = tomllib.loads((folder / "webarena-app.toml").read_text())
    assert written == tomllib.loads(block("toml", "notes"))
    program = block("python", 'application="."')
    assert run_in_folder(sys.executable, "-c", program).strip() == program.rstrip().rpartition("  # ")[2]


@needs.chromium
@pytest.mark.parametrize("blocks_run", [6, pytest.param(7, marks=pytest.mark.slow)])  # the last one installs the package
def test_the_worked_example_gives_the_outputs_that_the_guide_prints(tmp_path, blocks_run):
    folder, environment = prepare(tmp_path)
    example = [block for block in blocks(GUIDE, "python", "sh", "text", "toml", "json") if not block.excuse]
    output, ran = "", 0
    for block in example:
        if block.language == "python":
            (folder / ("notes.py" if "sqlite3" in block.code else "play.py")).write_text(block.code)
        elif block.language == "toml" and block.code.startswith("["):
            (folder / "templates.toml").write_text(block.code)
        elif block.language in ("toml", "json"):
            file = {"toml": "webarena-app.toml", "json": "tasks.json"}[block.language]
            contents = [
                json.loads(text) if block.language == "json" else text for text in ((folder / file).read_text(), block.code)
            ]
            assert contents[0] == contents[1], block
        elif block.language == "sh":
            if ran == blocks_run:
                break
            done = subprocess.run(
                ["bash", "-ec", block.code], cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=600, check=False
            )  # fmt: skip
            assert done.returncode == 0, f"{block}: {done.stdout}{done.stderr}"
            output, ran = done.stdout.replace(str(folder), FOLDER), ran + 1
        else:
            assert without_measurements(output) == without_measurements(block.code), block
    assert ran == blocks_run


@pytest.mark.slow
@pytest.mark.parametrize("framework", ["django", "flask", "fastapi"])
def test_the_examples_of_frameworks_are_checked_without_problems(tmp_path, framework):
    pytest.importorskip(framework)
    text = FRAMEWORKS.read_text(encoding="utf-8")
    programs = {name: f'#!/bin/sh\nexec {sys.executable} {option}"$@"\n' for name, option in PROGRAMS.items()}
    for path, content in {
        "bin/webarena-gym": COMMAND,
        **{f"app/.venv/bin/{name}": text for name, text in programs.items()},
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content)
        (tmp_path / path).chmod(0o755)
    for name, content in re.findall(rf"^```\w+ file={framework}/(\S+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        (tmp_path / "app" / name).write_text(content)
    script = "".join(re.findall(rf"^```sh example={framework}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "WEBARENA_GYM_CACHE": str(tmp_path / "cache"),
    }  # fmt: skip
    done = subprocess.run(
        ["bash", "-ec", script], cwd=tmp_path / "app", env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    (shown,) = re.findall(rf"^```text example={framework}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert done.stdout.endswith(shown)


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
    done = set()
    others = re.sub(
        r"^```(?:sh|text)\n.*?^```$", "", GUIDE.read_text(), flags=re.MULTILINE | re.DOTALL
    )  # without the worked example
    (tmp_path / "others.md").write_text(others)
    for command in commands(tmp_path / "others.md"):
        words = shlex.split(command)
        name = next((name for name in SMALL if command.startswith(name)), "")
        if words[1:3] == ["app", "serve"]:
            continue
        assert name, f"the guide has a new command, {command!r}: add it to SMALL"
        words = [str(folder) if word == "FOLDER" else word for word in words] + shlex.split(SMALL[name])
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
    with expect_error(ValueError, next(iter(option))):
        PointerBCSettings(application=str(folder), out=folder / "bc", **option)
