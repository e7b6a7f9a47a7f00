"""Drawings of runs: learning curves, success by template over the updates, and groups of rollouts as trees of states."""

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from agents.data.trajectories import Step, Trajectory
from agents.evaluation.report.sources import RunGroup, outcome, split_reply, task_of
from agents.training.rollouts import group_files, read_groups

MOST_POINTS = 400
_HEADING = re.compile(r"<h1>([^<]*)</h1>")
_URL = re.compile(r"^URL: (\S+)", re.MULTILINE)
_TAGS = re.compile(r"<[^<>]*>")
_METRICS = Path(__file__).parent / "static" / "metrics.json"
Counts = dict[str, dict[int, tuple[int, int]]]
"""By template and update: how many rollouts succeeded, of how many."""


@cache
def known_metrics() -> dict[str, Any]:
    """Return `axes`, metrics that only grow with their labels, `titles` of the others, and `first`, those that are drawn by default."""
    metrics: dict[str, Any] = json.loads(_METRICS.read_text(encoding="utf-8"))
    return metrics


def thin(records: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """Return the lines of a run: its number of `updates`, how many make a point (`stretch`), and the `values` of each metric.

    A point is the mean of the finite values of its stretch, None where there are none; along the axes, the last value.

    >>> thin([{"update": 1, "loss": 2.0}, {"update": 2, "loss": 4.0}])["values"]
    {'update': [1, 2], 'loss': [2.0, 4.0]}
    """
    stretch = -(-len(records) // MOST_POINTS) or 1
    names = dict.fromkeys(name for record in records for name, value in record.items() if isinstance(value, int | float))
    stretches = [records[start : start + stretch] for start in range(0, len(records), stretch)]
    values = {name: [_point(part, name) for part in stretches] for name in names}
    return {"updates": len(records), "stretch": stretch, "values": values}


def _point(records: Sequence[Mapping[str, float]], name: str) -> float | None:
    known = [record[name] for record in records if name in record and isfinite(record[name])]
    if not known:
        return None
    return float(f"{sum(known) / len(known):.6g}") if name not in known_metrics()["axes"] else known[-1]


def successes(folders: Mapping[str, Path]) -> dict[str, Counts]:
    """Return the counts of each run that has kept rollouts."""
    found: dict[str, Counts] = {}
    for name, folder in folders.items():
        counts: Counts = defaultdict(dict)
        for update, path in group_files(folder).items():
            for template, count in _counts(path, path.stat().st_mtime_ns).items():
                counts[template][update] = count
        if counts:
            found[name] = dict(sorted(counts.items()))
    return found


@lru_cache(maxsize=4096)
def _counts(path: Path, changed_ns: int) -> dict[str, tuple[int, int]]:  # noqa: ARG001 - a file that was written again is another
    solved: dict[str, int] = defaultdict(int)
    played: dict[str, int] = defaultdict(int)
    for group in read_groups(path):
        for trajectory in group:
            template = task_of(trajectory).template or trajectory.task_id
            solved[template] += trajectory.reward == 1
            played[template] += 1
    return {template: (solved[template], count) for template, count in played.items()}


class _Visit(NamedTuple):
    """A rollout at a step; `number` is that of the rollout among the episodes of its policy."""

    rollout: Trajectory
    number: int
    at: int

    @property
    def step(self) -> Step:
        return self.rollout.steps[self.at]

    @property
    def advantage(self) -> float | None:
        return self.rollout.advantages[self.at] if self.rollout.advantages else None


def rollouts_by_policy(groups: Sequence[RunGroup]) -> dict[str, list[Trajectory]]:
    """Return the rollouts of all groups, to be listed among the episodes."""
    policies: dict[str, list[Trajectory]] = defaultdict(list)
    for group in groups:
        policies[group.policy] += group.rollouts
    return dict(policies)


def trees(groups: Sequence[RunGroup]) -> list[dict[str, Any]]:
    """Return what the report draws of each group: its task, the rewards, and the tree of its states.

    A state is a page and the actions and pages before it. It has `visits`, the mean `value` of the returns, and a branch for each action,
    with the mean of the advantages of its steps; of a branch that no training batch had, the advantage is None.
    """
    numbers: dict[str, int] = defaultdict(int)
    drawn = []
    for group in groups:
        policy, rollouts = group.policy, group.rollouts
        first = numbers[policy] + 1
        numbers[policy] += len(rollouts)
        visits = [_Visit(item, number, 0) for number, item in enumerate(rollouts, first)]
        task = task_of(rollouts[0])
        drawn.append(
            {
                "run": group.run, "update": group.update, "group": group.number, "policy": policy, "task": task.task_id,
                "goal": rollouts[0].goal, "template": task.template or task.task_id,
                "rewards": [item.reward for item in rollouts],
                "tree": _state([visit for visit in visits if visit.rollout.steps]),
            }
        )  # fmt: skip
    return drawn


def _state(visits: Sequence[_Visit]) -> dict[str, Any]:
    """Return the state in which these visits are, with everything that follows."""
    branches: Mapping[str, list[_Visit]] = _split(visits, lambda visit: split_reply(visit.step.reply)[1])
    return {
        "page": _title(visits[0].step.page) if visits else "",
        "visits": len(visits),
        "value": _mean([visit.rollout.reward for visit in visits]),
        "branches": [_branch(action, own) for action, own in sorted(branches.items(), key=lambda item: -len(item[1]))],
    }


def _branch(action: str, visits: Sequence[_Visit]) -> dict[str, Any]:
    ended = [visit for visit in visits if visit.at + 1 == len(visit.rollout.steps)]
    going = [visit._replace(at=visit.at + 1) for visit in visits if visit.at + 1 < len(visit.rollout.steps)]
    return {
        "action": action,
        "error": visits[0].step.action_error,
        "visits": len(visits),
        "value": _mean([visit.rollout.reward for visit in visits]),
        "advantage": _mean([visit.advantage for visit in visits if visit.advantage is not None]),
        "at": [[visit.number, visit.at + 1, visit.advantage] for visit in visits],
        "ends": [outcome(visit.rollout) for visit in ended],
        "states": [_state(own) for own in _split(going, lambda visit: visit.step.page).values()],
    }


def _split(visits: Sequence[_Visit], key: Any) -> dict[str, list[_Visit]]:
    parts: dict[str, list[_Visit]] = defaultdict(list)
    for visit in visits:
        parts[key(visit)].append(visit)
    return parts


def _mean(values: Sequence[float]) -> float | None:
    return round(fmean(values), 4) if values else None


def _title(page: str) -> str:
    """Return the heading and the address of a page, as far as it has them, or its first line."""
    heading, url = _HEADING.search(page), _URL.search(page)
    found = [_TAGS.sub("", heading[1]) if heading else "", url[1] if url else ""]
    return " · ".join(part for part in found if part) or page.partition("\n")[0][:80]
