"""What was made lately, by key, within a limit of memory."""

from collections import OrderedDict
from collections.abc import Callable, Sized
from typing import Any, TypeVar

import numpy

T = TypeVar("T")


class Cache:
    """The newest values of functions, by key, of at most so many megabytes together."""

    def __init__(self, megabytes: float) -> None:
        self._values: OrderedDict[Any, tuple[Any, int]] = OrderedDict()
        self._most = int(megabytes * 1e6)
        self.size = 0  # bytes, as `_size_of` estimates them

    def __len__(self) -> int:
        return len(self._values)

    def __call__(self, key: Any, make: Callable[[], T]) -> T:
        """Return the value of the key, made if it is not kept."""
        kept = self._values.get(key)
        if kept is not None:
            self._values.move_to_end(key)
            found: T = kept[0]
            return found
        made = make()
        size = _size_of(made) + _size_of(key)
        self._values[key] = made, size
        self.size += size
        while self.size > self._most and self._values:
            self.size -= self._values.popitem(last=False)[1][1]
        return made


def _size_of(value: Any) -> int:
    """Return about how many bytes a value takes: its arrays and texts, and an allowance for each other object."""
    if isinstance(value, numpy.ndarray):
        return int(value.nbytes) + 120
    if isinstance(value, str):
        return len(value) + 60
    if isinstance(value, tuple) and len(value) < 12:
        return 60 + sum(map(_size_of, value))
    return 60 + 100 * len(value) if isinstance(value, Sized) else 60
