"""Replay: trajectories of earlier updates, and which of their steps are worth another look."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import exp
from random import Random
from statistics import fmean
from typing import Any, ClassVar

import torch

from agents.data.trajectories import Trajectory, from_record
from agents.methods.method import BASELINE_DEFAULTS
from agents.training.batch import TrainingBatch
from agents.training.families import ModelFamily
from agents.training.objectives import Objective, imitation


@dataclass(frozen=True, kw_only=True)
class ReplaySettings:
    """What is kept of earlier rollouts, and what else the methods have in common that imitate them."""

    defaults: ClassVar[Mapping[str, Any]] = BASELINE_DEFAULTS
    is_distributed: ClassVar[bool] = False
    is_local: ClassVar[bool] = False

    replay: int = 1024
    """trajectories that are kept, the newest ones"""

    def objective(self) -> Objective:
        """Return the negative log-likelihood, weighted where the method says so."""
        return imitation()


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


class Successes:
    """The newest success of each task, of at most `capacity` tasks of each template: templates that are rarely right are kept, too."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._by_template: dict[str, dict[str, Trajectory]] = {}

    def add(self, template: str, trajectories: Iterable[Trajectory]) -> None:
        """Keep the shortest success among these rollouts of one task, and forget what is too much."""
        shortest = min((item for item in trajectories if item.reward == 1), key=lambda item: len(item.steps), default=None)
        if shortest is not None:
            own = self._by_template.setdefault(template, {})
            own.pop(shortest.task_id, None)  # so that the new one goes behind the others
            own[shortest.task_id] = shortest
            if len(own) > self._capacity:
                own.pop(next(iter(own)))

    def draw(self, count: int, rng: Random, chances: Mapping[str, float]) -> list[tuple[str, Trajectory]]:
        """Return the templates and successes of `count` draws, each success once: a template by its chance, then any of its successes."""
        names = [name for name in self._by_template if chances[name] > 0]
        drawn = rng.choices(names, [chances[name] for name in names], k=count) if names else []
        pairs = [(name, rng.choice(list(self._by_template[name].values()))) for name in drawn]
        return list({id(item): (name, item) for name, item in pairs}.values())

    def state_dict(self) -> dict[str, Any]:
        """Return the trajectories as records, by template."""
        return {name: [asdict(item) for item in own.values()] for name, own in self._by_template.items()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume from what `state_dict` returned."""
        self._by_template = {
            name: {item.task_id: item for item in map(from_record, records)} for name, records in state_dict.items()
        }


@torch.no_grad()
def response_logprobs(
    family: ModelFamily, model: Any, batch: TrainingBatch, *, temperature: float, tokens_per_pass: int
) -> list[tuple[float, ...]]:
    """Return the log-probability that a model of the family gives each token of each response of a training batch."""
    found: list[tuple[float, ...]] = [()] * len(batch.samples)
    for packed in family.pack(model, batch, range(len(batch.samples)), tokens_per_pass, "auto"):
        logprobs = family.logprobs(model, packed, temperature=temperature)
        for index, own in zip(packed.samples, logprobs.split(packed.lengths), strict=True):
            found[index] = tuple(own.tolist())
    return found


def perplexity(logprobs: Sequence[float]) -> float:
    """Return the perplexity of a response: exp of minus the mean log-probability of its tokens.

    >>> round(perplexity([-0.5, -1.5]), 4)
    2.7183
    """
    return exp(-fmean(logprobs))


def is_worth_replaying(logprobs: Sequence[float]) -> bool:
    """Return whether the policy neither knows a response by heart nor finds it strange.

    WebRL replays actions whose perplexity under the present policy is between 1/0.95 and 1/0.5.
    """
    return 1 / 0.95 <= perplexity(logprobs) <= 1 / 0.5
