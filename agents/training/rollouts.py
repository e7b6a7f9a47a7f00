"""Rollouts on disk: the groups of an update with the advantage of every step, as compressed JSON Lines, one line a group."""

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agents.data.trajectories import Trajectory, from_record
from agents.training.batch import TrainingBatch

if TYPE_CHECKING:  # reports read rollouts without torch
    from agents.rollouts.groups import Group

_FOLDER = "rollouts"


class CreditedGroup(NamedTuple):
    """The rollouts of a group, and of each the advantages of its steps; none of a rollout that was not trained on."""

    number: int
    trajectories: list[Trajectory]
    advantages: list[tuple[float, ...]]

    @property
    def is_equal(self) -> bool:
        """Whether all rewards are equal."""
        return len({trajectory.reward for trajectory in self.trajectories}) < 2


def credited(groups: "Iterable[Group]", batch: TrainingBatch) -> list[CreditedGroup]:
    """Return groups with the advantages that a training batch gives to their steps; rollouts that failed are left out."""
    of_rollouts: dict[tuple[int, int], dict[int, float]] = defaultdict(dict)
    for origin, advantage in zip(batch.origins, batch.advantages, strict=True):
        of_rollouts[origin.group, origin.rollout][origin.step] = advantage
    return [
        CreditedGroup(group.number, group.valid, [
            tuple(of_rollouts[group.number, place].get(step, 0.0) for step in range(len(item.steps)))
            if (group.number, place) in of_rollouts else ()
            for place, item in enumerate(group.valid)
        ])
        for group in groups
    ]  # fmt: skip


def write_groups(run: Path, update: int, groups: Sequence[CreditedGroup]) -> None:
    """Write the groups of an update into the folder of its run, without the tokens of prompts and responses."""
    path = run / _FOLDER / f"{update:06}.jsonl.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".unfinished_{path.name}")
    lines = (json.dumps(_record(group), ensure_ascii=False) + "\n" for group in groups)
    beside.write_bytes(gzip.compress("".join(lines).encode(), 6, mtime=0))
    beside.replace(path)


def read_groups(path: Path) -> list[CreditedGroup]:
    """Read a file of `write_groups`."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    return [
        CreditedGroup(
            record["group"], [from_record(item) for item in record["rollouts"]], [tuple(own) for own in record["advantages"]]
        )
        for record in records
    ]


def group_files(run: Path) -> dict[int, Path]:
    """Return the files of groups in the folder of a run by update, in order; none where none were saved."""
    return {int(path.name.partition(".")[0]): path for path in sorted((run / _FOLDER).glob("[0-9]*.jsonl.gz"))}


def _record(group: CreditedGroup) -> dict[str, object]:
    rollouts = [
        asdict(replace(item, steps=tuple(replace(step, prompt_ids=(), response_ids=(), logprobs=()) for step in item.steps)))
        for item in group.trajectories
    ]
    return {"group": group.number, "advantages": group.advantages, "rollouts": rollouts}
