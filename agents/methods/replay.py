"""A replay buffer of trajectories, and functions shared by the methods that use replay or critics."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from random import Random
from typing import Any

from agents.data.trajectories import Trajectory, from_record
from agents.models.checkpoints import Stateful
from agents.rollouts.curriculum import Group
from agents.training.losses import Loss, Tokens


class Replay:
    """A buffer of the newest `capacity` trajectories; with `one_per_task`, only the newest of each task."""

    def __init__(self, capacity: int, *, one_per_task: bool = False) -> None:
        self.trajectories: list[Trajectory] = []
        self._capacity = capacity
        self._one_per_task = one_per_task

    def add(self, trajectories: Iterable[Trajectory]) -> None:
        """Add trajectories, and drop the oldest ones above the capacity."""
        buffer = [*self.trajectories, *trajectories]
        if self._one_per_task:
            newest: dict[str, Trajectory] = {}
            for item in buffer:
                newest.pop(item.task_id, None)  # moves the task to the end
                newest[item.task_id] = item
            buffer = list(newest.values())
        self.trajectories = buffer[-self._capacity :]

    def draw(self, count: int, rng: Random) -> list[Trajectory]:
        """Return `count` distinct trajectories, or all if there are fewer, in random order."""
        return rng.sample(self.trajectories, min(count, len(self.trajectories)))

    def state_dict(self) -> dict[str, Any]:
        """Return the trajectories as records."""
        return {"trajectories": [asdict(item) for item in self.trajectories]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a state dict."""
        self.trajectories = [from_record(record) for record in state_dict["trajectories"]]


def state_functions(**parts: Stateful) -> tuple[Callable[[], dict[str, Any]], Callable[[Mapping[str, Any]], None]]:
    """Return `state_dict` and `load_state_dict` functions for these stateful objects, by name."""

    def load_state_dict(state: Mapping[str, Any]) -> None:
        for name, part in parts.items():
            part.load_state_dict(state[name])

    return lambda: {name: part.state_dict() for name, part in parts.items()}, load_state_dict


def valid_trajectories(groups: Sequence[Group]) -> list[Trajectory]:
    """Return the rollouts that did not fail and have at least one step."""
    return [item for group in groups for item in group.valid if item.steps]


def step_rewards(trajectories: Sequence[Trajectory]) -> list[float]:
    """Return the undiscounted return of every step, which is the reward of its trajectory."""
    return [item.reward for item in trajectories for _ in item.steps]


def split_by_trajectory(values_S: Sequence[float], trajectories: Sequence[Trajectory]) -> list[list[float]]:
    """Split the values of all steps into one list per trajectory."""
    values = iter(values_S)
    return [[next(values) for _ in item.steps] for item in trajectories]


def imitation_loss(tokens: Tokens) -> Loss:
    """Return the negative log-likelihood of the tokens, multiplied by their weights and advantages."""
    return -(tokens.weights * tokens.advantages * tokens.new).sum(), {}
