"""Preferences of a search: pairs of actions, and the gradient of the DPO loss."""

import random

import pytest
import torch

from agents.data.trajectories import Step, Trajectory
from agents.methods.dpo import Preference, preference_steps
from agents.methods.replay import imitation_loss
from agents.training.losses import Tokens
from tests import tiny


@pytest.mark.parametrize("seed", range(3))
def test_a_batch_has_the_gradient_of_the_loss(seed):
    model, _ = tiny.tiny_model(seed)
    rng = random.Random(seed)

    def step():
        ids = tuple(rng.randrange(5, 60) for _ in range(rng.randint(2, 6)))
        return Step("", "", "", (5, 6, 7), ids, tuple(-rng.random() for _ in ids))

    episodes = [Trajectory("t/1", "", tuple(step() for _ in range(2)), 0.0, "truncated") for _ in range(6)]
    pairs = [Preference(*episodes[place : place + 2]) for place in (0, 2, 4)]
    trained, beta = tiny.language_model(model)[0], 0.7
    steps, metrics = preference_steps(pairs, trained, beta)
    assert [item.step for item in steps] == [item.steps[-1] for item in episodes]

    def computed():
        ((places, values),) = trained.logprobs([trained.choices(item.episode)[item.number] for item in steps])
        return places, values

    places, values = computed()
    logprobs = [values[places.index(place)] for place in range(6)]
    gains = [own.sum() - sum(item.steps[-1].logprobs) for own, item in zip(logprobs, episodes, strict=True)]
    margins = beta * torch.stack([one - other for one, other in zip(gains[::2], gains[1::2], strict=True)])
    loss = -torch.nn.functional.logsigmoid(margins).mean()
    expected = torch.autograd.grad(loss, list(model.parameters()))
    places, values = computed()
    chosen = [steps[place] for place in places]
    loss_of_steps, _ = imitation_loss(Tokens.of(values, chosen, [torch.tensor(item.step.logprobs) for item in chosen], None))
    found = torch.autograd.grad(loss_of_steps, list(model.parameters()))
    assert all(torch.allclose(one, other, atol=1e-5) for one, other in zip(found, expected, strict=True))
    assert metrics["dpo_loss"] == pytest.approx(loss.item(), abs=1e-5)
    assert metrics["accuracy"] == pytest.approx((margins > 0).float().mean().item())
