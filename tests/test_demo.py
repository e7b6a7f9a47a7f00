"""The demo, in small, which tells what happened; and the agent that ships."""

from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
import torch

from agents import demo, train_rl
from agents.data.demonstrations import draw_tasks
from agents.evaluation import evaluate as evaluation
from agents.evaluation.evaluate import create_policy, evaluate
from agents.evaluation.settings import EvaluationSettings, policy_defaults
from agents.settings import parse_settings

CHECKPOINTS = Path(demo.__file__).parent / "checkpoints"


@pytest.fixture(autouse=True)
def small(monkeypatch):
    torch.set_num_threads(1)
    few = {"tasks_per_update": 1, "group_size": 2, "num_envs": 2}
    monkeypatch.setattr(train_rl, "make_settings", partial(train_rl.make_settings, **few))


def settings(tmp_path, *more):
    arguments = ["--out", str(tmp_path / "demo"), "--templates", "shopping.account_place", "--worlds", "11"]
    arguments += ["--test-worlds", "1001", "--grpo-minutes", "0.001", "--cloning-updates", "2", "--processes", "1"]
    return parse_settings(demo.DemoSettings, [*arguments, *more], program="agents.demo")


@pytest.mark.parametrize(("given", "name"), [(False, "cloned"), (True, "as given")])
def test_it_shows_an_agent_before_and_after(tmp_path, capsys, monkeypatch, given, name):
    (tmp_path / "demo" / "grpo" / "update_0000001").mkdir(parents=True)
    (tmp_path / "demo" / "grpo" / "update_0000001" / "progress.json").write_text("{}")  # of an earlier demo
    (tmp_path / "demo" / "notes.txt").write_text("mine")
    monkeypatch.setattr(demo, "_SAVE_ROLLOUTS", 1)
    demo.run(settings(tmp_path, *(["--model", str(CHECKPOINTS / "cloned-1")] if given else [])))
    assert (tmp_path / "demo" / "notes.txt").read_text() == "mine"
    said = [line for line in capsys.readouterr().out.splitlines() if " going on, " not in line]  # which slow machines say
    assert len(said) <= 12
    assert said[-3].startswith("Success on 5 tasks in worlds that no training has seen: random ")
    for policy in ("expert 100.0 %", f"{name} ", f"{name}, then M-GRPO "):
        assert f", {policy}" in said[-3]
    report = (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert f"{name}, then M-GRPO" in report
    assert "worlds that no training has seen" in report
    assert '<a href="#groups">' in report


def test_a_demo_that_was_stopped_says_what_is_kept_and_goes_on_from_there(tmp_path, capsys, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(train_rl, "train", stop)
        with pytest.raises(KeyboardInterrupt):
            demo.run(settings(tmp_path))
    kept = "cloning up to update 2, episodes_cloning.jsonl, episodes_expert.jsonl, episodes_random.jsonl"
    assert f"Stopped. Kept in {tmp_path / 'demo'}: {kept}." in capsys.readouterr().out
    played = []
    evaluate_policy = evaluation.evaluate_policy
    monkeypatch.setattr(
        evaluation, "evaluate_policy", lambda chosen, *rest: played.append(chosen.policy) or evaluate_policy(chosen, *rest)
    )
    before = (tmp_path / "demo" / "cloning" / "metrics.jsonl").stat().st_mtime_ns
    demo.run(settings(tmp_path))
    assert capsys.readouterr().out.startswith("Going on with the demo in ")
    assert played == [str(tmp_path / "demo" / "grpo")]
    assert (tmp_path / "demo" / "cloning" / "metrics.jsonl").stat().st_mtime_ns == before
    demo._begin(settings(tmp_path, "--seed", "1"))  # another demo, or one after the last has ended, begins anew
    assert not (tmp_path / "demo" / "cloning").exists()


def test_a_phase_that_says_nothing_itself_shows_that_it_goes_on(capsys, monkeypatch):
    monkeypatch.setattr(demo, "_BEAT_S", 0.001)
    said = ""
    with demo._phase("drawing"):
        while "going on" not in said:
            said += capsys.readouterr().out
    assert said.startswith("drawing\n")


@pytest.mark.parametrize(
    ("name", "elements", "window"),
    [("starter", "id", 20_000), ("cloned-1", "id", 20_000), ("language-model-1.7m", "label", 3000)],
)
def test_agents_that_ship_know_how_they_are_used_and_solve_what_they_have_learned(name, elements, window):
    folder = str(CHECKPOINTS / name)
    agent = train_rl.agent_record(folder)
    assert (agent["elements"], agent["window"]) == (elements, window)
    assert sum(file.stat().st_size for file in (CHECKPOINTS / name).iterdir()) < 10_000_000
    tasks = draw_tasks([1001], 3, templates=["shopping.product_place", "shopping.reviews_place", "shopping.wish_list_add"])
    settings = EvaluationSettings(**policy_defaults(folder), policy=folder)
    with closing(create_policy(settings)) as policy:
        assert evaluate(policy, tasks, settings).total.success > 0.6
