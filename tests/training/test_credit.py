"""Steps get the advantages of their groups and the token weights of a weighting, and rollouts get the advantages of their steps."""

import pytest

from agents.data.trajectories import Step, Trajectory
from agents.rollouts.curriculum import Group
from agents.training.credit import CONSTANT_STEPS, CONSTANT_TOKENS, add_advantages, weight_steps
from tests import tiny


def episode(*lengths, group=0, ending="exited"):
    steps = tuple(Step("page", "reply", "", (), (1,) * length) for length in lengths)
    return Trajectory("t", "goal", steps, 1.0, ending, group)


PARTS = [([episode(2, 3), episode(5)], [0.5, None, -1.0]), ([episode(4, group=1)], [2.0])]


@pytest.mark.parametrize(
    ("weighting", "weights"),
    [
        ("paper", [1 / (3 * 2 * 2), 1 / (3 * 1 * 5), 1 / (3 * 1 * 4)]),
        ("constant", [1 / (3 * CONSTANT_STEPS * tokens) for tokens in (2, 5, 4)]),
        ("dr_grpo", [1 / (3 * CONSTANT_TOKENS)] * 3),
        ("token_mean", [1 / 11] * 3),
        ("step_mean", [1 / (3 * 2), 1 / (3 * 5), 1 / (3 * 4)]),
    ],
)
def test_token_weights(weighting, weights):
    steps = weight_steps(PARTS, weighting)
    assert [(item.rollout, item.number, item.advantage) for item in steps] == [(0, 0, 0.5), (1, 0, -1.0), (0, 0, 2.0)]
    assert [item.weight for item in steps] == pytest.approx(weights)
    assert [item.step for item in steps] == [item.episode.steps[item.number] for item in steps]


def test_rollouts_get_the_advantages_of_their_steps():
    valid = [episode(2, 3, group=7), episode(5, group=7)]
    groups = [Group(7, tiny.tasks(1)[0], [valid[0], episode(1, group=7, ending="failed"), valid[1]])]
    steps = weight_steps([(valid[:1], [None, 1.5])])
    assert [item.advantages for item in add_advantages(groups, steps)] == [(0.0, 1.5), ()]
