"""StarPO-S: selection of groups, advantages, and the critic before the policy."""

from dataclasses import replace
from random import Random

import pytest

from agents.data.trajectories import Step
from agents.methods.starpo import deviation, generalised_advantages, most_uncertain, policy_decay
from agents.rollouts.curriculum import Group
from tests.methods.episodes import TASK, advantages, group, method_of, trajectory


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
    values = [rng.random() for _ in range(rng.randint(1, 6))]
    rewards = [rng.choice([0.0, -0.1]) for _ in values[1:]] + [rng.choice([0.0, 1.0])]
    gamma, decay = rng.random(), rng.random()
    deltas = [earned + gamma * later - value for earned, later, value in zip(rewards, [*values[1:], 0.0], values, strict=True)]
    expected = [
        sum((gamma * decay) ** ahead * delta for ahead, delta in enumerate(deltas[step:])) for step in range(len(values))
    ]
    assert generalised_advantages(values, rewards, discount=gamma, decay=decay) == pytest.approx(expected)
    plain = generalised_advantages(values, rewards, discount=1.0, decay=1.0)
    assert plain == pytest.approx([sum(rewards[step:]) - value for step, value in enumerate(values)])
    assert generalised_advantages([], [], discount=1.0, decay=1.0) == []


def test_the_policys_lambda_follows_the_length_of_an_episode():
    assert [policy_decay(length, 0.9, 0.0) for length in (1, 40)] == [0.9, 0.9]
    assert [policy_decay(length, 0.9, 0.5) for length in (1, 4, 40)] == [0.0, 0.5, 0.95]
    items = [trajectory([-1.0], [-1.0], reward=1.0), trajectory([-1.0], [-1.0], reward=0.0)]
    near, far = (method_of("starpo", [TASK], starpo_kept=1.0, starpo_length_factor=factor) for factor in (0.5, 1e9))
    ours, theirs = (advantages(method.batch([Group(0, TASK, items)], Random(0))[0]) for method in (near, far))
    assert ours == pytest.approx([0.0, 2**0.5, 0.0, -(2**0.5)])  # with a lambda of 0 the last step alone hears of the outcome
    assert theirs == pytest.approx([1.0, 1.0, -1.0, -1.0])


def test_the_critic_learns_before_the_policy():
    method = method_of("starpo", [TASK], starpo_kept=1.0, starpo_value_groups=2)
    groups = [Group(number, TASK, [trajectory([-1.0]), trajectory([-1.0])]) for number in range(4)]
    before = method.critic.state_dict()["head"]["weight"].clone()
    steps, metrics = method.batch(groups[:2], Random(0))
    assert not steps
    assert metrics["critic_loss"] > 0
    assert not before.equal(method.critic.state_dict()["head"]["weight"])
    assert method.batch(groups[2:], Random(0))[0]


def test_a_reply_without_an_action_costs():
    method = method_of("starpo", [TASK], starpo_kept=1.0, starpo_format_cost=0.5)
    right, wrong = (
        replace(trajectory([-1.0]), steps=(Step("", reply, "", (10,), (20,), (-1.0,)),)) for reply in ("go_backward()", "I see")
    )
    trained, _ = method.batch([Group(0, TASK, [right, wrong])], Random(0))
    assert advantages(trained) == pytest.approx([1.0, -1.0])


@pytest.mark.parametrize(("kind", "target"), [("gae", [2**-0.5, 2**-0.5, -(2**0.5)]), ("group", [1, 1, -1])])
def test_trajectories_and_their_tokens_have_equal_weights(kind, target):
    method = method_of("starpo", [TASK], starpo_advantages=kind, starpo_kept=1.0)
    items = [trajectory([-1.0], [-1.0, -1.0], reward=1.0), trajectory([-1.0] * 4, reward=0.0), trajectory(reward=0.0)]
    trained, _ = method.batch([Group(0, TASK, items)], Random(0))
    assert [item.weight for item in trained] == pytest.approx([1 / 6, 1 / 6, 1 / 8])
    assert advantages(trained) == pytest.approx(target)


def test_the_baseline_is_the_critic_from_before_it_knew_the_outcomes():
    method = method_of("starpo", [TASK], starpo_kept=1.0)
    method.critic = method.critics.create(rate=0.1, epochs=20)
    won, lost = (trajectory([-1.0], reward=reward) for reward in (1.0, 0.0))
    lost = replace(lost, steps=(Step("", "", "", (30, 31), (20,), (-1.0,)),))
    first, metrics = method.batch([Group(0, TASK, [won, lost])], Random(0))
    assert metrics["critic_loss"] == pytest.approx(0.6931, abs=1e-3)
    assert advantages(first) == [1.0, -1.0]  # one half was expected of both
    later, _ = method.batch([Group(1, TASK, [won, replace(lost, reward=1.0)])], Random(1))
    assert advantages(later) == [-1.0, 1.0]  # the second was expected to fail
