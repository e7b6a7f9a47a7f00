"""Trajectories, groups and methods with the fewest fields that a test needs."""

from pkgutil import resolve_name

import torch

from agents.data.trajectories import Step, Trajectory
from agents.rollouts.curriculum import Group
from agents.training.losses import Tokens
from tests import tiny

TASK = tiny.tasks(1)[0]


def trajectory(*steps, reward=1.0, task_id="t", group=0, ending="exited"):
    """A trajectory of steps, each given as the log-probabilities of its response."""
    made = tuple(
        Step("", "", "", (10, 11 + number), tuple(range(20, 20 + len(own))), tuple(own)) for number, own in enumerate(steps)
    )
    return Trajectory(task_id, f"goal of {task_id}", made, reward, ending, group)


def method_of(name, tasks, **options):
    """Return a method with a tiny model, at its beginning."""
    model, args = tiny.language_model(*tiny.tiny_model(), method=name, **options)
    return resolve_name(args.trainer)(args, tasks, model)


def tokens(logprobs, old, advantages, weights, lengths):
    return Tokens(logprobs, *(torch.tensor(values) for values in (old, old, advantages, weights)), lengths)


def advantages(steps):
    return [item.advantage for item in steps]


def group(number, *rewards):
    return Group(number, TASK, [trajectory([-1.0], reward=reward, group=number) for reward in rewards])
