"""Rows of benchmarks that compare agents on the same tasks: success, and the difference from the first row."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from agents.evaluation.intervals import paired_lift, pooled
from benchmarks.playing import some
from webarena_gym import tasks as task_suite
from webarena_gym.tasks import Task


class Measured(NamedTuple):
    """An agent, or what was trained with several seeds, and the reward of each task for each seed."""

    title: str
    rewards: Sequence[Sequence[float]]
    spent: Mapping[str, float] = {}


def rows(measured: Sequence[Measured], tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """Return a row for each agent; those of one seed are compared with each seed of the first agent, and the other way round."""
    first = measured[0].rewards
    found = []
    for item in measured:
        seeds = max(len(first), len(item.rewards))
        before, after = (list(part) * (seeds if len(part) == 1 else 1) for part in (first, item.rewards))
        lift = paired_lift(before, after, templates=[task.template for task in tasks])
        found.append({
            "title": item.title,
            **pooled(item.rewards)._asdict(),
            "lift": lift._asdict(),
            "seeds": len(item.rewards),
            "tasks": len(tasks),
            **{name: round(value, 3) for name, value in item.spent.items()},
        })  # fmt: skip
    return found


def print_rows(found: Sequence[Mapping[str, Any]]) -> None:
    """Print a line for each row."""
    for row in found:
        success, low, high = (100 * row[name] for name in ("success", "low", "high"))
        lift = 100 * row["lift"]["lift"]
        print(f"{row['title']:<48}{success:5.1f} %   ({low:.0f} to {high:.0f})   {lift:+5.1f}   n = {row['n']}")


def suite_tasks(split: str, worlds: Sequence[int], limit: int | None) -> list[Task]:
    """Return the tasks of a split, and of its templates in these worlds; of all of them at most `limit`, at equal distances."""
    tasks = [*task_suite.load(split), *(task for world in worlds for task in task_suite.load(split, world))]
    return some(tasks, limit)
