"""MENTOR's mixture of experts, dormant units and perturbation, against cases computed by hand."""

from math import log

import pytest
import torch
from torch import nn

from agents.models.mentor import CAPACITY, BestAgents, MixtureOfExperts, dormant_ratio, gate_loss, kept_fraction


def layer(weights, biases):
    """Return a linear layer with these weights and biases."""
    linear = nn.Linear(len(weights[0]), len(weights))
    with torch.no_grad():
        linear.weight.copy_(torch.tensor(weights))
        linear.bias.copy_(torch.tensor(biases))
    return linear


def test_the_output_is_the_mean_of_the_top_experts_by_their_gate_weights():
    mixture = MixtureOfExperts(4, count=3, top=2).eval()
    for number, expert in enumerate(mixture.experts):
        nn.init.zeros_(expert[2].weight)
        nn.init.constant_(expert[2].bias, 10.0**number)  # the experts return 1, 10 and 100
    nn.init.zeros_(mixture.gate[3].weight)
    with torch.no_grad():
        mixture.gate[3].bias.copy_(torch.tensor([log(0.5), log(0.2), log(0.3)]))
        output = mixture(torch.randn(2, 4))
    assert output.tolist() == [[pytest.approx((0.5 * 1 + 0.3 * 100) / 0.8)] * 4] * 2


def test_only_the_experts_that_were_selected_are_trained():
    mixture = MixtureOfExperts(8, count=16, top=4)
    mixture(torch.randn(1, 8)).sum().backward()
    trained = [bool(expert[2].bias.grad is not None and expert[2].bias.grad.any()) for expert in mixture.experts]
    assert (len(trained), sum(trained)) == (16, 4)


def test_the_loss_of_the_gate_is_its_load_and_its_entropy():
    weights = torch.tensor([[0.7, 0.2, 0.1], [0.5, 0.1, 0.4]], requires_grad=True)
    top = weights.topk(2).indices  # experts 0 and 1, then 0 and 2
    load = 3 * (0.5 * 0.6 + 0.25 * 0.15 + 0.25 * 0.25)  # shares of the selections times mean weights
    entropy = -(0.7 * log(0.7) + 0.2 * log(0.2) + 0.1 * log(0.1) + 0.5 * log(0.5) + 0.1 * log(0.1) + 0.4 * log(0.4)) / 2
    loss = gate_loss(weights, top)
    assert loss.item() == pytest.approx(load + entropy)
    loss.backward()
    assert weights.grad[0, 0].item() == pytest.approx(3 * 0.5 / 2 - (log(0.7) + 1) / 2), "the load has a gradient"


def test_a_unit_is_dormant_below_a_fraction_of_its_layer():
    # Mean absolute outputs: 2, 0.01 and 1 of a mean of 1.003, of which 0.025 is 0.0251; then 0.03 and 1 of a mean of 0.515, of which it is 0.0129.
    first = layer([[2.0], [0.01], [0.0]], [0.0, 0.0, 1.0])
    second = layer([[0.0] * 3, [0.0] * 3], [0.03, -1.0])
    assert dormant_ratio(nn.Sequential(first, second), torch.tensor([[1.0], [-1.0]])) == pytest.approx(1 / 5)
    assert not first._forward_hooks


@pytest.mark.parametrize(("dormant", "kept"), [(0.0, 0.9), (0.05, 0.9), (0.25, 0.5), (0.4, 0.2), (1.0, 0.2)])
def test_more_dormant_units_are_perturbed_farther(dormant, kept):
    assert kept_fraction(dormant) == pytest.approx(kept)


def test_a_perturbation_moves_the_weights_towards_a_sample_of_the_best_agents():
    network, optimizer_of = layer([[1.0], [1.0]], [0.0, 0.0]), torch.optim.Adam
    optimizer = optimizer_of(network.parameters())
    network(torch.ones(1, 1)).sum().backward()
    optimizer.step()
    network.load_state_dict(layer([[1.0], [1.0]], [0.0, 0.0]).state_dict())
    best = BestAgents()
    best.add(0.5, layer([[2.0], [4.0]], [0.0, 0.0]))
    best.add(0.7, layer([[4.0], [4.0]], [0.0, 0.0]))  # mean 3 and 4, standard deviation sqrt(2) and 0
    metrics = best.perturb(network, optimizer, torch.Generator().manual_seed(0), torch.ones(1, 1))
    assert metrics == {"dormant_ratio": 0.0, "kept_weights": 0.9}
    draw = torch.normal(
        torch.tensor([[3.0], [4.0]]), torch.tensor([[2**0.5], [1e-7]]), generator=torch.Generator().manual_seed(0)
    )
    assert network.weight.flatten().tolist() == pytest.approx([0.9 + 0.1 * draw[0, 0].item(), 0.9 + 0.1 * 4], abs=1e-6)
    assert not optimizer.state, "the moments belong to other weights"


def test_samples_have_the_mean_and_the_spread_of_the_best_agents():
    best = BestAgents()
    for value in (1.0, 2.0, 6.0):
        best.add(value, layer([[value]] * 4000, [0.0] * 4000))
    weights, biases = best.sample(torch.Generator().manual_seed(1))
    assert weights.mean().item() == pytest.approx(3.0, abs=0.15)
    assert weights.std().item() == pytest.approx(7**0.5, abs=0.1)  # squares 4, 1 and 9 over n - 1
    assert biases.abs().max().item() < 1e-5


def test_the_ten_agents_with_the_highest_scores_are_kept():
    best = BestAgents()
    for number in range(CAPACITY + 3):
        best.add(float(number), layer([[float(number)]], [0.0]))
    best.add(2.0, layer([[99.0]], [0.0]))
    assert [score for score, _ in best.agents] == [float(number) for number in range(3, 13)]
    assert [parameters[0].item() for _, parameters in best.agents] == [score for score, _ in best.agents]


def test_one_best_agent_is_its_own_sample():
    best = BestAgents()
    best.add(1.0, layer([[5.0]], [3.0]))
    assert [value.item() for value in best.sample(torch.Generator())] == pytest.approx([5.0, 3.0], abs=1e-5)
