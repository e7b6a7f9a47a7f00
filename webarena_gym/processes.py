"""Worker processes that end with their parent: a parallel `map`, and the thread in each worker that watches the parent."""

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
    """Return a context manager with a parallel `map`, which keeps the order of its results.

    Ctrl-C and errors end the worker processes without tracebacks. The processes also end when this process ends or is killed.

    Args:
        count: number of worker processes; with 1, the calls run in this process.

    """
    if count <= 1:
        yield map
        return
    earlier_children = set(active_children())
    with ProcessPoolExecutor(count, get_context("spawn"), work_for_parent) as pool:

        def parallel_map(function: Callable[..., Any], *iterables: Iterable[Any]) -> Iterable[Any]:
            with _interrupts_blocked():
                futures = [pool.submit(function, *arguments) for arguments in zip(*iterables, strict=False)]
            # `pool.map` cancels futures after an error, and the pool's thread raises if processes end meanwhile.
            return (future.result() for future in futures)

        try:
            yield parallel_map
        except BaseException:
            for process in set(active_children()) - earlier_children:
                process.terminate()
            raise


def work_for_parent(grace_s: float = 0.0) -> None:
    """Make this process a worker: it ignores Ctrl-C, which its parent handles, and exits at most `grace_s` seconds after its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end_with_parent() -> None:
        parent = parent_process()
        assert parent is not None
        wait([parent.sentinel])
        threading.main_thread().join(grace_s)
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Block Ctrl-C in this process and in processes that start meanwhile, so that only this one handles it, and ends them."""
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
