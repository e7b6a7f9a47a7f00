"""A `map` over a number of processes, or in this process where one is enough."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any


@contextmanager
def workers(count: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """Give a `map` over that many processes, which keeps the order; one works here."""
    if count <= 1:
        yield map
    else:
        with ProcessPoolExecutor(count, get_context("spawn")) as pool:
            yield pool.map
