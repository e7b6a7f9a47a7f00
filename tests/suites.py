"""The suite in `tests/errands`, copied for each test."""

import shutil

import pytest

from tests.errands import ERRANDS
from webarena_gym.applications.processes import close_all


@pytest.fixture
def errands(tmp_path, monkeypatch):
    """Return the file of a copy of the suite, with a folder of added suites of the test's own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    shutil.copytree(ERRANDS, tmp_path / "errands", ignore=shutil.ignore_patterns("__pycache__"))
    yield tmp_path / "errands" / "suite.toml"
    close_all()


def play(env, task, replies):
    """Return the last result of an episode."""
    env.reset(options={"task": task})
    for reply in replies:
        result = env.step(reply)
    return result


def replaced(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
