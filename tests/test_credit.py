import math

import pytest

from agents import grpo as credit
from agents.data.trajectories import Step, Trajectory, grouped
from agents.rollouts.branching import fork_advantages
from agents.training.rollouts import CONSTANT_STEPS, CONSTANT_TOKENS, weighted
from tests import tiny


def test_trajectory_advantages_by_hand():
    # mean 0.25, deviation sqrt(0.25 * 0.75)
    deviation = math.sqrt(0.1875)
    assert credit.trajectory_advantages([1, 0, 0, 0]) == pytest.approx([0.75 / deviation] + [-0.25 / deviation] * 3)


@pytest.mark.parametrize("rewards", [[0, 0, 0], [1, 1], [1]])
def test_equal_rewards_teach_nothing(rewards):
    assert credit.trajectory_advantages(rewards) == [0.0] * len(rewards)


def test_state_advantages_by_hand():
    # State a: returns 1, 0, 0; mean 1/3, deviation sqrt(2)/3, times 3/2. State b: one visit. State c: equal returns.
    states, returns = ["a", "b", "a", "c", "a", "c"], [1, 1, 0, 0, 0, 0]
    high, low = math.sqrt(2), -math.sqrt(2) / 2
    assert credit.state_advantages(states, returns) == pytest.approx([1.5 * high, 0, 1.5 * low, 0, 1.5 * low, 0])
    assert credit.state_advantages(states, returns, leave_one_out=False) == pytest.approx([high, 0, low, 0, low, 0])


def test_a_step_is_worth_the_value_that_it_adds():
    # Values 1/4, 1/2, 3/4 of the states before the steps; the episode ends with 1.
    continuations = [[1, 0, 0, 0], [1, 0], [1, 1, 1, 0]]
    assert fork_advantages(continuations, 1) == pytest.approx([0.25, 0.25, 0.25])
    assert fork_advantages(continuations, 0) == pytest.approx([0.25, 0.25, -0.75])


def test_steps_between_forks_share_the_gain_and_steps_before_them_get_none():
    assert fork_advantages([(), (0, 0), (), (), (1, 0)], 1) == pytest.approx([0, 0.5, 0.5, 0.5, 0.5])
    assert fork_advantages([], 1) == []


def test_advantages_of_forks_sum_to_what_the_episode_gained_over_its_start():
    continuations = [(1, 0, 0), (0, 1), (1, 1, 0, 1), (0, 0)]
    assert sum(fork_advantages(continuations, 1)) == pytest.approx(1 - 1 / 3)


# What of groups is trained on.


def trajectory(reward, group, *steps, ending="exited", continuations=()):
    made = tuple(
        Step("", "", "", prompt, response, (-0.5,) * len(response), dict(continuations).get(number, ()))
        for number, (prompt, response) in enumerate(steps)
    )
    return Trajectory("t", "g", made, reward, ending, group)


FIRST, OWN, OTHER = ((1,), (2,)), ((3,), (4,)), ((5,), (6, 7))


def learn(trajectories, **changes):
    """Return what M-GRPO trains on of these rollouts."""
    _, args = tiny.language_model(tiny.tiny_model()[0], **changes)
    parts = [(group, credit.step_advantages(group, args)) for group in grouped(trajectories)]
    return weighted([part for part in parts if any(part[1])], args.weighting)


def advantages(steps):
    return [item.advantage for item in steps]


def weights(steps):
    return [item.weight for item in steps]


def test_groups_of_equal_reward_and_broken_episodes_are_left_out():
    step = ((1, 2), (3, 4))
    lesson = learn(
        [
            trajectory(1, 0, step), trajectory(0, 0, step),
            trajectory(0, 1, step), trajectory(0, 1, step),
            trajectory(1, 2, step), trajectory(0, 2, step, ending="failed"),
        ]
    )  # fmt: skip
    assert len(lesson) == 2
    assert advantages(lesson) == pytest.approx([2.0, -2.0])


def test_state_advantages_spare_what_was_seen_once():
    group = [trajectory(1, 0, FIRST, OWN), trajectory(0, 0, FIRST, OTHER)]
    assert advantages(learn(group)) == pytest.approx([2.0, 0.0, -2.0, 0.0])
    assert advantages(learn(group, advantages="trajectory")) == pytest.approx([1.0, 1.0, -1.0, -1.0])


def test_gigpo_adds_the_advantage_at_equal_states_to_that_of_the_episode():
    group = [trajectory(1, 0, FIRST, OWN), trajectory(0, 0, FIRST, OTHER)]
    assert advantages(learn(group, advantages="gigpo")) == pytest.approx([2.0, 1.0, -2.0, -1.0])
    sooner = [trajectory(1, 0, FIRST), trajectory(1, 0, FIRST, OWN), trajectory(0, 0, FIRST)]
    first, second, _, third = advantages(
        learn(sooner, advantages="gigpo")
    )  # a reward counts less for each step that it lies ahead
    assert first > second > 0 > third


def test_forks_teach_in_a_group_of_one():
    lesson = learn(
        [trajectory(1, 0, FIRST, OWN, OTHER, continuations={0: (0, 0, 1, 0), 2: (1, 0)})], advantages="forks", weighting="paper"
    )
    assert advantages(lesson) == pytest.approx([0.25, 0.25, 0.5])
    assert weights(lesson) == pytest.approx([1 / 3, 1 / 3, 1 / 6])


def test_forks_need_continuations():
    with pytest.raises(ValueError, match="no step has continuations"):
        learn([trajectory(1, 0, FIRST)], advantages="forks")


@pytest.mark.parametrize("estimator", ["state", "trajectory", "gigpo"])
def test_an_anchor_keeps_solved_groups_and_no_others(estimator):
    solved, failed = [trajectory(1, 0, FIRST, OWN)] * 2, [trajectory(0, 1, FIRST)] * 2
    mixed = [trajectory(1, 2, FIRST), trajectory(0, 2, FIRST)]
    lesson = learn([*solved, *failed, *mixed], advantages=estimator, anchor_weight=0.1)
    assert [item.episode.group for item in lesson] == [0, 0, 0, 0, 2, 2]
    assert advantages(lesson)[:4] == [0.1] * 4
    assert advantages(lesson)[4:] == advantages(learn(mixed, advantages=estimator))
    assert learn([*solved, *failed], advantages=estimator) == []


def test_weights_follow_the_settings():
    group = [trajectory(1, 0, FIRST, OTHER), trajectory(0, 0, FIRST)]
    assert weights(learn(group, weighting="paper")) == pytest.approx([1 / 4, 1 / 8, 1 / 2])
    assert weights(learn(group, weighting="constant")) == pytest.approx([1 / 2 / CONSTANT_STEPS / n for n in (1, 2, 1)])
    assert weights(learn(group, weighting="dr_grpo")) == pytest.approx([1 / 2 / CONSTANT_TOKENS] * 3)
    assert weights(learn(group, weighting="token_mean")) == pytest.approx([1 / 4] * 3)


@pytest.mark.parametrize("weighting", ["paper", "token_mean", "step_mean"])
def test_weights_of_all_tokens_sum_to_1(weighting):
    # Two trajectories: one of two steps with 2 and 4 tokens, one of one step with 5 tokens.
    long = trajectory(1, 0, ((1,), (2,) * 2), ((1,), (2,) * 4))
    steps = weighted([([long, trajectory(0, 0, ((1,), (2,) * 5))], [1.0] * 3)], weighting)
    assert sum(item.weight * len(item.step.response_ids) for item in steps) == pytest.approx(1)
    assert weighted([], weighting) == []


def test_steps_without_an_advantage_are_left_out():
    items = [trajectory(1, 0, FIRST, OTHER), trajectory(0, 7, OWN)]
    steps = weighted([(items, [None, 0.5, -1.0])])
    assert [(item.episode.group, item.rollout, item.number, item.advantage) for item in steps] == [
        (0, 0, 1, 0.5),
        (7, 1, 0, -1.0),
    ]
    assert weights(steps) == [pytest.approx(1 / 3)] * 2
    assert weights(weighted([(items, [None, 0.5, -1.0])], "step_mean")) == [1 / 4, 1 / 2]
