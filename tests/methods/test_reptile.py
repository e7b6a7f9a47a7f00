"""Reptile: the exchange of parameters by hand, equal workers in one process and with Ray, and whole runs on the tiny env."""

import importlib.util
from dataclasses import replace

import pytest
import torch
from torch import nn

from agents import grpo
from agents.methods import reptile
from agents.models.checkpoints import checkpoints
from agents.train_rl import make_settings, train
from agents.training.metrics import read_metrics
from tests import tiny
from tests.errors import expect_error
from tests.shared import shared_folder
from tests.tiny_runs import assert_same_weights, success, unsure_clone


def test_the_shared_parameters_move_by_a_part_of_the_mean_change():
    network = nn.Linear(2, 1)
    with torch.no_grad():
        network.weight.copy_(torch.tensor([[1.0, 2.0]]))
        network.bias.zero_()
    changed = [
        {"weight": torch.tensor([[4.0, 2.0]]), "bias": torch.tensor([4.0])},
        {"weight": torch.tensor([[1.0, 4.0]]), "bias": torch.tensor([0.0])},
    ]
    drift = reptile.interpolate(network, changed, 0.5)
    assert network.weight.tolist() == [[1 + 0.5 * (3 + 0) / 2, 2 + 0.5 * (0 + 2) / 2]]
    assert network.bias.tolist() == [0.5 * 4 / 2]
    assert drift == pytest.approx((5 + 2) / 2)  # the norms of (3, 0, 4) and (0, 2, 0)


def test_one_step_of_gradient_descent_a_round_is_joint_training():
    torch.manual_seed(0)
    inputs, targets = torch.randn(2, 8, 3), torch.randn(2, 8, 1)
    start = nn.Linear(3, 1)

    def step(network, chosen):
        loss = torch.stack([(network(inputs[site]) - targets[site]).square().mean() for site in chosen]).mean()
        optimizer = torch.optim.SGD(network.parameters(), 0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return network.state_dict()

    def copy():
        network = nn.Linear(3, 1)
        network.load_state_dict(start.state_dict())
        return network

    joint, shared = step(copy(), (0, 1)), copy()
    reptile.interpolate(shared, [step(copy(), (site,)) for site in (0, 1)], 1.0)
    for name, value in shared.state_dict().items():
        assert torch.allclose(value, joint[name], atol=1e-6)


def tasks():
    """Tasks of two sites, whose names differ."""
    return [replace(task, sites=(("shopping", "reddit")[number % 2],)) for number, task in enumerate(tiny.tasks(24))]


def settings(model, out, **changes):
    options = {
        "updates": 2,
        "site_updates": 2,
        "tasks_per_update": 4,
        "group_size": 4,
        "max_new_tokens": 12,
        "max_steps": 2,
        **changes,
    }
    return make_settings("reptile", out=out, model=str(model), **options)


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    return shared_folder(tmp_path_factory, "unsure_clone", unsure_clone)


@pytest.fixture
def tiny_envs(monkeypatch):
    monkeypatch.setattr(grpo, "create_envs", tiny.create_envs)


def train_site_on_tiny_envs(args, site_tasks):
    """Train a worker, which Ray may run in a process of its own."""
    grpo.create_envs = tiny.create_envs
    grpo.train(args, site_tasks)
    return read_metrics(args.out)


def test_workers_have_their_site_and_a_part_of_the_groups(tmp_path, clone, monkeypatch):
    calls = []

    def train_site(args, site_tasks):
        calls.append((args, {task.sites for task in site_tasks}))
        return train_site_on_tiny_envs(args, site_tasks)

    monkeypatch.setattr(grpo, "create_envs", tiny.create_envs)  # restored after the test
    monkeypatch.setattr(reptile, "_train_site", train_site)
    path = train(settings(clone, tmp_path / "run", env_steps=5), tasks())
    assert [sites for _, sites in calls] == [{("reddit",)}, {("shopping",)}], "the budget ends the run after a round"
    assert {(args.updates, args.tasks_per_update, args.env_steps, args.average) for args, _ in calls} == {(2, 2, 0, 0.0)}
    assert len({args.seed for args, _ in calls}) == 2
    (record,) = read_metrics(tmp_path / "run")
    assert record["rollouts"] == 2 * 2 * 2 * 4
    assert record["env_steps"] >= record["rollouts"]
    assert record["drift"] > 0
    assert path == checkpoints(tmp_path / "run")[-1].path
    assert not (tmp_path / "run" / "workers").exists()


def test_a_run_goes_on_as_if_it_had_not_been_interrupted(tmp_path, clone, tiny_envs):
    whole = train(settings(clone, tmp_path / "whole"), tasks())
    train(settings(clone, tmp_path / "parts", updates=1), tasks())
    parts = train(settings(clone, tmp_path / "parts"), tasks())
    assert_same_weights(whole, parts)
    costs = [[record["env_steps"] for record in read_metrics(tmp_path / name)] for name in ("whole", "parts")]
    assert costs[0] == costs[1]
    assert costs[0][1] > costs[0][0]


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="no Ray here: pip install 'ray[train]'")
@pytest.mark.filterwarnings("default")
def test_workers_in_ray_are_those_of_one_process(tmp_path, clone, monkeypatch):
    import ray  # noqa: PLC0415 - an optional dependency

    monkeypatch.setattr(grpo, "create_envs", tiny.create_envs)  # restored after the test
    monkeypatch.setattr(reptile, "_train_site", train_site_on_tiny_envs)
    here = train(settings(clone, tmp_path / "here", updates=1), tasks())
    try:
        there = train(settings(clone, tmp_path / "there", updates=1, reptile_cluster="local"), tasks())
    finally:
        ray.shutdown()
    assert_same_weights(here, there)


@pytest.mark.slow
def test_it_learns_the_tiny_task(tmp_path, clone, tiny_envs):
    path = train(settings(clone, tmp_path / "run", updates=4, tasks_per_update=16, group_size=8, learning_rate=1e-3), tasks())
    assert success(path) > success(clone) + 0.1


@pytest.mark.parametrize(
    ("changes", "values"),
    [
        ({"site_updates": 0}, ("site_updates", 0, 1)),
        ({"reptile_rate": 0.0}, ("reptile_rate", 0.0, 0)),
        ({"processes": 2}, ("processes=1",)),
        ({"average": 0.97}, ("average", 0.97, 0.0)),
        ({"schedule": "linear"}, ("schedule", "'linear'", "'constant'")),
        ({"step_limits": (1, 2)}, ("step_limits", "(1, 2)")),
        ({"save_samples": True}, ("save_samples", True)),
        ({"save_rollouts": 1}, ("save_rollouts", 1, 0)),
    ],
)
def test_other_settings_are_refused(tmp_path, changes, values):
    with expect_error(ValueError, *values):
        settings("m", tmp_path, **changes)


def test_each_site_needs_a_group(tmp_path, clone):
    with expect_error(ValueError, "tasks_per_update", 1, 2):
        train(settings(clone, tmp_path / "run", tasks_per_update=1), tasks())
