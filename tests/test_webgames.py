"""The suite of WebGames: its file for a clone, and its solutions, which are replayed if there is a clone whose pages were built."""

import json
import os
from contextlib import closing
from pathlib import Path

import pytest

from examples.webgames.describe import TASKS, describe
from tests import needs
from webarena_gym import WebArenaLite
from webarena_gym.applications.suite import read_solutions, read_suite
from webarena_gym.suite import load

SOLUTIONS = read_solutions(Path("examples/webgames/solutions.jsonl").resolve())


def write_suite(clone, path):
    path.write_text(json.dumps(describe(clone)))
    return path


def test_the_games_of_a_clone_are_tasks_that_need_the_password_and_the_page_that_shows_it(tmp_path):
    games = [
        {"id": name.removeprefix("webgames."), "path": "maze/*", "description": "Win!", "tags": ["easy"], "password": "P"}
        for name in SOLUTIONS
    ]
    hard, base = ({**games[0], "id": name, "tags": tags} for name, tags in (("x-hard", ["hard"]), ("x", [])))
    (tmp_path / TASKS).parent.mkdir(parents=True)
    (tmp_path / TASKS).write_text("\n".join(map(json.dumps, [*games, hard, base])))
    (tmp_path / "webgames").mkdir()
    suite = read_suite(write_suite(tmp_path, tmp_path / "suite.json"))
    assert suite.splits == {"easy": len(games), "hard": 1, "base": 1}
    task = load("easy", suite=suite)[0]
    assert (task.start_url, task.intent) == (
        "__WEBGAMES__/maze/",
        "Win. The page then shows a password. Exit with this password.",
    )
    assert task.eval_types == ("string_match", "program_html")
    assert all(task.solution for task in load("easy", suite=suite))


@needs.chromium
@pytest.mark.slow
@pytest.mark.skipif("WEBGAMES" not in os.environ, reason="no clone of WebGames: set WEBGAMES to one whose pages were built")
def test_solutions_are_rewarded_and_known_passwords_alone_are_not(tmp_path):
    suite = write_suite(Path(os.environ["WEBGAMES"]), tmp_path / "suite.json")
    with closing(WebArenaLite(suite=suite, split="easy", elements="label", max_steps=30)) as env:
        for task_id in SOLUTIONS:
            env.reset(options={"task": task_id})
            actions = [env.dialect.format(step.action) for step in env.task.solution]
            assert [env.step(action) for action in actions][-1][1] == 1.0, task_id
            env.reset(options={"task": task_id})
            assert env.step(actions[-1])[1] == 0.0, task_id
