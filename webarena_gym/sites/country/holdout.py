"""Which worlds are for training and which are held out, and how a pool of names is parted between the two.

Worlds from `HELD_OUT_FROM` on are held out: what a task can turn on there (names of people, places, things, titles) never
occurs in a world for training. Invented words (`words`) differ from seed to seed anyway; lists of real words are parted here.
"""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

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
