"""Random draws that are the same on every Python: all are made of `Random.random()`, the one method that promises to stay."""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """A named stream of random draws; equal names give equal draws."""

    def __init__(self, name: str) -> None:
        self._random = random.Random(name).random

    def below(self, limit: int) -> int:
        """Return an integer from 0 to limit - 1."""
        return int(self._random() * limit)

    def between(self, low: int, high: int) -> int:
        """Return an integer from low to high, both possible."""
        return low + self.below(high - low + 1)

    def chance(self, percent: float) -> bool:
        """Return true in `percent` of a hundred cases."""
        return self._random() * 100 < percent

    def pick(self, items: Sequence[T]) -> T:
        """Return one of the items."""
        return items[self.below(len(items))]

    def weigh(self, items: Sequence[T], weights: Sequence[int]) -> T:
        """Return one of the items, each as often as its weight says."""
        left = self.below(sum(weights))
        for item, weight in zip(items, weights, strict=True):
            left -= weight
            if left < 0:
                return item
        raise ValueError(f"weights must be positive integers: {list(weights)}")

    def some(self, items: Sequence[T], count: int) -> list[T]:
        """Return `count` different items in random order, or all of them when there are fewer."""
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in range(min(count, len(rest)))]

    def digits(self, count: int) -> str:
        """Return a string of that many digits."""
        return "".join(str(self.below(10)) for _ in range(count))
