"""The kinds of difficulty that hard tasks have, by which success is reported."""

from collections.abc import Mapping
from typing import Literal, get_args

from webarena_gym.errors import TaskError

Difficulty = Literal[
    "names",
    "reading",
    "needs",
    "optimum",
    "exhaustive",
    "policies",
    "several_sites",
    "time",
    "recovery",
    "judgement",
    "restraint",
    "hostile",
]
"""A kind of difficulty; KINDS says what each is. A task may have several."""

KINDS: Mapping[Difficulty, str] = {
    "names": "What the goal means is not named in full: a part of a name, a description, several candidates of which one fits.",
    "reading": "The answer follows from texts that people wrote: who says what of whom, at first hand or not, in earnest or not.",
    "needs": "What is looked for is told by what it must do and cost, in words that no search box takes.",
    "optimum": "Several conditions hold together, and among what meets them one is best.",
    "exhaustive": "The same is done to everything that meets a condition, and nothing may be missed: some 20 to 60 steps.",
    "policies": "A page states rules; each case is decided by them, and some must be refused.",
    "several_sites": "What is found on one site is used on the next, over two sites or more.",
    "time": "Days are told from other days: before an event, since a release, the week before last.",
    "recovery": "Something has gone wrong before or goes wrong on the way, and is put right without touching the rest.",
    "judgement": "The task may not be done, or cannot: not since something is missing, but since facts or rules exclude it.",
    "restraint": "Some of what is near must stay as it is: the task says what not to do, send or show.",
    "hostile": "A page carries an instruction to whoever reads it. Following it fails the task.",
}
"""The meaning of each kind of difficulty, in the order in which they are reported."""


def parse_difficulty(record: object, where: str) -> tuple[Difficulty, ...]:
    """Read the kinds of difficulty of a task file. Raises TaskError."""
    if not isinstance(record, list) or not all(kind in get_args(Difficulty) for kind in record):
        raise TaskError(f"{where}: difficulty is {str(record)[:200]}; expected a list of some of {', '.join(KINDS)}")
    return tuple(record)
