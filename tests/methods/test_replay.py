"""A replay buffer keeps the newest trajectories, and draws distinct ones."""

from random import Random
from types import SimpleNamespace

import torch

from agents.data.trajectories import Step, Trajectory
from agents.methods.replay import Replay, imitation_loss, split_by_trajectory, step_rewards, valid_trajectories
from agents.rollouts.curriculum import Group
from tests import tiny


def episode(task, reward=1.0, steps=1, ending="exited"):
    return Trajectory(task, "goal", (Step("page", "reply", "", (), (1,)),) * steps, reward, ending)


def test_the_newest_trajectories_are_kept():
    buffer = Replay(2)
    buffer.add([episode("a"), episode("b")])
    buffer.add([episode("c")])
    assert [item.task_id for item in buffer.trajectories] == ["b", "c"]
    twin = Replay(2)
    twin.load_state_dict(buffer.state_dict())
    assert twin.trajectories == buffer.trajectories


def test_only_the_newest_of_each_task_is_kept():
    buffer = Replay(2, one_per_task=True)
    buffer.add([episode("a", 0.0), episode("b"), episode("a", 1.0), episode("c")])
    assert [(item.task_id, item.reward) for item in buffer.trajectories] == [("a", 1.0), ("c", 1.0)]


def test_draws_are_distinct():
    buffer = Replay(9)
    buffer.add(map(episode, "abcde"))
    drawn = [[item.task_id for item in buffer.draw(3, Random(seed))] for seed in range(20)]
    assert all(len({*names}) == 3 for names in drawn)
    assert len({tuple(names) for names in drawn}) > 10
    assert sorted(item.task_id for item in buffer.draw(99, Random(0))) == [*"abcde"]


def test_failed_and_empty_rollouts_are_left_out():
    rollouts = [episode("a", steps=2), episode("b", ending="failed"), episode("c", steps=0), episode("d", reward=0.0)]
    groups = [Group(0, tiny.tasks(1)[0], rollouts)]
    valid = valid_trajectories(groups)
    assert [item.task_id for item in valid] == ["a", "d"]
    assert step_rewards(valid) == [1.0, 1.0, 0.0]
    assert split_by_trajectory([1, 2, 3], valid) == [[1, 2], [3]]


def test_imitation_weighs_each_token():
    weights, advantages, new = (torch.tensor(values) for values in ([0.5, 0.25], [1.0, -2.0], [-3.0, -4.0]))
    loss, metrics = imitation_loss(SimpleNamespace(weights=weights, advantages=advantages, new=new))
    assert loss.item() == 0.5 * 3.0 - 0.25 * 2.0 * 4.0
    assert metrics == {}
