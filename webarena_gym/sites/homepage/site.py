"""The start page: its `Site`, links to the other sites, a calculator and a scratchpad."""

import re
from collections.abc import Callable
from decimal import Context, Decimal, DecimalException
from functools import partial

from webarena_gym.sites.catalogue import SITES
from webarena_gym.sites.kit.forms import clean
from webarena_gym.sites.kit.requests import Request, Response
from webarena_gym.sites.kit.site import Site

site = Site("homepage", __file__)


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
    """Return the number in a text, or None.

    >>> read(" 1,250.5 "), read("1e9")
    (Decimal('1250.5'), None)
    """
    typed = text.strip()
    return Decimal(typed.replace(",", "")) if len(typed) <= _LONGEST and _NUMBER.fullmatch(typed) and typed.isascii() else None


def calculate(first: Decimal, operation: str, second: Decimal) -> str:
    """Return the result, rounded to twelve digits. Raises ValueError if there is none.

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


LONGEST_NOTE = 10_000  # characters


def _render(template: str, request: Request) -> str:
    """Show the other sites with their URLs on this server, and the user's name and account."""
    others = (entry for entry in SITES.values() if entry.about)
    doors = [(entry, request.sibling(entry.host.partition(".")[0]) + (entry.path or "/")) for entry in others]
    owner = dict(request.db.execute("SELECT * FROM owner").fetchone())
    return request.render(template, doors=doors, owner=owner)


site.get("/")(partial(_render, "home.html"))
site.get("/accounts")(partial(_render, "accounts.html"))


@site.get("/calculator")
def calculator(request: Request) -> str:
    """Apply an operation to two numbers."""
    first, operation, second = (request.args.get(name, "")[:100] for name in ("first", "operation", "second"))
    request.shows({"first": first, "operation": operation, "second": second} if first or second else {})
    result = error = ""
    if first or second:
        numbers = read(first), read(second)
        if numbers[0] is None or numbers[1] is None:
            error = "Please enter two numbers, such as 12 and 3.5."
        else:
            try:
                result = calculate(numbers[0], operation, numbers[1])
            except ValueError as reason:
                error = str(reason)
    values = {"first": first, "operation": operation, "second": second}
    return request.render("calculator.html", operations=OPERATIONS, values=values, result=result, error=error)


@site.form("/scratchpad")
def save_note(request: Request) -> str | Response:
    """Replace the note; an empty text clears the scratchpad."""
    text = clean(request.form.get("text")) if request.method == "POST" else None
    if text is None or len(text) > LONGEST_NOTE:
        note = request.db.execute("SELECT * FROM note").fetchone()
        error = f"The note is too long: {len(text)} characters, {LONGEST_NOTE} at most." if text else ""
        return request.render("scratchpad.html", note=note, text=text, error=error)
    request.db.execute("DELETE FROM note")
    if text:
        request.db.execute("INSERT INTO note VALUES (?, ?)", (text, request.stamp))
    return request.redirect("/scratchpad", "The note was saved." if text else "The scratchpad was cleared.")
