"""Behaviour cloning of language models: learning, loss, resuming and limits."""

import itertools

import pytest
import torch

from agents.data.trajectories import Sample
from agents.models.checkpoints import agent_record, checkpoints
from agents.models.parameters import create_optimizer
from agents.training import cloning as train_bc
from agents.training import runs
from agents.training.metrics import read_metrics
from tests import tiny
from tests.errors import expect_error
from tests.tiny_runs import assert_same_weights, bc, success, tiny_envs

__all__ = ["tiny_envs"]  # fixtures


def test_cloning_learns_the_tiny_task(tmp_path):
    settings = bc(tmp_path, updates=120, width=64, heads=4, practice=60, learning_rate=3e-3)
    path = train_bc.train(settings, tiny.demonstrations(400))
    assert success(path, temperature=0.0) > 0.9
    records = read_metrics(tmp_path)
    assert [record["update"] for record in records] == list(range(1, 121))
    assert records[0]["learning_rate"] < records[4]["learning_rate"] > records[-1]["learning_rate"]
    assert records[-1]["loss"] < records[0]["loss"] / 3


@pytest.mark.parametrize("copy_weight", [0.0, 0.5])
def test_the_loss_of_cloning_is_that_of_the_replies_and_of_what_is_repeated(tmp_path, copy_weight):
    """Compare the first update with the losses computed token by token, and the weights with a step along their gradient."""
    model, _ = tiny.tiny_model()
    sample = Sample((7, 8, 9, 7, 8, 9, 5), (8, 9))
    ids = torch.tensor([[*sample.prompt_ids, *sample.response_ids]])
    logprobs = model(ids).logits.log_softmax(-1)[0, :-1].gather(1, ids[0, 1:, None])[:, 0]
    reply, repeated = -logprobs[-2:].mean(), -logprobs[[3, 4]].mean()  # "7 8" and "8 9"; the last token is predicted only
    gradient = torch.autograd.grad(reply + copy_weight * repeated, list(model.parameters()))
    norm = torch.stack([part.norm() for part in gradient]).norm().item()
    optimizer = create_optimizer(model, "adamw", 0.0, 0.0)
    metrics, replies = train_bc.optimize(model, optimizer, [sample], bc(tmp_path, copy_weight=copy_weight))
    assert metrics["loss"] == pytest.approx(reply.item(), abs=1e-4)
    assert metrics["copy_loss"] == pytest.approx(repeated.item() if copy_weight else 0.0, abs=1e-4)
    assert metrics["grad_norm"] == pytest.approx(norm, rel=1e-3)
    assert replies == pytest.approx([-2 * reply.item()], abs=1e-3)


@pytest.mark.parametrize("changes", [{}, {"focus": 0.2, "thinned": 0.5}, {"copy_weight": 0.0}])
def test_a_killed_cloning_goes_on_exactly(tmp_path, monkeypatch, changes):
    data = tiny.demonstrations(15)  # of which each is seen several times
    whole = train_bc.train(bc(tmp_path / "whole", **changes), data)
    tiny.killed_after(monkeypatch, 3, train_bc.train, bc(tmp_path / "killed", save_every=2, **changes), data)
    assert [checkpoint.update for checkpoint in checkpoints(tmp_path / "killed")] == [2]
    resumed = train_bc.train(bc(tmp_path / "killed", save_every=2, **changes), data)
    assert_same_weights(whole, resumed)
    assert [record["update"] for record in read_metrics(tmp_path / "killed")] == [1, 2, 3, 4]


def test_cloning_reports_omitted_long_steps(tmp_path, capsys):
    short, other = (step._replace(task_id=f"site.{name}/1/0") for step, name in zip(tiny.demonstrations(2), "ab", strict=True))
    *before, newest = other.messages
    long = other._replace(messages=(*before, {**newest, "content": newest["content"] * 30}))
    train_bc.train(bc(tmp_path, updates=1, max_prompt_tokens=300), [short, long, other])
    output = capsys.readouterr().err
    assert "1 of 3 steps are left out" in output
    assert "more than 300 tokens; of site.b, 50 %" in output
    with expect_error(ValueError, "max_prompt_tokens", 3):
        train_bc.train(bc(tmp_path / "none", updates=1, max_prompt_tokens=3), [short])


def test_an_agent_is_used_with_room_for_its_replies_but_not_for_the_longest(tmp_path):
    steps = tiny.demonstrations(300)
    steps[7] = steps[7]._replace(reply=steps[7].reply * 40)
    train_bc.train(bc(tmp_path / "one", updates=1), steps)
    assert agent_record(tmp_path / "one")["max_new_tokens"] == 64
    train_bc.train(bc(tmp_path / "all", updates=1), [step._replace(reply=step.reply * 40) for step in steps])
    assert agent_record(tmp_path / "all")["max_new_tokens"] > 64


def test_cpu_minutes_limit_behaviour_cloning(tmp_path, monkeypatch):
    seconds = itertools.count(0, 30)
    monkeypatch.setattr(runs.time, "process_time", lambda: next(seconds))  # an update takes 30 seconds
    for cpu_minutes, updates in ((1.0, 2), (1.0, 2), (2.0, 4)):  # complete, not continued, continued
        path = train_bc.train(bc(tmp_path / "run", cpu_minutes=cpu_minutes), tiny.demonstrations(30))
        assert path.name == f"update_{updates:07}"
    assert [record["cpu_minutes"] for record in read_metrics(tmp_path / "run")] == [0.5, 1.0, 1.5, 2.0]
    with expect_error(ValueError, "cpu_minutes=1.0", "minutes=1.0"):
        bc(tmp_path / "both", cpu_minutes=1.0, minutes=1.0)
