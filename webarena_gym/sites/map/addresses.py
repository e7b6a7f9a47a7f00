"""Addresses: every street is numbered from 0 at its beginning to NUMBERS at its end, so that a number is a place on it."""

import re
from typing import NamedTuple

NUMBERS = 2400

_ADDRESS = re.compile(r"#?(\d{1,6})\s+(.+)")


class Address(NamedTuple):
    """What a typed address says."""

    number: int
    street: str


def read_address(text: str) -> Address | None:
    """Return the number and the street of a text such as '12 Oak Street', or None.

    >>> read_address("12 Oak Street"), read_address("Oak Street")
    (Address(number=12, street='Oak Street'), None)
    """
    match = _ADDRESS.fullmatch(text.strip())
    return Address(int(match[1]), match[2].strip()) if match else None


def metres_of(number: int, length: int) -> int:
    """Return how far along a street of that length a house number is."""
    return number * length // NUMBERS


def number_at(metres: int, length: int) -> int:
    """Return the house number that far along a street of that length.

    >>> number_at(450, 900), number_at(0, 900), number_at(900, 900)
    (1200, 1, 2400)
    """
    return min(NUMBERS, max(1, -(-metres * NUMBERS // length)))
