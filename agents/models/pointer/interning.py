"""Texts as numbers, and the distinct ones of many."""

from collections.abc import Iterable
from typing import Any

import numpy
from numpy.typing import NDArray

Ids = NDArray[numpy.int32]


class Texts:
    """Numbers for texts: each text has one, in the order in which they were first seen."""

    def __init__(self) -> None:
        self.known: list[str] = [""]
        self._numbers: dict[str, int] = {"": 0}

    def __call__(self, text: str) -> int:
        """Return the number of a text."""
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.known)
            self.known.append(text)
        return number

    def all(self, texts: Iterable[str]) -> list[int]:
        """Return the numbers of texts."""
        known = self._numbers.get
        return [self(text) if (number := known(text)) is None else number for text in texts]


def distinct(numbers: NDArray[Any], limit: int) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]:
    """Return the distinct numbers in the order of their first appearance, and the place of each number among them.

    All numbers are less than `limit`.
    """
    place = numpy.empty(limit, numpy.int64)  # only what the numbers name is written and read
    order = numpy.arange(len(numbers))
    place[numbers[::-1]] = order[::-1]  # of equal indices, the last assignment remains
    unique = numbers[place[numbers] == order]
    place[unique] = order[: len(unique)]
    return unique.astype(numpy.int64), place[numbers]
