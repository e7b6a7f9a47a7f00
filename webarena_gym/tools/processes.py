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

        def deal(function: Callable[..., Any], *iterables: Iterable[Any]) -> Iterable[Any]:
            with _held_back():
                return pool.map(function, *iterables)

        try:
            yield deal
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(active_children()) - others:
                process.terminate()
            raise


@contextmanager
def _held_back() -> Iterator[None]:
    """Hold Ctrl-C back, also from processes that start meanwhile: it is for this one, which ends them."""
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    usual = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, usual)
