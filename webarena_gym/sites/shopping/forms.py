"""What only the shop reads from forms, and how it says no."""

import re

from webarena_gym.errors import FormError

_AMOUNT = re.compile(r"\$?([0-9]{1,9})(?:\.([0-9]{1,2})[0-9]*)?")


class RefusedError(FormError):
    """The shop cannot do what was asked; the text is for the customer."""


def cents(value: str | None) -> int | None:
    """Return an amount of money that was typed, in cents, or None.

    >>> cents("12.5"), cents("$3"), cents("free")
    (1250, 300, None)
    """
    match = _AMOUNT.fullmatch((value or "").strip().replace(",", ""))
    return int(match[1]) * 100 + int((match[2] or "").ljust(2, "0")) if match else None
