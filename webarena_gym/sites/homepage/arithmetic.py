"""Plain arithmetic on what was typed."""

import re
from collections.abc import Callable
from decimal import Context, Decimal, DecimalException

OPERATIONS: dict[str, tuple[str, Callable[[Context, Decimal, Decimal], Decimal]]] = {
    "add": ("plus", Context.add),
    "subtract": ("minus", Context.subtract),
    "multiply": ("times", Context.multiply),
    "divide": ("divided by", Context.divide),
}
"""The operations by their value in the form: what they are called and how they are done."""

_DIGITS = 12  # of a result
_LONGEST = 30  # characters of a number
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:,[0-9]{3})*(?:\.[0-9]*)?|\.[0-9]+)")


def read(text: str) -> Decimal | None:
    """Return the number that was typed, or None.

    >>> read(" 1,250.5 "), read("1e9")
    (Decimal('1250.5'), None)
    """
    typed = text.strip()
    return Decimal(typed.replace(",", "")) if len(typed) <= _LONGEST and _NUMBER.fullmatch(typed) and typed.isascii() else None


def calculate(first: Decimal, operation: str, second: Decimal) -> str:
    """Return the result, rounded to twelve digits. Raises ValueError when there is none.

    >>> calculate(Decimal("0.1"), "add", Decimal("0.2")), calculate(Decimal(10), "divide", Decimal(4))
    ('0.3', '2.5')
    """
    if operation not in OPERATIONS:
        raise ValueError("Please choose one of the operations.")
    try:
        result = OPERATIONS[operation][1](Context(prec=_DIGITS), first, second)
    except DecimalException as error:
        raise ValueError("That cannot be divided by zero.") from error
    written = f"{result:f}"
    return written.rstrip("0").rstrip(".") if "." in written else written
