"""Independent generators of right and wrong answers, written without sight of the judge that they test."""

from collections.abc import Mapping
from typing import Any, NamedTuple

LETTERS = ("alpha", "beta", "gamma")
"""The modules of this package, each by another author, with a function `generate(rng, task)` that yields samples."""


class Sample(NamedTuple):
    """An answer, its label, and the kind of mistake or of told form."""

    answer: str
    is_right: bool
    kind: str


class TaskView(NamedTuple):
    """The parts of a task that a generator may use; `others` are the reference answers of other draws of its template."""

    goal: str
    reference: str
    form: Mapping[str, Any]
    others: tuple[str, ...]
