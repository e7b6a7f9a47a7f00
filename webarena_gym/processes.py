"""Processes that work for this one and end with it: a `map` over several, and the watch that each worker keeps."""

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait
from typing import Any


@contextmanager
def workers(count: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """Give a `map` over that many processes, which keeps the order; one works here.

    Ctrl-C and errors end the processes quietly, with what they do, and so does the end of this process, however it comes.
    """
    if count <= 1:
        yield map
        return
    others = set(active_children())
    with ProcessPoolExecutor(count, get_context("spawn"), work_for_parent) as pool:

        def deal(function: Callable[..., Any], *iterables: Iterable[Any]) -> Iterable[Any]:
            with _held_back():
                futures = [pool.submit(function, *arguments) for arguments in zip(*iterables, strict=False)]
            # Unlike by the pool's own map, none is cancelled, which its thread cannot bear when processes end.
            return (future.result() for future in futures)

        try:
            yield deal
        except BaseException:
            for process in set(active_children()) - others:
                process.terminate()
            raise


def work_for_parent(grace_s: float = 0.0) -> None:
    """Make this process a worker: Ctrl-C is for its parent, and it ends at most so many seconds after its parent, however that ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end_with_parent() -> None:
        parent = parent_process()
        assert parent is not None
        wait([parent.sentinel])
        threading.main_thread().join(grace_s)
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


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
