from copy import deepcopy

import pytest
import torch

from agents.models.parameters import create_optimizer
from tests import tiny


def learn(model, optimizer, updates, seed=0):
    generator = torch.Generator().manual_seed(seed)
    losses = []
    for _ in range(updates):
        ids = torch.randint(5, 40, (4, 12), generator=generator).repeat(1, 2)
        loss = model(ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("name", ["adamw", "muon"])
def test_every_weight_learns_gradients_are_dropped_and_an_optimizer_goes_on_from_its_state(name):
    model, _ = tiny.tiny_model()
    before, optimizer = deepcopy(model.state_dict()), create_optimizer(model, name, 3e-3, 0.01)
    losses = learn(model, optimizer, 20)
    assert losses[-1] < losses[0]
    assert all(weights.grad is None for weights in model.parameters())
    assert all(not torch.equal(before[key], weights) for key, weights in model.named_parameters())
    twin = deepcopy(model)
    resumed = create_optimizer(twin, name, 3e-3, 0.01)
    resumed.load_state_dict(deepcopy(optimizer.state_dict()))
    for each, own in ((model, optimizer), (twin, resumed)):
        own.set_rate(1e-3)
        learn(each, own, 2, seed=1)
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(model.parameters(), twin.parameters(), strict=True))


def test_muon_takes_steps_as_long_as_adamw_s():
    lengths = {}
    for name in ("adamw", "muon"):
        model, _ = tiny.tiny_model()
        weights = model.model.layers[0].mlp.up_proj.weight
        before = weights.detach().clone()
        learn(model, create_optimizer(model, name, 1e-3, 0.0), 1)
        lengths[name] = (weights - before).square().mean().sqrt().item()
    assert 0.1 < lengths["muon"] / lengths["adamw"] < 1
