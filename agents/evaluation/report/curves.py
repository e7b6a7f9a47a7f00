"""Data for the charts of runs: learning curves, success by template and update, and groups of rollouts as trees of states."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from agents.data.trajectories import Step, Trajectory
from agents.evaluation.report.sources import RunGroup, outcome, split_reply, task_of
from agents.training.rollout_files import group_files, read_groups

MAX_POINTS = 400  # points of a curve
_HEADING = re.compile(r"<h1>([^<]*)</h1>")
_URL = re.compile(r"^URL: (\S+)", re.MULTILINE)
_TAGS = re.compile(r"<[^<>]*>")
_METRICS = Path(__file__).parent / "static" / "metrics.json"
Counts = dict[str, dict[int, tuple[int, int]]]
"""Numbers of successful and of all rollouts, by template and update."""


@cache
def metric_definitions() -> dict[str, Any]:
    """Return the labels of cumulative metrics (`axes`), the titles of other metrics (`titles`), and the default charts (`first`)."""
    metrics: dict[str, Any] = json.loads(_METRICS.read_text(encoding="utf-8"))
    return metrics


def thin(records: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """Return the curves of a run with at most 400 points.

    A point is the mean of the finite values of consecutive updates, or None without one. For cumulative metrics, it is the last value.

    Returns:
        The number of `updates`, the number of updates per point (`stretch`), and the `values` of each metric.

    >>> thin([{"update": 1, "loss": 2.0}, {"update": 2, "loss": 4.0}])["values"]
    {'update': [1, 2], 'loss': [2.0, 4.0]}

    """
    stretch = -(-len(records) // MAX_POINTS) or 1
    names = dict.fromkeys(name for record in records for name, value in record.items() if isinstance(value, int | float))
    stretches = [records[start : start + stretch] for start in range(0, len(records), stretch)]
    values = {name: [_point(part, name) for part in stretches] for name in names}
    return {"updates": len(records), "stretch": stretch, "values": values}


def _point(records: Sequence[Mapping[str, float]], name: str) -> float | None:
    values = [record[name] for record in records if name in record and isfinite(record[name])]
    if not values:
        return None
    return float(f"{sum(values) / len(values):.6g}") if name not in metric_definitions()["axes"] else values[-1]


def successes(folders: Mapping[str, Path]) -> dict[str, Counts]:
    """Return the success counts of each run with saved rollouts."""
    counts_by_run: dict[str, Counts] = {}
    for name, folder in folders.items():
        counts: Counts = defaultdict(dict)
        for update, path in group_files(folder).items():
            for template, count in _success_counts(path, path.stat().st_mtime_ns).items():
                counts[template][update] = count
        if counts:
            counts_by_run[name] = dict(sorted(counts.items()))
    return counts_by_run


@lru_cache(maxsize=4096)
def _success_counts(path: Path, modified_ns: int) -> dict[str, tuple[int, int]]:  # noqa: ARG001 - part of the cache key
    success_counts: dict[str, int] = defaultdict(int)
    rollout_counts: dict[str, int] = defaultdict(int)
    for group in read_groups(path):
        for trajectory in group:
            template = task_of(trajectory).template or trajectory.task_id
            success_counts[template] += trajectory.reward == 1
            rollout_counts[template] += 1
    return {template: (success_counts[template], count) for template, count in rollout_counts.items()}


class _Visit(NamedTuple):
    """A step of a rollout. `number` is the rollout's number among the episodes of its policy."""

    rollout: Trajectory
    number: int
    step_index: int

    @property
    def step(self) -> Step:
        return self.rollout.steps[self.step_index]

    @property
    def advantage(self) -> float | None:
        return self.rollout.advantages[self.step_index] if self.rollout.advantages else None


def rollouts_by_policy(groups: Sequence[RunGroup]) -> dict[str, list[Trajectory]]:
    """Return the rollouts of all groups by the policy name in the list of episodes."""
    policies: dict[str, list[Trajectory]] = defaultdict(list)
    for group in groups:
        policies[group.policy] += group.rollouts
    return dict(policies)


def trees(groups: Sequence[RunGroup]) -> list[dict[str, Any]]:
    """Return the JSON records of groups: the task, the rewards, and the tree of states.

    A state is a page with the actions and pages before it. It has its number of `visits`, the mean `value` of the returns, and a branch
    for each action with the mean advantage of its steps, which is None if no training batch contained them.
    """
    episode_counts: dict[str, int] = defaultdict(int)
    records = []
    for group in groups:
        policy, rollouts = group.policy, group.rollouts
        first_number = episode_counts[policy] + 1
        episode_counts[policy] += len(rollouts)
        visits = [_Visit(item, number, 0) for number, item in enumerate(rollouts, first_number)]
        task = task_of(rollouts[0])
        records.append(
            {
                "run": group.run, "update": group.update, "group": group.number, "policy": policy, "task": task.task_id,
                "goal": rollouts[0].goal, "template": task.template or task.task_id,
                "rewards": [item.reward for item in rollouts],
                "tree": _state([visit for visit in visits if visit.rollout.steps]),
            }
        )  # fmt: skip
    return records


def _state(visits: Sequence[_Visit]) -> dict[str, Any]:
    """Return the record of the state of these visits, with the tree below it."""
    branches: Mapping[str, list[_Visit]] = _group_by(visits, lambda visit: split_reply(visit.step.reply)[1])
    return {
        "page": _title(visits[0].step.page) if visits else "",
        "visits": len(visits),
        "value": _mean([visit.rollout.reward for visit in visits]),
        "branches": [
            _branch(action, branch_visits) for action, branch_visits in sorted(branches.items(), key=lambda item: -len(item[1]))
        ],
    }


def _branch(action: str, visits: Sequence[_Visit]) -> dict[str, Any]:
    """Return the record of an action in a state."""
    last_visits = [visit for visit in visits if visit.step_index + 1 == len(visit.rollout.steps)]
    next_visits = [
        visit._replace(step_index=visit.step_index + 1) for visit in visits if visit.step_index + 1 < len(visit.rollout.steps)
    ]
    return {
        "action": action,
        "error": visits[0].step.action_error,
        "visits": len(visits),
        "value": _mean([visit.rollout.reward for visit in visits]),
        "advantage": _mean([visit.advantage for visit in visits if visit.advantage is not None]),
        "at": [[visit.number, visit.step_index + 1, visit.advantage] for visit in visits],
        "ends": [outcome(visit.rollout) for visit in last_visits],
        "states": [_state(page_visits) for page_visits in _group_by(next_visits, lambda visit: visit.step.page).values()],
    }


def _group_by(visits: Sequence[_Visit], key: Callable[[_Visit], str]) -> dict[str, list[_Visit]]:
    parts: dict[str, list[_Visit]] = defaultdict(list)
    for visit in visits:
        parts[key(visit)].append(visit)
    return parts


def _mean(values: Sequence[float]) -> float | None:
    return round(fmean(values), 4) if values else None


def _title(page: str) -> str:
    """Return the heading and the URL of a page, or its first line if it has neither."""
    heading, url = _HEADING.search(page), _URL.search(page)
    parts = [_TAGS.sub("", heading[1]) if heading else "", url[1] if url else ""]
    return " · ".join(part for part in parts if part) or page.partition("\n")[0][:80]
