"""The benchmark of the vision agent: each episode is played once, and methods have the same env steps."""

import json

import numpy
import pytest

from benchmarks import vision


class OneStep:
    """An env whose episode is won by the reply that is the last letter of its task."""

    def __init__(self):
        self.calls, self.broken = [], False

    def reset(self, *, options):
        self.calls.append(("reset", options["task"]))
        return {"screenshot": numpy.zeros(1), "text": options["task"]}, {}

    def step(self, reply):
        task = self.calls[-1][1]
        self.calls.append(("step", reply))
        return {"text": "after"}, float(reply == task[-1]), True, False, {"failure": "gone"} if self.broken else {}

    def close(self):
        raise AssertionError("the next run needs it")


def test_an_episode_is_played_once():
    inner = OneStep()
    env = vision.RecordedEpisodes(inner)
    played = []
    for task, reply in [
        ("click-color/1", "1"),
        ("click-color/1", "1"),
        ("click-color/1", "2"),
        ("click-color/3", "3"),
        ("click-color/1", "2"),
    ]:
        observation, _ = env.reset(options={"task": task})
        assert observation["text"] == task
        assert env.task.task_id == task
        played.append(env.step(reply)[1:3])
    env.close()
    assert played == [(1.0, True), (1.0, True), (0.0, True), (1.0, True), (0.0, True)]
    assert [name for name, _ in inner.calls] == ["reset", "step", "reset", "step", "reset", "step"]
    assert env.played == 3


def test_a_failed_episode_is_played_again():
    inner = OneStep()
    env = vision.RecordedEpisodes(inner)
    inner.broken = True
    env.reset(options={"task": "click-color/1"})
    assert "failure" in env.step("1")[-1]
    inner.broken = False
    env.reset(options={"task": "click-color/1"})
    assert env.step("1")[1:] == (1.0, True, False, {})


def test_methods_have_the_same_tasks_and_rows(tmp_path, monkeypatch, capsys):
    def train(settings, tasks):
        settings.out.mkdir()
        records = [{"rollouts": 6, "cpu_minutes": 0.1}] * 2
        (settings.out / "metrics.jsonl").write_text("".join(f"{json.dumps({'update': 1, **record})}\n" for record in records))
        gain = settings.experts / 16
        return {"episodes": [(task, 0.0, gain) for task, _ in tasks.test]}

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
    with pytest.raises(ValueError, match="method is 'ppo'; expected some of grpo"):
        vision.main(["--out", str(tmp_path / "runs"), "--methods", "ppo"])
