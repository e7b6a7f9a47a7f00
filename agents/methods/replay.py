"""Replay: trajectories of earlier updates, and which of their steps are worth another look."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import exp
from random import Random
from statistics import fmean
from typing import Any

import torch
from transformers import PreTrainedModel

from agents.data.tokens import Sample
from agents.data.trajectories import Trajectory, from_record
from agents.models.batches import batch_logprobs, pack


@dataclass(frozen=True, kw_only=True)
class ReplaySettings:
    """What is kept of earlier rollouts."""

    replay: int = 1024
    """trajectories that are kept, the newest ones"""


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


@torch.no_grad()
def response_logprobs(
    model: PreTrainedModel, samples: Sequence[Sample], *, temperature: float, tokens_per_pass: int
) -> list[tuple[float, ...]]:
    """Return the log-probability that the model gives each token of each response."""
    found: list[tuple[float, ...]] = [()] * len(samples)
    for batch in pack(samples, tokens_per_pass, pad_id=model.config.pad_token_id or 0, model=model):
        logprobs = batch_logprobs(model, batch, temperature=temperature)
        for index, own in zip(batch.samples, logprobs.split(batch.lengths), strict=True):
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
