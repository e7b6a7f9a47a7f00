"""Curiosity, the error of a predictor of a random network, against cases computed by hand."""

import pytest
import torch
from torch import nn

from agents.models.curiosity import CLIP, Curiosity


def test_the_reward_is_the_mean_squared_error_of_the_predictor():
    curiosity = Curiosity(3)
    for network, value in ((curiosity.target, 2.0), (curiosity.predictor, 0.5)):
        nn.init.zeros_(network[4].weight)
        nn.init.constant_(network[4].bias, value)
    with torch.no_grad():
        curiosity.predictor[4].bias[:32] = 3.0  # half of the outputs
        rewards = curiosity(torch.randn(2, 3))
    assert rewards.tolist() == pytest.approx([(1.0**2 + 1.5**2) / 2] * 2)


def test_features_are_normalised_and_clipped():
    curiosity = Curiosity(2)
    curiosity.normal.running_mean.copy_(torch.tensor([10.0, 0.0]))
    curiosity.normal.running_var.copy_(torch.tensor([4.0, 1.0]))
    curiosity.normal.eps = 0.0
    with torch.no_grad():
        far, edge, other = curiosity(torch.tensor([[1000.0, -1000.0], [10 + 2 * CLIP, -CLIP], [12.0, 1.0]]))
        target, guess = (network(torch.tensor([1.0, 1.0])) for network in (curiosity.target, curiosity.predictor))
    assert far.item() == pytest.approx(edge.item())
    assert other.item() == pytest.approx((target - guess).square().mean().item(), rel=1e-4)


def test_curiosity_decreases_for_frequent_observations():
    torch.manual_seed(0)
    curiosity = Curiosity(4)
    seen, new = (
        torch.randn(32, 4) * 0.1 + torch.tensor([1.0, 0.0, 0.0, 0.0]),
        torch.randn(32, 4) * 0.1 - torch.tensor([1.0, 0.0, 0.0, 0.0]),
    )
    mixed = torch.cat([seen.repeat(4, 1), new[:2]])  # both within the normalised range
    target = [parameter.clone() for parameter in curiosity.target.parameters()]
    errors = [curiosity.learn(mixed) for _ in range(200)]
    assert errors[-1] < errors[0] / 2
    with torch.no_grad():
        assert curiosity(new[2:]).mean() > 2 * curiosity(seen).mean()
    assert all(torch.equal(old, now) for old, now in zip(target, curiosity.target.parameters(), strict=True))
