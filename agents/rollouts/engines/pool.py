"""A pool of threads that send requests to a server, so that the caller does not wait."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")


class RequestPool(Generic[T]):
    """Runs requests in at most `size` threads. They start in the order of `submit`; results come in the order of completion."""

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"the size of a request pool is {size}; expected at least 1")
        self._executor = ThreadPoolExecutor(size)
        self._done: SimpleQueue[Future[T]] = SimpleQueue()
        self._under_way = 0

    @property
    def is_idle(self) -> bool:
        """Whether every result has been taken."""
        return self._under_way == 0

    def submit(self, call: Callable[[], T]) -> None:
        """Queue a request and return at once."""
        future = self._executor.submit(call)
        self._under_way += 1
        future.add_done_callback(self._done.put)

    def take(self, timeout_s: float | None = None) -> list[T]:
        """Return the results that are complete; wait for the first at most `timeout_s` seconds.

        The list is empty after a timeout, and at once when no request is under way. An exception of a request is raised here.
        """
        results: list[T] = []
        while self._under_way:
            try:
                future = self._done.get(block=not results, timeout=timeout_s)
            except Empty:
                break
            self._under_way -= 1
            results.append(future.result())
        return results

    def close(self) -> None:
        """Cancel the requests that have not started and wait for the others."""
        self._executor.shutdown(cancel_futures=True)
        self._under_way = 0
