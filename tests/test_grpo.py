"""M-GRPO as a method: what it keeps from batch to batch, and what it makes of groups and of earlier successes."""

from random import Random

import pytest

from agents.data.trajectories import Step, Trajectory
from agents.methods.grpo import GRPOSettings
from agents.methods.method import Resources
from agents.rollouts.groups import Group, RolloutBatch
from agents.settings import EnvSettings
from tests import tiny

TASKS = [tiny.TinyTask(f"kind {number % 2}/{number}", "", "", template=f"kind {number % 2}") for number in range(6)]


def trajectory(task, reward, *, steps=1, group=0, ending="exited"):
    made = tuple(Step("", "", "", (number,), (7,), (-0.5,)) for number in range(steps))
    return Trajectory(task.task_id, "goal", made, reward, ending, group)


def group(number, task, *rewards, **changes):
    return Group(number, task, [trajectory(task, reward, group=number, **changes) for reward in rewards])


def batch(*groups):
    return RolloutBatch(list(groups), [], 0, {})


def method(**changes):
    own = {"replayed": 8, "old_logprobs": "recomputed", "groups_remembered": 4, **changes}
    resources = Resources(TASKS, EnvSettings(), None, None, None, None, None, 1.0, 1024, 0)
    return GRPOSettings(**own).create(resources)


def made(own, *groups):
    return own.make_batch(batch(*groups), Random(0))[0]


def test_successes_are_replayed_with_the_advantage_that_their_template_leaves_to_be_gained():
    own = method(replay_weight=0.5)
    assert made(own, group(0, TASKS[0], 1, 1, steps=2), group(1, TASKS[1], 0, 0)).samples == []
    assert made(own, group(2, TASKS[2], 0, 0, 0)).advantages == [0.25, 0.25]  # once right, once wrong
    later = made(own, group(3, TASKS[4], 0, 0, 0))
    assert later.advantages == pytest.approx([0.5 * 2 / 3] * 2)
    assert [origin.group for origin in later.origins] == [0, 0]


def test_what_always_succeeds_is_not_replayed():
    own = method()
    for number in range(3):
        assert made(own, group(number, TASKS[0], 1, 1)).samples == []


def test_replayed_steps_stand_behind_those_of_mixed_groups_and_share_their_weight():
    own = method()
    made(own, group(0, TASKS[0], 1, 0))
    trained = made(own, group(1, TASKS[1], 1, 0))
    assert trained.advantages == pytest.approx([2.0, -2.0, 0.5])
    assert trained.weights == pytest.approx([1 / 3] * 3)
    assert [item.task_id for item in trained.trajectories] == ["kind 1/1", "kind 1/1", "kind 0/0"]


def test_nothing_is_replayed_unless_told():
    own = method(replayed=0)
    made(own, group(0, TASKS[0], 1, 0))
    assert made(own, group(1, TASKS[0], 0, 0)).samples == []


def test_a_method_that_is_resumed_draws_and_replays_the_same():
    one, other = method(), method()
    groups = [group(number, TASKS[number], *rewards) for number, rewards in enumerate([(1, 1), (0, 1), (0, 0), (1, 1)])]
    made(one, *groups)
    other.load_state_dict(one.state_dict())
    for number in range(4, 12):
        assert one.draw_task(number) == other.draw_task(number)
        new = group(number, TASKS[number % 6], number % 2, 0)
        assert made(one, new) == made(other, new)


def test_a_state_of_before_there_was_replay_can_be_resumed():
    own = method(groups_remembered=2)
    own.load_state_dict({"rates": {"kind 0": 0.5}})
    made(own, group(0, TASKS[0], 1, 1))
    assert own.state_dict()["rates"] == {"kind 0": 0.75}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"replayed": 8}, "replayed is 8 and old_logprobs 'sampled'; expected 'recomputed'"),
        ({"replay_kept": 2}, "replay_kept is 2, but does nothing"),
        ({"replay_weight": 0.1}, "replay_weight is 0.1, but does nothing"),
        ({"replayed": -1}, "replayed is -1; expected 0 or more"),
        ({"groups_remembered": 0}, "groups_remembered is 0; expected 1 or more"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        GRPOSettings(**changes)
