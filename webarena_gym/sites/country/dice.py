"""Random draws, the clock, the scale and the held-out share of a world.

Draws are the same in every version of Python, because they use only `Random.random()`, whose sequence Python guarantees.
"""

import random
from bisect import bisect
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import accumulate
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
        """Return True with a probability of `percent` / 100."""
        return self._random() * 100 < percent

    def pick(self, items: Sequence[T]) -> T:
        """Return one of the items."""
        return items[self.below(len(items))]

    def weigh(self, items: Sequence[T], weights: Sequence[int]) -> T:
        """Return one of the items, drawn with relative weights.

        Raises:
            ValueError: for a negative weight, weights that are all 0, or another number of weights than items.

        """
        if len(items) != len(weights):
            raise ValueError(f"there are {len(weights)} weights for {len(items)} items; expected one weight for each item")
        limits = list(accumulate(weights))
        if min(weights, default=0) < 0 or not any(weights):
            raise ValueError(f"weights are {list(weights)}; expected no negative weight, and at least one positive weight")
        return items[bisect(limits, self.below(limits[-1]))]

    def some(self, items: Sequence[T], count: int) -> list[T]:
        """Return `count` different items in random order, or all items if there are fewer."""
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in range(min(count, len(rest)))]

    def digits(self, count: int) -> str:
        """Return a string of `count` random digits."""
        return "".join(str(self.below(10)) for _ in range(count))


def moment(seed: int) -> datetime:
    """Return the current time of a world: a weekday from 2022 to 2024 between 10:00 and 17:00, in seconds, without a time zone."""
    dice = Dice(f"clock/{seed}")
    day = datetime(2022, 1, 3) + timedelta(weeks=dice.below(155), days=dice.below(5))
    return day + timedelta(seconds=dice.between(10 * 3600, 17 * 3600))


HELD_OUT_FROM = 1000
_ONE_IN = 3


def is_held_out(seed: int) -> bool:
    """Return True if a world is reserved for evaluation.

    >>> is_held_out(999), is_held_out(1000)
    (False, True)
    """
    return seed >= HELD_OUT_FROM


def share(items: Sequence[T], seed: int) -> list[T]:
    """Return the items that the world of a seed may use: every third item for held-out worlds, the other items for training worlds.

    >>> share("abcdef", 1), share("abcdef", 1000)
    (['a', 'b', 'd', 'e'], ['c', 'f'])
    """
    return [item for index, item in enumerate(items) if (index % _ONE_IN == _ONE_IN - 1) == is_held_out(seed)]


Scale = Literal["standard", "large"]
"""The bundled tasks but those of the hard split use standard worlds. Large worlds have about ten times as many rows, and ranked search."""

NO_AGGREGATES = ("aggregates", "none")
"""The row of a site's table `world` that hides sums and counts on its pages."""


def settings(scale: Scale) -> list[tuple[str, str]]:
    """Return the rows of a site's table `world` that depend on the scale."""
    return [NO_AGGREGATES] if scale == "large" else []
