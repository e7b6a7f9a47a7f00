"""Episodes of earlier updates, and what the methods have in common that learn from them or from critics."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from random import Random
from typing import Any

from agents.data.trajectories import Trajectory, from_record
from agents.rollouts.curriculum import Group
from agents.training.losses import Loss, Tokens


class Replay:
    """The newest trajectories of a run, at most `capacity`; with `one_per_task` only the newest of each task."""

    def __init__(self, capacity: int, *, one_per_task: bool = False) -> None:
        self.trajectories: list[Trajectory] = []
        self._capacity = capacity
        self._one_per_task = one_per_task

    def add(self, trajectories: Iterable[Trajectory]) -> None:
        """Keep these, and forget what is too much."""
        kept = [*self.trajectories, *trajectories]
        if self._one_per_task:
            newest: dict[str, Trajectory] = {}
            for item in kept:
                newest.pop(item.task_id, None)  # so that the new one goes behind the others
                newest[item.task_id] = item
            kept = list(newest.values())
        self.trajectories = kept[-self._capacity :]

    def draw(self, count: int, rng: Random) -> list[Trajectory]:
        """Return so many different trajectories, or all if there are fewer, in random order."""
        return rng.sample(self.trajectories, min(count, len(self.trajectories)))

    def state_dict(self) -> dict[str, Any]:
        """Return the trajectories as records."""
        return {"trajectories": [asdict(item) for item in self.trajectories]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what `state_dict` returned."""
        self.trajectories = [from_record(record) for record in state_dict["trajectories"]]


def kept(**parts: Any) -> tuple[Callable[[], dict[str, Any]], Callable[[Mapping[str, Any]], None]]:
    """Return the `state_dict` and the `load_state_dict` of a method that keeps these objects."""

    def load_state_dict(state: Mapping[str, Any]) -> None:
        for name, part in parts.items():
            part.load_state_dict(state[name])

    return lambda: {name: part.state_dict() for name, part in parts.items()}, load_state_dict


def played(groups: Sequence[Group]) -> list[Trajectory]:
    """Return the rollouts that say something about the policy: those that did not break, and have a step."""
    return [item for group in groups for item in group.valid if item.steps]


def step_rewards(trajectories: Sequence[Trajectory]) -> list[float]:
    """Return for every step the reward of its trajectory: the return, as a reward comes at the end and nothing is discounted."""
    return [item.reward for item in trajectories for _ in item.steps]


def split_by_trajectory(values_S: Sequence[float], trajectories: Sequence[Trajectory]) -> list[list[float]]:
    """Return the values of all steps in one list for each trajectory."""
    rest = iter(values_S)
    return [[next(rest) for _ in item.steps] for item in trajectories]


def imitation_loss(tokens: Tokens) -> Loss:
    """Return the negative log-likelihood of all tokens, each weighted with its weight and its advantage."""
    return -(tokens.weights * tokens.advantages * tokens.new).sum(), {}
