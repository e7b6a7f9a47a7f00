"""The benchmark of the vision agent: each episode is played once, and methods have the same env steps."""

import json

import pytest

from benchmarks import vision
from tests.errors import expect_error


class Env:
    """An env that ends with the second reply, and is won by two replies that are the last letter of the task."""

    def __init__(self):
        self.calls, self.broken = [], False

    def reset(self, *, options):
        self.calls.append("reset")
        self.task, self.replies = options["task"], []
        return {"text": self.task}, {}

    def step(self, reply):
        self.calls.append(reply)
        self.replies.append(reply)
        over = len(self.replies) == 2
        return (
            {"text": " ".join(self.replies)},
            float(self.replies == [self.task[-1]] * 2),
            over,
            False,
            {"failure": "gone"} if self.broken else {},
        )

    def close(self):
        raise AssertionError("the next run needs it")


def play(env, task, *replies):
    observation, _ = env.reset(options={"task": task})
    assert observation["text"] == task
    assert env.task.task_id == task
    return [env.step(reply)[:3] for reply in replies]


def test_a_sequence_of_replies_is_played_once():
    inner = Env()
    env = vision.RecordedEpisodes(inner)
    won = [({"text": "1"}, 0.0, False), ({"text": "1 1"}, 1.0, True)]
    assert [play(env, "click-color/1", "1", "1") for _ in range(2)] == [won] * 2
    assert inner.calls == ["reset", "1", "1"]
    assert play(env, "click-color/1", "1", "2")[1] == ({"text": "1 2"}, 0.0, True)
    assert inner.calls == ["reset", "1", "1", "reset", "1", "2"], "the first reply is repeated to play another second one"
    assert play(env, "click-color/3", "3")[0] == ({"text": "3"}, 0.0, False)
    assert play(env, "click-color/1", "1", "1") == won
    assert play(env, "click-color/3", "3", "3")[1] == ({"text": "3 3"}, 1.0, True)
    assert inner.calls[6:] == ["reset", "3", "3"], "the episode in the env goes on"
    env.close()
    assert env.played == 5


def test_a_failed_step_is_played_again():
    inner = Env()
    env = vision.RecordedEpisodes(inner)
    inner.broken = True
    env.reset(options={"task": "click-color/1"})
    assert "failure" in env.step("1")[-1]
    inner.broken = False
    assert play(env, "click-color/1", "1") == [({"text": "1"}, 0.0, False)]
    assert inner.calls == ["reset", "1", "reset", "1"]


def test_a_step_fails_if_a_repeated_earlier_one_fails():
    inner = Env()
    env = vision.RecordedEpisodes(inner)
    play(env, "click-color/1", "1", "1")
    env.reset(options={"task": "click-color/1"})
    env.step("1")
    inner.broken = True
    assert "failure" in env.step("2")[-1]
    assert inner.calls == ["reset", "1", "1", "reset", "1"], "no step after the failure"


def test_methods_have_the_same_tasks_and_rows(tmp_path, monkeypatch, capsys):
    def train(settings, tasks):
        return {"episodes": [(task, 0.0, settings.experts / 16) for task, _ in tasks.test], "env_steps": 12, "cpu_minutes": 0.5}

    monkeypatch.setattr(vision, "train", train)
    monkeypatch.setattr(vision, "claim_folder", lambda folder, **_: folder.mkdir(parents=True) or "c")
    vision.main(
        [
            "--out",
            str(tmp_path / "runs"),
            "--seeds",
            "0",
            "1",
            "--tasks",
            "click-color",
            "--evaluated",
            "3",
            "--methods",
            "grpo",
            "mentor",
            "--json",
        ]
    )
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [row["success"] for row in result["rows"]] == [0, 0, 0, 1]
    assert [row["lift"]["lift"] for row in result["trained"]] == [0, 1]
    assert [(row["tasks"], row["env_steps"]) for row in result["rows"]] == [(3, 12)] * 4


def test_an_unknown_method_is_refused(tmp_path):
    with expect_error(ValueError, "method", "'ppo'"):
        vision.main(["--out", str(tmp_path / "runs"), "--methods", "ppo"])


def test_settings_that_a_method_rejects_are_refused_before_any_training(tmp_path, monkeypatch):
    monkeypatch.setattr(vision, "train", lambda *_: pytest.fail("it trains"))
    with expect_error(ValueError, "max_steps", 1, 2, "explore_updates"):
        vision.main(["--out", str(tmp_path / "runs"), "--methods", "grpo", "urlb"])


def test_every_default_method_accepts_the_default_settings():
    settings = vision.VisionSettings()
    assert [vision._training(settings, name, 0).max_steps for name in settings.methods] == [1, 1]
