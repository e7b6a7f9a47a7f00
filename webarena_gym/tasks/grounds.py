"""Derivations of answers that no page states: declared by templates, and verified by the audit."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from webarena_gym.errors import TaskError

Operation = Literal["sum", "difference", "count", "joined", "says", "lacks", "pictured"]
"""The derivation of an answer from the texts of pages.

- `sum`: the sum of amounts, numbers or durations;
- `difference`: the sum of the operands minus the sum of `away`;
- `count`: the number of different items, each of which a page names;
- `joined`: texts, joined by words of the intent;
- `says`: yes, no or N/A, from other words on a page, such as "In stock" or a message that nothing was found;
- `lacks`: no or N/A, because pages with the operands do not contain `away`;
- `pictured`: content of pictures, each named by the part of its URL between /pictures/ and .png, which no text contains.
"""


@dataclass(frozen=True, slots=True)
class Ground:
    """An operation and its operands, each a text on a page of the solution.

    Attributes:
        operation: how the part follows from the operands.
        operands: texts on pages of the solution.
        away: texts of the subtrahends (`difference`), or texts that the pages must not contain (`lacks`); () for other operations.

    """

    operation: Operation
    operands: tuple[str, ...]
    away: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the ground in the format of a task file."""
        return {"operation": self.operation, "operands": list(self.operands), "away": list(self.away)}


Grounds = Mapping[str, Ground]
"""Grounds by the part of the answer that they derive, or by the whole answer."""


def _of(operation: Operation) -> Callable[..., Ground]:
    return lambda *operands: Ground(operation, operands)


sum_of, number_of, joined, says, pictured = _of("sum"), _of("count"), _of("joined"), _of("says"), _of("pictured")
"""Functions that return a ground with their arguments as operands."""


def difference_of(operands: Iterable[str], away: Iterable[str]) -> Ground:
    """Return the difference between two sums."""
    return Ground("difference", tuple(operands), tuple(away))


def lacks(operands: Iterable[str], away: Iterable[str]) -> Ground:
    """Return the ground of the answer no or N/A: pages with the operands do not contain `away`."""
    return Ground("lacks", tuple(operands), tuple(away))


def parse_grounds(record: object, where: str) -> Grounds:
    """Read the grounds of a task file. Raises TaskError."""
    if not isinstance(record, dict):
        raise TaskError(f"{where}: grounds is {record!r}; expected an object")
    grounds = {}
    for piece, ground in record.items():
        location = f"{where}, the ground of {piece!r}"
        if not isinstance(ground, dict) or not ground.keys() <= {"operation", "operands", "away"}:
            raise TaskError(f"{location}: {str(ground)[:200]}; expected an object with operation, operands and away")
        operation, operations = ground.get("operation"), get_args(Operation)
        if operation not in operations:
            raise TaskError(f"{location}: operation is {operation!r}; expected one of {', '.join(operations)}")
        texts = [ground.get("operands"), ground.get("away", [])]
        if not all(isinstance(value, list) and all(isinstance(item, str) for item in value) for value in texts):
            raise TaskError(f"{location}: operands and away are {texts}; expected lists of texts")
        grounds[piece] = Ground(ground["operation"], *map(tuple, texts))
    return grounds
