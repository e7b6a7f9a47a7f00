"""The scores of several policies, and the paired difference of each from the first on the tasks of both."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from agents.data.trajectories import Trajectory
from agents.evaluation.intervals import Evaluation, Lift, paired_lift, summarise
from webarena_gym import tasks as task_suite
from webarena_gym.errors import TaskError
from webarena_gym.tasks import Task

UNKNOWN = "unknown"


class Result(NamedTuple):
    """What a policy has reached. `lift` is its difference from the first policy; None where they share too few tasks."""

    name: str
    evaluation: Evaluation
    lift: Lift | None


def summarise_all(policies: Mapping[str, Sequence[Trajectory]]) -> list[Result]:
    """Return the result of each policy, in order."""
    results: list[Result] = []
    for name, episodes in policies.items():
        evaluation = summarise([task_of(episode) for episode in episodes], episodes)
        first = results[0].evaluation.trajectories if results else []
        results.append(Result(name, evaluation, _lift(first, episodes)))
    return results


def task_of(episode: Trajectory) -> Task:
    """Return the task of an episode, drawn again from its id; of one that is in no suite, a stand-in of unknown site and checks."""
    found = find_task(episode.task_id)
    return found or Task(episode.task_id, (UNKNOWN,), "", episode.goal, {"eval_types": [UNKNOWN]})


@cache
def find_task(task_id: str) -> Task | None:
    """Return the task with that id, or None if no template draws it."""
    try:
        return task_suite.find(task_id)
    except TaskError:
        return None


def _lift(first: Sequence[Trajectory], second: Sequence[Trajectory]) -> Lift | None:
    """Compare two policies on the tasks that each has played just once and to an end."""
    before, after = _rewards(first), _rewards(second)
    shared = [task_id for task_id in before if task_id in after]
    if len(shared) < 2:
        return None
    return paired_lift([[before[task_id] for task_id in shared]], [[after[task_id] for task_id in shared]])


def _rewards(episodes: Sequence[Trajectory]) -> dict[str, float]:
    times = Counter(episode.task_id for episode in episodes)
    return {item.task_id: item.reward for item in episodes if item.ending != "failed" and times[item.task_id] == 1}
