"""StarPO: which groups are learned from, advantages of whole trajectories, whole runs, and the diagnostics of the echo trap."""

from dataclasses import replace
from random import Random

import pytest
import torch

from agents import grpo, train_rl
from agents.data.trajectories import Step
from agents.methods.starpo import deviation, generalised_advantages, most_uncertain, whitened
from agents.models.critics import CriticSettings
from agents.rollouts.curriculum import Group
from agents.train_rl import make_settings
from agents.training.metrics import read_metrics
from tests import tiny
from tests.test_baselines import method_of, trajectory
from tests.test_train import assert_same_weights, interrupted, success, unsure_clone

TASK = tiny.tasks(1)[0]


@pytest.fixture(autouse=True)
def tiny_envs(monkeypatch):
    torch.set_num_threads(1)
    monkeypatch.setattr(grpo, "create_envs", tiny.create_envs)


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    torch.set_num_threads(1)
    return unsure_clone(tmp_path_factory.mktemp("clone"))


def starpo(out, model, **changes):
    values = {"updates": 4, "group_size": 8, "tasks_per_update": 8, "max_new_tokens": 12, "max_steps": 2}
    return make_settings("starpo", out=out, model=str(model), **{**values, **changes})


def group(number, *rewards):
    return Group(number, TASK, [trajectory([-1.0], reward=reward, group=number) for reward in rewards])


PLAIN = {"starpo_kept": 1.0, "clip_high": 0.2, "kl_weight": 0.001}


@pytest.mark.parametrize(
    "options", [{}, *(pytest.param(some, marks=pytest.mark.slow) for some in (PLAIN, {**PLAIN, "starpo_advantages": "group"}))]
)
def test_starpo_lifts_an_unsure_model(tmp_path, clone, options):
    before = success(clone)
    path = train_rl.train(starpo(tmp_path, clone, updates=40, **options), tiny.tasks(60))
    assert success(path) > before + 0.1


def test_a_killed_run_goes_on_exactly(tmp_path, monkeypatch, clone):
    whole = train_rl.train(starpo(tmp_path / "whole", clone, save_every=2), tiny.tasks(20))
    with monkeypatch.context() as patch:
        interrupted(patch, after=2)
        with pytest.raises(KeyboardInterrupt):
            train_rl.train(starpo(tmp_path / "killed", clone, save_every=2), tiny.tasks(20))
    resumed = train_rl.train(starpo(tmp_path / "killed", clone, save_every=2), tiny.tasks(20))
    assert_same_weights(whole, resumed)


def test_the_diagnostics_of_the_echo_trap_are_metrics(tmp_path, clone):
    train_rl.train(starpo(tmp_path, clone, updates=2), tiny.tasks(20))
    for row in read_metrics(tmp_path):
        assert 0 < row["reward_deviation"] <= 0.5
        assert row["reward_deviation"] < row["kept_deviation"] <= 0.5
        assert row["reply_entropy"] > 0
        assert row["grad_norm"] > 0
        assert row["kept_groups"] == 2


@pytest.mark.parametrize("seed", range(5))
def test_the_least_certain_groups_are_kept_in_their_order(seed):
    rng = Random(seed)
    groups = [group(number, *(float(rng.random() < 0.5) for _ in range(6))) for number in range(rng.randint(1, 12))]
    for share in (0.01, 0.25, 0.5, 1.0):
        kept = most_uncertain(groups, share)
        assert len(kept) == -(-len(groups) * share // 1)
        assert [item.number for item in kept] == sorted(item.number for item in kept)
        others = [item for item in groups if item not in kept]
        assert all(deviation(item) >= deviation(other) for item in kept for other in others)
    assert most_uncertain([], 0.25) == []


@pytest.mark.parametrize("seed", range(5))
def test_generalised_advantages_are_sums_of_discounted_differences(seed):
    rng = Random(seed)
    values, reward = [rng.random() for _ in range(rng.randint(1, 6))], rng.choice([0.0, 1.0])
    gamma, decay = rng.random(), rng.random()
    after = [*values[1:], 0.0]
    rewards = [*[0.0] * (len(values) - 1), reward]
    deltas = [earned + gamma * later - value for earned, later, value in zip(rewards, after, values, strict=True)]
    expected = [
        sum((gamma * decay) ** ahead * delta for ahead, delta in enumerate(deltas[step:])) for step in range(len(values))
    ]
    assert generalised_advantages(values, reward, discount=gamma, decay=decay) == pytest.approx(expected)
    plain = generalised_advantages(values, reward, discount=1.0, decay=1.0)
    assert plain == pytest.approx([reward - value for value in values])
    assert generalised_advantages([], reward, discount=1.0, decay=1.0) == []


def test_whitened_advantages_have_the_mean_0_and_the_deviation_1():
    own = whitened([1.0, 2.0, 3.0])
    assert sum(own) == pytest.approx(0)
    assert sum(value**2 for value in own) / 3 == pytest.approx(1)
    assert whitened([0.5, 0.5]) == [0.0, 0.0]
    assert whitened([]) == []


@pytest.mark.parametrize("advantages", ["gae", "group"])
def test_each_trajectory_weighs_alike_and_in_it_each_token(advantages):
    method = method_of("starpo", tiny.tasks(1), starpo_advantages=advantages, starpo_kept=1.0)
    items = [trajectory([-1.0], [-1.0, -1.0], reward=1.0), trajectory([-1.0] * 4, reward=0.0), trajectory(reward=0.0)]
    trained, _ = method.batch([Group(0, TASK, items)], Random(0))
    assert [item.weight for item in trained] == [pytest.approx(1 / 6), pytest.approx(1 / 6), pytest.approx(1 / 8)]
    assert [item.advantage for item in trained] == pytest.approx(
        [2**-0.5, 2**-0.5, -(2**0.5)] if advantages == "gae" else [1, 1, -1]
    )


def test_the_baseline_is_the_critic_from_before_it_knew_the_outcomes():
    method = method_of("starpo", tiny.tasks(1), starpo_kept=1.0)
    method.critic = method.critics.create(CriticSettings(critic_learning_rate=0.1, critic_epochs=20))
    won, lost = (trajectory([-1.0], reward=reward) for reward in (1.0, 0.0))
    lost = replace(lost, steps=(Step("", "", "", (30, 31), (20,), (-1.0,)),))
    first, metrics = method.batch([Group(0, TASK, [won, lost])], Random(0))
    assert metrics["critic_loss"] == pytest.approx(0.6931, abs=1e-3)
    assert [item.advantage for item in first] == [1.0, -1.0]  # one half was expected of both
    both_won = replace(lost, reward=1.0)
    later, _ = method.batch([Group(1, TASK, [won, both_won])], Random(1))
    assert [item.advantage for item in later] == [-1.0, 1.0]  # the second was expected to fail


def test_a_share_of_no_groups_is_refused():
    with pytest.raises(ValueError, match=r"starpo_kept is 0\.0; expected more than 0"):
        make_settings("starpo", model="m", out="out", starpo_kept=0.0)
