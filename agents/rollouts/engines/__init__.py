"""Engines sample responses of a language model, in this process or on a server, behind one Protocol."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from agents.data.trajectories import Ids
from agents.rollouts.constraints import Constraint

if TYPE_CHECKING:
    from transformers import PreTrainedModel


T = TypeVar("T")


class Generation(NamedTuple):
    """One sampled response."""

    response_ids: Ids  # with the end token, unless it was cut off
    logprobs: tuple[float, ...]  # log-probability of each token under the sampling distribution, that of the allowed tokens
    finished: bool  # False: cut off at the longest length
    policy_version: int = 0  # of the parameters that sampled the first token


class Completion(NamedTuple):
    """The result of one request: a generation, or why there is none."""

    request_id: int
    generation: Generation | None
    failure: str = ""


class Engine(Protocol):
    """Samples responses to prompts of token ids. Many requests run at once; each result is returned as soon as it is complete."""

    @property
    def policy_version(self) -> int:
        """The version of the parameters that sample now."""
        ...

    @property
    def is_idle(self) -> bool:
        """True once the completion of every request has been taken."""
        ...

    def submit(self, request_id: int, prompt_ids: Ids, seed: int, constraint: Constraint | None = None) -> None:
        """Request a response to a prompt. It depends on these arguments and the parameters, and on no other request.

        With a constraint, only tokens that it allows are sampled.
        """
        ...

    def take(self, timeout_s: float | None = None) -> list[Completion]:
        """Return what is complete; wait for the first completion at most `timeout_s` seconds (0: do one slice of work).

        The list is empty after a timeout, and at once when no request is under way. A request that failed for reasons other than
        the policy has a completion with its failure; no exception is raised for it.
        """
        ...

    def load(self, model: "PreTrainedModel", version: int) -> None:
        """Sample with the parameters of this model from now on. Nothing that was cached for older parameters is used again."""
        ...

    def close(self) -> None:
        """Release threads, connections and memory."""
        ...


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
        """True once every result has been taken."""
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
