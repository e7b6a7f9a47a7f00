"""Engines: sampling of a language model's responses, in this process or on a server, behind one Protocol."""

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
    """One sampled response.

    Attributes:
        response_ids: the sampled token ids, with the stop token unless the response is truncated.
        logprobs: log-probability of each token under the sampling distribution over the allowed tokens.
        finished: False if the response is truncated at the maximum length.
        policy_version: version of the parameters that sampled the first token.

    """

    response_ids: Ids
    logprobs: tuple[float, ...]
    finished: bool
    policy_version: int = 0


class Completion(NamedTuple):
    """The result of one request: a generation, or None and the reason of the failure.

    Attributes:
        request_id: the number that `submit` returned.
        generation: the response; None after a failure.
        failure: reason of the failure; "" without one.

    """

    request_id: int
    generation: Generation | None
    failure: str = ""


class Engine(Protocol):
    """Samples responses to prompts of token ids. Many requests run concurrently, and each result is returned when it is complete."""

    @property
    def policy_version(self) -> int:
        """The version of the current parameters."""
        ...

    @property
    def is_idle(self) -> bool:
        """True if the completions of all requests have been taken."""
        ...

    def submit(self, request_id: int, prompt_ids: Ids, seed: int, constraint: Constraint | None = None) -> None:
        """Request a response to a prompt.

        The response depends on these arguments and the parameters only, not on other requests.

        Args:
            request_id: Identifies the request until its completion is taken.
            prompt_ids: Token ids of the prompt, at least one.
            seed: Seed of the sampling.
            constraint: Limits sampling to the tokens that it allows.

        """
        ...

    def take(self, timeout_s: float | None = None) -> list[Completion]:
        """Return the new completions; wait for the first one at most `timeout_s` seconds (0: do one slice of work).

        The list is empty after a timeout, and immediately if no request is pending. If the infrastructure fails, the completion of a
        request holds the failure; no exception is raised.
        """
        ...

    def load(self, model: "PreTrainedModel", version: int) -> None:
        """Sample with the parameters of this model from now on. Caches of older parameters are cleared."""
        ...

    def close(self) -> None:
        """Release threads, connections and memory."""
        ...


class RequestPool(Generic[T]):
    """Runs requests in at most `size` threads. They start in the order of `submit`; results are returned in order of completion."""

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"the size of a request pool is {size}; expected at least 1")
        self._executor = ThreadPoolExecutor(size)
        self._completed: SimpleQueue[Future[T]] = SimpleQueue()
        self._pending = 0

    @property
    def is_idle(self) -> bool:
        """True if all results have been taken."""
        return self._pending == 0

    def submit(self, call: Callable[[], T]) -> None:
        """Queue a request and return immediately."""
        future = self._executor.submit(call)
        self._pending += 1
        future.add_done_callback(self._completed.put)

    def take(self, timeout_s: float | None = None) -> list[T]:
        """Return the new results; wait for the first one at most `timeout_s` seconds.

        The list is empty after a timeout, and immediately if no request is pending. An exception in a request is re-raised here.
        """
        results: list[T] = []
        while self._pending:
            try:
                future = self._completed.get(block=not results, timeout=timeout_s)
            except Empty:
                break
            self._pending -= 1
            results.append(future.result())
        return results

    def close(self) -> None:
        """Cancel the requests that have not started and wait for the others."""
        self._executor.shutdown(cancel_futures=True)
        self._pending = 0
