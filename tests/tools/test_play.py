"""The command play: a task in a terminal, and sessions for scripts."""

import json

import pytest

from webarena_gym.actions import DIALECTS, Kind
from webarena_gym.env import WebArenaLite
from webarena_gym.suite import load
from webarena_gym.tasks import Expert
from webarena_gym.tools.cli import main

TASKS = load("test")


@pytest.fixture
def command(capsys, tmp_path):
    """Runs `play --session` on a file; returns the status and what was printed."""

    def run(*words, options=()):
        status = main(["play", "--session", str(tmp_path / "episode.json"), *options, *words])
        found = capsys.readouterr()
        return status, found.out, found.err

    return run


def follow_in_commands(run, task):
    """Do a reference solution with one command a step; returns what the last one printed."""
    env = WebArenaLite(tasks=[task], max_steps=100)
    env.reset()
    expert, dialect = Expert(task), DIALECTS["webrl"]
    status, _, err = run("start", task.task_id)
    while status == 0:
        choice = expert.choose(env.page, env.observation)
        if choice.action.kind is Kind.EXIT:
            return run("submit", choice.action.argument or "")[1]
        reply = dialect.format(choice.action)
        env.step(reply)
        status, _, err = run("act", reply)
    pytest.fail(err)
    return ""


@pytest.mark.parametrize("task", TASKS[3::40], ids=lambda task: task.task_id)
def test_a_reference_solution_in_commands_is_rewarded(command, task):
    assert follow_in_commands(command, task).startswith("reward 1\nSolved.\n")


def test_sessions_accept_short_forms_and_report_invalid_actions(command, tmp_path):
    assert command("start", TASKS[0].task_id)[0] == 0
    status, out, _ = command("act", "nonsense")
    assert (status, out[:14]) == (0, "Action error: ")
    assert command("observe")[1] == out
    assert command("act", "down")[0] == 0
    assert json.loads((tmp_path / "episode.json").read_text())["replies"] == ["nonsense", 'do(action="Scroll Down")']
    assert command("act", "click")[0] == 2
    assert command("act", "exit nothing")[1].startswith("reward 0\nNot solved.\n")


def test_a_session_ends_with_its_answer_or_its_steps(command):
    command("start", TASKS[0].task_id, options=["--max-steps", "2"])
    assert "reward" not in command("act", "x")[1]
    assert command("act", "x")[1].startswith("reward 0\nNot solved.\n")
    for words in (("act", "x"), ("submit", "x")):
        status, _, err = command(*words)
        assert (status, "the session is over, with the reward 0" in err) == (2, True)


@pytest.mark.parametrize(("words", "message"), [
    (("act", "x"), "starts one"),
    (("dance",), "expected start [TASK], act ACTION"),
    (("act",), "expected start"),
    (("start", "nothing/1/0"), "no task 'nothing/1/0'"),
    (("submit", "a", "b"), "expected start"),
])  # fmt: skip
def test_impossible_commands_are_reported(command, words, message):
    status, _, err = command(*words)
    assert (status, message in err) == (2, True)


def test_invalid_and_modified_session_files_are_rejected(command, tmp_path):
    file, strange = tmp_path / "episode.json", '{"format": 1, "settings": {"x": 1}, "replies": [], "page": "", "result": null}'
    for content in ("", "[]", "{", '{"format": 1}', strange):
        file.write_text(content)
        assert command("observe")[0] == command("start")[0] == 2, content
    file.unlink()
    command("start", TASKS[0].task_id)
    command("act", 'do(action="Goto", argument="http://shop.test/wishlist/")')
    file.write_text(json.dumps(json.loads(file.read_text()) | {"replies": []}))
    status, _, err = command("observe")
    assert (status, "pages of the session differ" in err) == (2, True)
