"""Random draws, the clock, the scale and the held-out share of a world.

Draws are the same on every Python: all are made of `Random.random()`, the one method that promises to stay.
"""

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal, TypeVar

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


def moment(seed: int) -> datetime:
    """Return the time that a world has: working hours of a weekday in 2022 to 2024, to the second, without a time zone."""
    dice = Dice(f"clock/{seed}")
    day = datetime(2022, 1, 3) + timedelta(weeks=dice.below(155), days=dice.below(5))
    return day + timedelta(seconds=dice.between(10 * 3600, 17 * 3600))


HELD_OUT_FROM = 1000
_ONE_IN = 3


def is_held_out(seed: int) -> bool:
    """Say whether a world is kept for evaluation.

    >>> is_held_out(999), is_held_out(1000)
    (False, True)
    """
    return seed >= HELD_OUT_FROM


def share(items: Sequence[T], seed: int) -> list[T]:
    """Return the items that a world of that seed may use: every third when it is held out, else the others.

    >>> share("abcdef", 1), share("abcdef", 1000)
    (['a', 'b', 'd', 'e'], ['c', 'f'])
    """
    return [item for index, item in enumerate(items) if (index % _ONE_IN == _ONE_IN - 1) == is_held_out(seed)]


Scale = Literal["standard", "large"]
"""The suite's own worlds are standard; large ones have some ten times as much of everything, and ranked search."""

NO_AGGREGATES = ("aggregates", "none")
"""The row of a site's table `world` which says that sums and counts are not shown."""


def settings(scale: Scale) -> list[tuple[str, str]]:
    """Return the rows of a site's table `world` that follow from the scale."""
    return [NO_AGGREGATES] if scale == "large" else []
