"""A `map` over a number of processes, or in this process where one is enough."""

import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from typing import Any


@contextmanager
def workers(count: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """Give a `map` over that many processes, which keeps the order; one works here. Ctrl-C ends them quietly, with what they do."""
    if count <= 1:
        yield map
        return
    others = set(active_children())
    with ProcessPoolExecutor(count, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        try:
            yield pool.map
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(active_children()) - others:
                process.terminate()
            raise
