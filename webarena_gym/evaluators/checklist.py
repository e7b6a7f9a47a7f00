"""Checklists: the reward of an episode by items, in the manner of CM2 (checklist rewards for agents with tools), and without a judge.

The items of a task follow from its reference solution: the pages that it opens, the rows that it changes, and the success of the episode. A
page is satisfied when the agent opens it, after the pages before it. A change is satisfied when the databases contain it with equal values.
Success satisfies all items, since a task may be solved on other paths and with other values than those of the solution.
"""

from collections.abc import Sequence
from math import fsum
from typing import NamedTuple, TypedDict
from urllib.parse import urldefrag

from webarena_gym.changes import Change

_SUCCESS_WEIGHT = 0.5
"""The weight of the success of an episode. All other items share the rest equally."""

Satisfied = tuple[int | None, ...]
"""The number of the step at which each item was first satisfied, None for items that are not."""


class ChecklistInfo(TypedDict):
    """One item, as in `info["checklist"]`."""

    item: str
    """description of the item"""
    weight: float
    """weight of the item; those of all items sum to 1"""
    after: list[int]
    """indices of items that must be satisfied before this one"""
    satisfied_at: int | None
    """number of the step at which the item was satisfied; None if it is not"""


class ChecklistItem(NamedTuple):
    """One item: a page to open, a row to change, or the success of the episode, which has neither."""

    weight: float
    after: tuple[int, ...] = ()
    url: str | None = None
    change: Change | None = None

    def __str__(self) -> str:
        return "solve the task" if self.url is None and self.change is None else str(self.change or f"open {self.url}")


def build_checklist(pages: Sequence[str], changes: Sequence[Change]) -> tuple[ChecklistItem, ...]:
    """Return the items of a task: the pages and changes of its reference solution, in order, and success.

    >>> [(str(item), item.weight, item.after) for item in build_checklist(["http://shop.test/a", "http://shop.test/b"], [])]
    [('open http://shop.test/a', 0.25, ()), ('open http://shop.test/b', 0.25, (0,)), ('solve the task', 0.5, ())]
    """
    urls = list(dict.fromkeys(urldefrag(page).url for page in pages))
    count = len(urls) + len(changes)
    weight = (1 - _SUCCESS_WEIGHT) / max(count, 1)
    opened = (ChecklistItem(weight, (index - 1,) if index else (), url=url) for index, url in enumerate(urls))
    changed = (ChecklistItem(weight, change=change) for change in changes)
    success = ChecklistItem(_SUCCESS_WEIGHT if count else 1.0, tuple(range(len(urls), count)))
    return (*opened, *changed, success)


def update(
    items: Sequence[ChecklistItem], satisfied: Satisfied, *, step: int, url: str, changes: Sequence[Change], is_solved: bool
) -> Satisfied:
    """Return `satisfied` after a step.

    Args:
        items: the items.
        satisfied: the steps at which items were satisfied before.
        step: number of the step.
        url: URL of the current page.
        changes: net changes of the episode so far.
        is_solved: True at the end of an episode that has solved its task.

    """
    steps = list(satisfied)
    url = urldefrag(url).url
    for index, item in enumerate(items):
        is_met = (
            item.url == url
            if item.url is not None
            else item.change is not None and any(_equals(change, item.change) for change in changes)
        )
        is_next = all(steps[before] is not None for before in item.after)
        if steps[index] is None and (is_solved or (is_met and is_next)):
            steps[index] = step
    return tuple(steps)


def completion(items: Sequence[ChecklistItem], satisfied: Satisfied) -> float:
    """Return the sum of the weights of satisfied items, from 0 to 1."""
    if None not in satisfied:
        return 1.0
    return fsum(item.weight for item, step in zip(items, satisfied, strict=True) if step is not None)


def f1(completed: float, *, steps: int, needed: int) -> float:
    """Return the F1 value of the completed part of a checklist (recall) and the economy of steps (precision), from 0 to 1.

    The economy is the number of steps that the reference solution needs for the completed part, divided by the number of steps, and at most 1.
    In ASTRA (Tian et al., arXiv 2601.21558, equations 30 and 31), recall is the part of the subtasks that were solved, and precision is their
    number divided by the number of calls. Its subtasks are the steps of the reference solution here, and its calls all steps.

    Args:
        completed: completed part, from 0 to 1.
        steps: number of steps of the episode.
        needed: number of steps of the reference solution; 0 if there is none, in which case the economy is 1.

    Example:
        >>> f1(1.0, steps=4, needed=4), f1(1.0, steps=8, needed=4), f1(0.5, steps=2, needed=4), f1(0.0, steps=1, needed=4)
        (1.0, 0.6666666666666666, 0.6666666666666666, 0.0)

    """
    economy = min(1.0, completed * needed / max(steps, 1)) if needed else 1.0
    return 2 * completed * economy / (completed + economy) if completed else 0.0


def describe(items: Sequence[ChecklistItem], satisfied: Satisfied) -> list[ChecklistInfo]:
    """Return the items as in `info["checklist"]`."""
    return [
        {"item": str(item), "weight": item.weight, "after": [*item.after], "satisfied_at": step}
        for item, step in zip(items, satisfied, strict=True)
    ]


def _equals(change: Change, required: Change) -> bool:
    """Return True if a change has the result of a required one: an equal row, or equal values in the changed columns of the same row."""
    if (change.site, change.table) != (required.site, required.table):
        return False
    if required.before is None:
        return change.before is None and change.after == required.after
    if change.key != required.key or change.before is None or (change.after is None) != (required.after is None):
        return False
    return required.after is None or all(
        (change.after or {}).get(column) == required.after[column] for column in required.columns
    )
