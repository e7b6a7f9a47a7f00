import math

import pytest
import torch
from torch import tensor

from agents import losses


def test_logprobs_are_those_of_a_softmax():
    logits = tensor([[0.0, math.log(3.0)], [math.log(7.0), 0.0]])
    assert losses.token_logprobs(logits, tensor([1, 1])).exp().tolist() == pytest.approx([0.75, 0.125])


def test_trajectory_advantages_by_hand():
    # mean 0.25, deviation sqrt(0.25 * 0.75)
    deviation = math.sqrt(0.1875)
    assert losses.trajectory_advantages([1, 0, 0, 0]) == pytest.approx([0.75 / deviation] + [-0.25 / deviation] * 3)
    assert losses.trajectory_advantages([1, 0, 0, 0], scale=False) == pytest.approx([0.75, -0.25, -0.25, -0.25])


@pytest.mark.parametrize("rewards", [[0, 0, 0], [1, 1], [1]])
def test_equal_rewards_teach_nothing(rewards):
    assert losses.trajectory_advantages(rewards) == [0.0] * len(rewards)


def test_state_advantages_by_hand():
    # State a: returns 1, 0, 0; mean 1/3, deviation sqrt(2)/3, times 3/2. State b: one visit. State c: equal returns.
    advantages = losses.state_advantages(["a", "b", "a", "c", "a", "c"], [1, 1, 0, 0, 0, 0])
    assert advantages == pytest.approx([1.5 * math.sqrt(2), 0, -0.75 * math.sqrt(2), 0, -0.75 * math.sqrt(2), 0])


def test_state_advantages_without_scaling_compare_with_the_other_visits():
    assert losses.state_advantages(["a"] * 3, [1, 0, 0], scale=False) == pytest.approx([1 - 0, 0 - 0.5, 0 - 0.5])


def test_paper_weights_average_tokens_then_steps_then_trajectories():
    # Two trajectories: one of two steps with 2 and 4 tokens, one of one step with 5 tokens.
    lengths, steps = [2, 4, 5], [2, 2, 1]
    weights = losses.token_weights(lengths, steps, 2, "paper")
    assert weights == pytest.approx([1 / 8, 1 / 16, 1 / 10])
    assert sum(weight * length for weight, length in zip(weights, lengths, strict=True)) == pytest.approx(1)


def test_other_weights_are_one_for_all_tokens():
    weights = losses.token_weights([2, 4, 5], [2, 2, 1], 2, "token_mean")
    assert len(set(weights)) == 1
    assert sum(weight * length for weight, length in zip(weights, [2, 4, 5], strict=True)) == pytest.approx(1)


def test_clipped_loss_by_hand():
    sampled = tensor([0.5, 0.5, 0.5, 0.5]).log()
    now = tensor([0.75, 0.75, 0.25, 0.5]).log().requires_grad_()
    advantages = tensor([1.0, -1.0, -1.0, 2.0])
    # ratios 1.5, 1.5, 0.5, 1; clipped to [0.8, 1.3]
    result = losses.clipped_loss(now, sampled, advantages, tensor([0.25] * 4), clip_low=0.2, clip_high=0.3)
    assert result.loss.item() == pytest.approx(-0.25 * (1.3 - 1.5 - 0.8 + 2.0))
    assert result.clipped_fraction == 0.5
    assert result.ratio_max == pytest.approx(1.5)
    result.loss.backward()
    # Where the clip acts there is no gradient; elsewhere it is -w r A.
    assert now.grad.tolist() == pytest.approx([0, 0.25 * 1.5, 0, -0.5])


def test_kl_by_hand():
    policy, reference = tensor([0.5]).log(), tensor([0.25]).log()
    expected = 0.5 - math.log(0.5) - 1
    assert losses.k3(policy, reference).item() == pytest.approx(expected)
    result = losses.clipped_loss(policy, policy, tensor([0.0]), tensor([1.0]), kl_weight=0.1, reference_logprobs_N=reference)
    assert result.loss.item() == pytest.approx(0.1 * expected)
    assert result.kl == pytest.approx(expected)


def test_kl_is_never_negative():
    generator = torch.Generator().manual_seed(0)
    policy, reference = -torch.rand(2, 1000, generator=generator) * 5
    assert losses.k3(policy, reference).min() >= 0
