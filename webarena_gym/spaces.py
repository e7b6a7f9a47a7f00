"""The texts that an env gives and takes, as Gymnasium spaces: how long they may be, and of which characters they are made."""

import re
from copy import copy, deepcopy
from functools import cache
from typing import Any

from gymnasium.spaces import Space, Text, Tuple

MAX_OBSERVATION = 1_000_000  # characters
MAX_REPLY = 100_000  # characters
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"

_RANGES = ((" ", "~"), ("\xa0", "\ud7ff"), ("\ue000", "\ufffd"), ("\U0001f000", "\U0001faff"))
CHARSET = frozenset(chr(code) for first, last in _RANGES for code in range(ord(first), ord(last) + 1)) | {"\n", "\t", "\r"}
"""What observations and actions are made of; any other character of a page is shown as U+FFFD."""

_OUTSIDE_CHARSET = re.compile(f"[^{''.join(f'{first}-{last}' for first, last in _RANGES)}\n\t\r]")


def text_space(max_length: int) -> Text:
    """Return a space of texts over CHARSET; all spaces of one length share their tables, but not their random numbers."""
    return copy(_tables(max_length))


def batch_space(space: Space[Any], count: int) -> "Tuple[Any]":
    """Return what Gymnasium's function of this name does of a text space, with its large tables shared instead of copied."""
    seeds = deepcopy(space.np_random).integers(0, 10**8, count)
    batch = Tuple([copy(space) for _ in range(count)])
    batch.seed([int(seed) for seed in seeds])
    return batch


def within_charset(text: str) -> str:
    """Return the text with U+FFFD for each character that is not in CHARSET."""
    return _OUTSIDE_CHARSET.sub(_UNKNOWN, text)


@cache
def _tables(max_length: int) -> Text:
    """Return a space to copy: its tables take a tenth of a second to make."""
    return Text(max_length, min_length=0, charset=CHARSET)
