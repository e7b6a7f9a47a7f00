"""Groups of rollouts as trees of states: what the rollouts of a task did where they stood before the same page, and what came of it."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from agents.data.trajectories import Trajectory
from agents.evaluation.report.episodes import outcome
from agents.evaluation.report.marks import split_reply
from agents.evaluation.report.results import task_of
from agents.evaluation.report.sources import RunGroup

_HEADING = re.compile(r"<h1>([^<]*)</h1>")
_URL = re.compile(r"^URL: (\S+)", re.MULTILINE)
_TAGS = re.compile(r"<[^<>]*>")


class _Visit(NamedTuple):
    """A rollout at a step; `number` is that of the rollout among the episodes of its policy."""

    rollout: Trajectory
    advantages: Sequence[float]
    number: int
    step: int


def policy_of(group: RunGroup) -> str:
    """Return the name under which the rollouts of a group are listed among the episodes."""
    return f"{group.run}, update {group.update}"


def rollouts_by_policy(groups: Sequence[RunGroup]) -> dict[str, list[Trajectory]]:
    """Return the rollouts of all groups, to be listed among the episodes."""
    policies: dict[str, list[Trajectory]] = defaultdict(list)
    for group in groups:
        policies[policy_of(group)] += group.group.trajectories
    return dict(policies)


def trees(groups: Sequence[RunGroup]) -> list[dict[str, Any]]:
    """Return what the report draws of each group: its task, the rewards, and the tree of its states.

    A state is a page and the actions and pages before it. It has `visits`, the mean `value` of the returns, and a branch for each action,
    with the mean of the advantages of its steps; of a branch that no training batch had, the advantage is None.
    """
    numbers: dict[str, int] = defaultdict(int)
    drawn = []
    for group in groups:
        policy, (number, rollouts, advantages) = policy_of(group), group.group
        first = numbers[policy] + 1
        numbers[policy] += len(rollouts)
        visits = [
            _Visit(item, own, first + place, 0) for place, (item, own) in enumerate(zip(rollouts, advantages, strict=True))
        ]
        task = task_of(rollouts[0])
        drawn.append(
            {
                "run": group.run,
                "update": group.update,
                "group": number,
                "policy": policy,
                "task": task.task_id,
                "goal": rollouts[0].goal,
                "template": task.template or task.task_id,
                "rewards": [item.reward for item in rollouts],
                "tree": _state([visit for visit in visits if visit.rollout.steps]),
            }
        )
    return drawn


def _state(visits: Sequence[_Visit]) -> dict[str, Any]:
    """Return the state in which these visits are, with everything that follows."""
    branches: Mapping[str, list[_Visit]] = _split(visits, lambda visit: split_reply(_step(visit).reply)[1])
    return {
        "page": _title(_step(visits[0]).page) if visits else "",
        "visits": len(visits),
        "value": _mean([visit.rollout.reward for visit in visits]),
        "branches": [_branch(action, own) for action, own in sorted(branches.items(), key=lambda item: -len(item[1]))],
    }


def _branch(action: str, visits: Sequence[_Visit]) -> dict[str, Any]:
    ended = [visit for visit in visits if visit.step + 1 == len(visit.rollout.steps)]
    going = [visit._replace(step=visit.step + 1) for visit in visits if visit.step + 1 < len(visit.rollout.steps)]
    return {
        "action": action,
        "error": _step(visits[0]).action_error,
        "visits": len(visits),
        "value": _mean([visit.rollout.reward for visit in visits]),
        "advantage": _mean([visit.advantages[visit.step] for visit in visits if visit.advantages]),
        "at": [[visit.number, visit.step + 1, visit.advantages[visit.step] if visit.advantages else None] for visit in visits],
        "ends": [outcome(visit.rollout) for visit in ended],
        "states": [_state(own) for own in _split(going, lambda visit: _step(visit).page).values()],
    }


def _split(visits: Sequence[_Visit], key: Any) -> dict[str, list[_Visit]]:
    parts: dict[str, list[_Visit]] = defaultdict(list)
    for visit in visits:
        parts[key(visit)].append(visit)
    return parts


def _step(visit: _Visit) -> Any:
    return visit.rollout.steps[visit.step]


def _mean(values: Sequence[float]) -> float | None:
    return round(fmean(values), 4) if values else None


def _title(page: str) -> str:
    """Return the heading and the address of a page, as far as it has them, or its first line."""
    heading, url = _HEADING.search(page), _URL.search(page)
    found = [_TAGS.sub("", heading[1]) if heading else "", url[1] if url else ""]
    return " · ".join(part for part in found if part) or page.partition("\n")[0][:80]
