"""Derivations of answers that no page states: declared by its template, and proved by the audit."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from webarena_gym.errors import TaskError

Operation = Literal["sum", "difference", "count", "joined", "says", "lacks"]
"""The derivation of an answer from what pages state.

- "sum": of amounts, numbers or durations;
- "difference": between the sum of the operands and that of what is taken `away`;
- "count": of different things, each of which a page names;
- "joined": of texts, with words between them that the intent has;
- "says": yes, no or N/A, since a page says something in words of its own, such as "In stock" or that nothing was found;
- "lacks": no or N/A, since pages that state the operands do not state what is `away`.
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


def sum_of(*operands: str) -> Ground:
    """Return the sum of amounts, numbers or durations."""
    return Ground("sum", operands)


def difference_of(operands: Iterable[str], away: Iterable[str]) -> Ground:
    """Return the difference between two sums."""
    return Ground("difference", tuple(operands), tuple(away))


def number_of(*operands: str) -> Ground:
    """Return the number of different things."""
    return Ground("count", operands)


def joined(*operands: str) -> Ground:
    """Return texts, with words between them that the intent has."""
    return Ground("joined", operands)


def says(*operands: str) -> Ground:
    """Return what a page says that means yes, no or N/A."""
    return Ground("says", operands)


def lacks(operands: Iterable[str], away: Iterable[str]) -> Ground:
    """Return what is on a page that lacks what was asked for, so that the answer is no or N/A."""
    return Ground("lacks", tuple(operands), tuple(away))


def parse_grounds(record: Any, where: str) -> Grounds:
    """Read the grounds of a task file. Raises TaskError."""
    if not isinstance(record, dict):
        raise TaskError(f"{where}: grounds is {record!r}; expected an object")
    return {piece: _parse(ground, f"{where}, the ground of {piece!r}") for piece, ground in record.items()}


def _parse(record: Any, where: str) -> Ground:
    if not isinstance(record, dict) or not record.keys() <= {"operation", "operands", "away"}:
        raise TaskError(f"{where}: {str(record)[:200]}; expected an object with operation, operands and away")
    if record.get("operation") not in get_args(Operation):
        raise TaskError(f"{where}: operation is {record.get('operation')!r}; expected one of {', '.join(get_args(Operation))}")
    texts = [record.get("operands"), record.get("away", [])]
    if not all(isinstance(value, list) and all(isinstance(item, str) for item in value) for value in texts):
        raise TaskError(f"{where}: operands and away are {texts}; expected lists of texts")
    return Ground(record["operation"], *map(tuple, texts))
