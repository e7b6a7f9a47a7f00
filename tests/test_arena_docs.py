"""The examples of docs/arena.md run as they are printed."""

import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from benchmarks.arena import Client
from tests.serving import serving_episodes
from webarena_gym.tools.cli import main

DOCUMENT = (Path(__file__).parent.parent / "docs" / "arena.md").read_text(encoding="utf-8")


def blocks(heading, language):
    """The examples in one language below a heading."""
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", DOCUMENT, re.MULTILINE | re.DOTALL)[1]
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


def run(command, url="http://127.0.0.1:8000"):
    return subprocess.run(
        [part.replace("127.0.0.1:8000", urlsplit(url).netloc) for part in command],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout


@pytest.fixture(scope="module")
def url():
    with serving_episodes() as found:
        yield found


def test_the_programs_in_python_are_rewarded(url):
    (code,) = blocks("Browse", "python")
    assert "1.0 ['Solved.'" in run([sys.executable, "-c", code], url)
    (steps,) = blocks("Step", "python")
    output = run([sys.executable, "-c", code.split("episode = ", 1)[0] + steps], url)
    assert output.endswith("was done 0.0 False\nwas done 1.0 True\n")


def test_the_commands_of_a_session_end_with_a_reward(tmp_path):
    (code,) = blocks("Play in commands", "sh")
    tool = tmp_path / "webarena-gym"
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m webarena_gym "$@"\n')
    tool.chmod(0o755)
    output = run(["sh", "-ec", f"PATH={tmp_path}:$PATH\n" + code.replace("/tmp/", f"{tmp_path}/")])
    assert output.endswith("\nreward 1\nSolved.\nThe answer is right.\nNothing else was changed.\n")
    assert "Action error" not in output


def test_documented_options_exist(capsys):
    for command in ("serve", "play", "mcp", "evaluate"):
        assert main([command, "--help"]) == 0
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", DOCUMENT.partition("## Speed")[0]))
    assert options <= known, options - known


def test_the_example_of_an_error_is_one(url):
    (shown,) = blocks("Limits and errors", "json")
    assert Client(url).ask("POST", "/episodes", {"split": "tist"}) == (422, json.loads(shown))


def test_the_settings_of_a_client_of_mcp_start_a_server():
    (shown,) = blocks("MCP", "json")
    server = json.loads(shown)["mcpServers"]["webarena-gym"]
    command = [sys.executable, "-m", "webarena_gym", *server["args"], "--help"]
    assert "Model Context Protocol" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
