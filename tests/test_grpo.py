"""M-GRPO as a method: what it keeps from batch to batch, and what it makes of groups and of earlier successes."""

from random import Random

import pytest

from agents.data.trajectories import Step, Trajectory
from agents.grpo import GRPO
from agents.rollouts.curriculum import Group
from tests import tiny

TASKS = [tiny.TinyTask(f"kind {number % 2}/{number}", "", "", template=f"kind {number % 2}") for number in range(6)]


def trajectory(task, reward, *, steps=1, group=0, ending="exited"):
    made = tuple(Step("", "", "", (number,), (7,), (-0.5,)) for number in range(steps))
    return Trajectory(task.task_id, "goal", made, reward, ending, group)


def group(number, task, *rewards, **changes):
    return Group(number, task, [trajectory(task, reward, group=number, **changes) for reward in rewards])


def method(**changes):
    model, args = tiny.language_model(
        tiny.tiny_model()[0], **{"replayed": 8, "old_logprobs": "recomputed", "groups_remembered": 4, **changes}
    )
    return GRPO(args, TASKS, model)


def made(own, *groups):
    return own.batch(list(groups), Random(0))[0]


def advantages(steps):
    return [item.advantage for item in steps]


def test_successes_are_replayed_with_the_advantage_that_their_template_leaves_to_be_gained():
    own = method()
    assert made(own, group(0, TASKS[0], 1, 1, steps=2), group(1, TASKS[1], 0, 0)) == []
    assert advantages(made(own, group(2, TASKS[2], 0, 0, 0))) == [0.5, 0.5]  # once right, once wrong
    later = made(own, group(3, TASKS[4], 0, 0, 0))
    assert advantages(later) == pytest.approx([2 / 3] * 2)
    assert [item.episode.group for item in later] == [0, 0]


def test_what_always_succeeds_is_not_replayed():
    own = method()
    for number in range(3):
        assert made(own, group(number, TASKS[0], 1, 1)) == []


def test_replayed_steps_stand_behind_those_of_mixed_groups_and_share_their_weight():
    own = method()
    made(own, group(0, TASKS[0], 1, 0))
    trained = made(own, group(1, TASKS[1], 1, 0))
    assert advantages(trained) == pytest.approx([2.0, -2.0, 0.5])
    assert [item.weight for item in trained] == pytest.approx([1 / 3] * 3)
    assert [item.episode.task_id for item in trained] == ["kind 1/1", "kind 1/1", "kind 0/0"]


def test_nothing_is_replayed_unless_told():
    own = method(replayed=0)
    made(own, group(0, TASKS[0], 1, 0))
    assert made(own, group(1, TASKS[0], 0, 0)) == []


def test_a_method_that_is_resumed_draws_and_replays_the_same():
    one, other = method(), method()
    groups = [group(number, TASKS[number], *rewards) for number, rewards in enumerate([(1, 1), (0, 1), (0, 0), (1, 1)])]
    made(one, *groups)
    other.load_state_dict(one.state_dict())
    for number in range(4, 12):
        assert one.draw(number) == other.draw(number)
        new = group(number, TASKS[number % 6], number % 2, 0)
        assert made(one, new) == made(other, new)
