"""Filtered behaviour cloning, and the loss of imitation."""

from random import Random

import pytest
import torch

from agents.methods.replay import imitation_loss
from agents.rollouts.curriculum import Group
from tests.methods.episodes import TASK, advantages, method_of, tokens, trajectory


def test_imitation_weighs_each_token_and_filtered_cloning_imitates_successes_and_remembers_them():
    logprobs = torch.tensor([-1.0, -2.0, -4.0], requires_grad=True)
    loss, _ = imitation_loss(tokens(logprobs, [0.0] * 3, [1.0, 1.0, 3.0], [0.25, 0.25, 0.5], (2, 1)))
    assert loss.item() == pytest.approx(0.25 + 0.5 + 6)
    loss.backward()
    assert logprobs.grad.tolist() == pytest.approx([-0.25, -0.25, -1.5])
    method = method_of("filtered_bc", [TASK])
    won, lost = trajectory([-1.0], [-1.0], task_id="won"), trajectory([-1.0], reward=0, task_id="lost")
    assert advantages(method.batch([Group(0, TASK, [won]), Group(1, TASK, [lost])], Random(0))[0]) == [1.0, 1.0]
    assert len(method.batch([Group(2, TASK, [lost])], Random(0))[0]) == 2
