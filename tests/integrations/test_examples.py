"""The examples of applications of one's own: each is installed, prepared anew, and all its tasks are proved."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
pytestmark = pytest.mark.integrations


@pytest.mark.parametrize("name", ["datasette", "klaus", "wagtail"])
def test_an_example_is_proved(name):
    subprocess.run([sys.executable, EXAMPLES / "prepare.py", name], check=True)
    command = [sys.executable, "-m", "webarena_gym", "app", "check", EXAMPLES / name, "--json"]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert found["equal_resets"]
    assert set(found["tasks"].values()) == {"solved, and nothing cheaper earns it"}
