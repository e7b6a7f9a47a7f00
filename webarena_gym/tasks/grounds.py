"""Derivations of answers that no page states: declared by its template, and proved by the audit."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from webarena_gym.errors import TaskError

Operation = Literal["sum", "difference", "count", "joined", "says", "lacks", "pictured"]
"""The derivation of an answer from what pages state.

- "sum": of amounts, numbers or durations;
- "difference": between the sum of the operands and that of what is taken `away`;
- "count": of different things, each of which a page names;
- "joined": of texts, with words between them that the intent has;
- "says": yes, no or N/A, since a page says something in words of its own, such as "In stock" or that nothing was found;
- "lacks": no or N/A, since pages that state the operands do not state what is `away`;
- "pictured": pictures show it, each named by what its address says between /pictures/ and .png, and no text tells it.
"""


@dataclass(frozen=True, slots=True)
class Ground:
    """An operation and its operands, each a text that stands on a page which the solution saw."""

    operation: Operation
    operands: tuple[str, ...]
    away: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the ground as it stands in a task file."""
        return {"operation": self.operation, "operands": list(self.operands), "away": list(self.away)}


Grounds = Mapping[str, Ground]
"""Grounds by the part of the answer that they prove, or by the whole answer."""


def _of(operation: Operation) -> Callable[..., Ground]:
    return lambda *operands: Ground(operation, operands)


sum_of, number_of, joined, says, pictured = _of("sum"), _of("count"), _of("joined"), _of("says"), _of("pictured")
"""Grounds of the operands that they are called with."""


def difference_of(operands: Iterable[str], away: Iterable[str]) -> Ground:
    """Return the difference between two sums."""
    return Ground("difference", tuple(operands), tuple(away))


def lacks(operands: Iterable[str], away: Iterable[str]) -> Ground:
    """Return what is on a page that lacks what was asked for, so that the answer is no or N/A."""
    return Ground("lacks", tuple(operands), tuple(away))


def parse_grounds(record: Any, where: str) -> Grounds:
    """Read the grounds of a task file. Raises TaskError."""
    if not isinstance(record, dict):
        raise TaskError(f"{where}: grounds is {record!r}; expected an object")
    found = {}
    for piece, ground in record.items():
        place = f"{where}, the ground of {piece!r}"
        if not isinstance(ground, dict) or not ground.keys() <= {"operation", "operands", "away"}:
            raise TaskError(f"{place}: {str(ground)[:200]}; expected an object with operation, operands and away")
        operation, known = ground.get("operation"), get_args(Operation)
        if operation not in known:
            raise TaskError(f"{place}: operation is {operation!r}; expected one of {', '.join(known)}")
        texts = [ground.get("operands"), ground.get("away", [])]
        if not all(isinstance(value, list) and all(isinstance(item, str) for item in value) for value in texts):
            raise TaskError(f"{place}: operands and away are {texts}; expected lists of texts")
        found[piece] = Ground(ground["operation"], *map(tuple, texts))
    return found
