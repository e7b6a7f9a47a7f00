import math

import pytest

from agents.methods import advantages as credit


def test_trajectory_advantages_by_hand():
    # mean 0.25, deviation sqrt(0.25 * 0.75)
    deviation = math.sqrt(0.1875)
    assert credit.trajectory_advantages([1, 0, 0, 0]) == pytest.approx([0.75 / deviation] + [-0.25 / deviation] * 3)
    assert credit.trajectory_advantages([1, 0, 0, 0], scale=False) == pytest.approx([0.75, -0.25, -0.25, -0.25])


@pytest.mark.parametrize("rewards", [[0, 0, 0], [1, 1], [1]])
def test_equal_rewards_teach_nothing(rewards):
    assert credit.trajectory_advantages(rewards) == [0.0] * len(rewards)


def test_state_advantages_by_hand():
    # State a: returns 1, 0, 0; mean 1/3, deviation sqrt(2)/3, times 3/2. State b: one visit. State c: equal returns.
    states, returns = ["a", "b", "a", "c", "a", "c"], [1, 1, 0, 0, 0, 0]
    high, low = math.sqrt(2), -math.sqrt(2) / 2
    assert credit.state_advantages(states, returns) == pytest.approx([1.5 * high, 0, 1.5 * low, 0, 1.5 * low, 0])
    assert credit.state_advantages(states, returns, leave_one_out=False) == pytest.approx([high, 0, low, 0, low, 0])


def test_state_advantages_without_scaling_compare_with_the_other_visits():
    assert credit.state_advantages(["a"] * 3, [1, 0, 0], scale=False) == pytest.approx([1 - 0, 0 - 0.5, 0 - 0.5])


def test_a_step_is_worth_the_value_that_it_adds():
    # Values 1/4, 1/2, 3/4 of the states before the steps; the episode ends with 1.
    continuations = [[1, 0, 0, 0], [1, 0], [1, 1, 1, 0]]
    assert credit.fork_advantages(continuations, 1) == pytest.approx([0.25, 0.25, 0.25])
    assert credit.fork_advantages(continuations, 0) == pytest.approx([0.25, 0.25, -0.75])


def test_steps_between_forks_share_the_gain_and_steps_before_them_get_none():
    assert credit.fork_advantages([(), (0, 0), (), (), (1, 0)], 1) == pytest.approx([0, 0.5, 0.5, 0.5, 0.5])
    assert credit.fork_advantages([(), ()], 1) == [0, 0]
    assert credit.fork_advantages([], 1) == []


def test_advantages_of_forks_sum_to_what_the_episode_gained_over_its_start():
    continuations = [(1, 0, 0), (0, 1), (1, 1, 0, 1), (0, 0)]
    assert sum(credit.fork_advantages(continuations, 1)) == pytest.approx(1 - 1 / 3)


# Two trajectories: one of two steps with 2 and 4 tokens, one of one step with 5 tokens.
LENGTHS, STEPS = [2, 4, 5], [2, 2, 1]


def weigh(weighting, **changes):
    return credit.token_weights(LENGTHS, STEPS, 2, weighting, **changes)


def total(weights):
    return sum(weight * length for weight, length in zip(weights, LENGTHS, strict=True))


def test_paper_weights_average_tokens_then_steps_then_trajectories():
    assert weigh("paper") == pytest.approx([1 / 8, 1 / 16, 1 / 10])
    assert total(weigh("paper")) == pytest.approx(1)


def test_constant_weights_do_not_shrink_with_the_length_of_the_trajectory():
    assert weigh("constant", constant_steps=3) == pytest.approx([1 / 12, 1 / 24, 1 / 30])
    # Each step counts alike, however many there are: a longer trajectory counts more.
    one, other = (credit.token_weights([5] * steps, [steps] * steps, 1, "constant") for steps in (1, 10))
    assert one[0] == other[0]


def test_dr_grpo_weights_are_the_same_in_every_batch():
    assert weigh("dr_grpo", constant_tokens=100) == pytest.approx([1 / 200] * 3)
    assert credit.token_weights([7], [1], 2, "dr_grpo", constant_tokens=100) == pytest.approx([1 / 200])


def test_token_mean_weights_shrink_as_the_tokens_grow():
    assert weigh("token_mean") == pytest.approx([1 / 11] * 3)
    assert total(weigh("token_mean")) == pytest.approx(1)
    assert credit.token_weights([7], [1], 2, "token_mean") == pytest.approx([1 / 7])


def test_no_samples_have_no_weights():
    assert [credit.token_weights([], [], 0, weighting) for weighting in ("paper", "constant", "dr_grpo", "token_mean")] == [
        []
    ] * 4
