"""A crew of threads that wait for a server, so that the caller need not."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")


class Crew(Generic[T]):
    """Runs calls in at most `size` threads, in the order of asking, and hands out results in the order of completion."""

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"a crew of {size} can do nothing; expected at least 1")
        self._executor = ThreadPoolExecutor(size)
        self._done: SimpleQueue[Future[T]] = SimpleQueue()
        self._under_way = 0

    @property
    def is_idle(self) -> bool:
        """Whether every result has been taken."""
        return self._under_way == 0

    def submit(self, call: Callable[[], T]) -> None:
        """Run the call as soon as a thread is free; does not wait."""
        future = self._executor.submit(call)
        self._under_way += 1
        future.add_done_callback(self._done.put)

    def take(self, timeout_s: float | None = None) -> list[T]:
        """Return the results that are there; wait for the first at most `timeout_s` seconds.

        The list is empty when the time is over, and at once when nothing is under way. What a call raised is raised here.
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
        """Drop the calls that have not begun and wait for those that have."""
        self._executor.shutdown(cancel_futures=True)
        self._under_way = 0
