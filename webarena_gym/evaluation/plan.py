"""What an evaluation plays: which tasks, how often, in which env, and what identifies all of that."""

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from webarena_gym import __version__
from webarena_gym.arguments import expect_positive
from webarena_gym.errors import TaskError
from webarena_gym.sites.world import generators
from webarena_gym.tasks import Task

FORMAT = 1
"""Of the files that an evaluation writes."""


class Trial(NamedTuple):
    """One episode to be played: a task, and which of its repeats it is."""

    task: Task
    repeat: int
    seed: int  # of the run

    @property
    def key(self) -> tuple[str, int]:
        """What tells it from all other trials of a run."""
        return self.task.task_id, self.repeat

    def seed_of(self, what: str | int) -> int:
        """Return the seed of one of its parts, such as a step: 63 bits that depend on the run's seed, the task and the repeat alone."""
        text = f"{self.seed}/{self.task.task_id}/{self.repeat}/{what}"
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) >> 1


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All trials of a run.

    Args:
        tasks: each once.
        suite: where the tasks come from, for the record: the split, the worlds.
        env: the keywords of the env that differ from its defaults.
        repeats: how often each task is played.
        seed: of all that is random.

    """

    tasks: Sequence[Task]
    suite: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, Any] = field(default_factory=dict)
    repeats: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        expect_positive("repeats", self.repeats)
        if not self.tasks:
            raise TaskError("there is no task to play")
        if len({task.task_id for task in self.tasks}) < len(self.tasks):
            raise TaskError("a task is to be played twice; expected each once, and repeats= for more episodes of each")

    @property
    def trials(self) -> list[Trial]:
        """All of them; every task once, then every task once more, so that a run that is cut off has seen most tasks."""
        return [Trial(task, repeat, self.seed) for repeat in range(self.repeats) for task in self.tasks]

    def header(self, agent: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the run of an agent is, as JSON: two runs with equal headers play the same."""
        return {
            "format": FORMAT,
            "version": __version__,
            "agent": dict(agent),
            "suite": {**self.suite, "tasks": len(self.tasks), "digest": suite_digest(self.tasks)},
            "env": dict(self.env),
            "repeats": self.repeats,
            "seed": self.seed,
        }


def suite_digest(tasks: Sequence[Task]) -> str:
    """Return the SHA-256 of what is played: the tasks with their checks, in any order, and the generators of the sites' worlds."""
    records = sorted(json.dumps(task.to_json(), sort_keys=True) for task in tasks)
    return hashlib.sha256("\n".join([generators(), *records]).encode()).hexdigest()


def sample(tasks: Sequence[Task], limit: int | None, seed: int) -> list[Task]:
    """Return `limit` of the tasks, chosen by the seed, in their order; all of them for None."""
    if limit is None or limit >= len(tasks):
        return list(tasks)
    chosen = set(random.Random(seed).sample(range(len(tasks)), limit))
    return [task for place, task in enumerate(tasks) if place in chosen]
