"""Timers and progress messages of the benchmarks."""

import sys
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, NamedTuple


class Took(NamedTuple):
    """Duration of some work."""

    cpu_s: float
    wall_s: float


def timed(work: Callable[[], Any]) -> Took:
    """Do the work and return how long it took."""
    cpu_s, wall_s = time.process_time(), time.perf_counter()
    work()
    return Took(time.process_time() - cpu_s, time.perf_counter() - wall_s)


def middle(values: Sequence[float]) -> float | None:
    """Return the median, rounded; None of nothing."""
    return round(median(values), 3) if values else None


def say(what: str) -> None:
    """Tell how far the run is, beside the result."""
    print(what, file=sys.stderr, flush=True)
