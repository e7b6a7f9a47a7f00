"""Statistics of a set of tasks, in tables with those of the published WebArena-Lite."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from webarena_gym.evaluators.kinds import eval_kinds
from webarena_gym.tasks.task import Task

CHECKS: Mapping[tuple[str, ...], str] = {
    ("answer",): "answer",
    ("content",): "page or state",
    ("content", "place"): "place and page or state",
    ("place",): "place",
    ("answer", "place"): "answer and place",
    ("answer", "content"): "answer and page or state",
    ("answer", "content", "place"): "all three",
}
_STEPS = ("1", "2 to 3", "4 to 6", "7 to 10", "11 to 15", "16 to 20", "more")
_STEP_LIMITS = (1, 3, 6, 10, 15, 20)
_BAR = 40  # characters of the longest bar


class Census(NamedTuple):
    """Statistics of one set of tasks. `sites` counts a task with several sites as "several"; the keys of `checks` are the values of CHECKS."""

    templates: int
    tasks: int
    unachievable: int
    sites: Mapping[str, int]
    checks: Mapping[str, int]


WEBARENA_LITE: Mapping[str, Census] = {
    "test": Census(
        165, 165, 10,
        {"shopping": 45, "shopping_admin": 35, "gitlab": 30, "map": 26, "reddit": 19, "several": 10},
        {"answer": 78, "page or state": 48, "place and page or state": 19, "place": 18, "answer and place": 2},
    ),
    "train": Census(
        168, 647, 25,
        {"gitlab": 150, "shopping_admin": 147, "shopping": 142, "reddit": 87, "map": 83, "several": 38},
        {"answer": 247, "page or state": 234, "place and page or state": 105, "place": 53, "answer and place": 8},
    ),
}  # fmt: skip
"""The published splits, counted in the task files that WebAgent-R1 used."""


def count(tasks: Iterable[Task]) -> Census:
    """Return the statistics of tasks."""
    tasks = list(tasks)
    return Census(
        templates=len({task.template or task.intent_template for task in tasks}),
        tasks=len(tasks),
        unachievable=sum(not task.is_achievable for task in tasks),
        sites=Counter("several" if len(task.sites) > 1 else task.sites[0] for task in tasks),
        checks=Counter(CHECKS[tuple(sorted({eval_kinds()[name].looks_at for name in task.eval_types}))] for task in tasks),
    )


def tables(tasks: Sequence[Task], split: str) -> str:
    """Return the statistics as text tables, with a column for the published split `split` if WebArena-Lite has one."""
    census, published = count(tasks), WEBARENA_LITE.get(split)
    beside = f"WebArena-Lite {split}" if published else ""
    lines = [f"{'':<28}{'here':>12}  {beside:>20}".rstrip()]
    for name in ("templates", "tasks", "unachievable"):
        lines.append(f"{name:<28}{getattr(census, name):>6}{'':6}  {getattr(published, name, ''):>14}".rstrip())
    for title in ("sites", "checks"):
        counts: Mapping[str, int] = getattr(census, title)
        published_counts: Mapping[str, int] = getattr(published, title, {})
        lines += ["", f"by {title.removesuffix('s')}"]
        for name in sorted({*counts, *published_counts}, key=lambda key: (-counts.get(key, 0), key)):
            line = f"  {name:<26}{_share(counts.get(name, 0), census.tasks)}"
            lines.append(f"{line}  {_share(published_counts.get(name, 0), published.tasks):>20}" if published else line)
    lines.append("")
    if lengths := [len(task.solution) for task in tasks]:
        lines.append(f"steps of the solutions: {min(lengths)} to {max(lengths)}, median {median(lengths):g}")
        bins = Counter(bisect_left(_STEP_LIMITS, length) for length in lengths)
        for index, name in enumerate(_STEPS):
            bar = "#" * round(_BAR * bins[index] / max(bins.values()))
            lines.append(f"  {name:<26}{bins[index]:>6}  {bar}".rstrip())
    return "\n".join(lines)


def _share(number: int, total: int) -> str:
    return f"{number:>6}{number / max(total, 1):>6.0%}"
