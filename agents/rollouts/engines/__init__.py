"""Engines sample responses of a language model, in this process or on a server, behind one Protocol."""

from typing import TYPE_CHECKING, NamedTuple, Protocol

from agents.data.tokens import Ids
from agents.rollouts.constraints.constraint import Constraint

if TYPE_CHECKING:
    from transformers import PreTrainedModel


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
    """Samples responses to prompts of token ids. Many requests run at once; each result is returned as soon as it is complete.

    `agents.rollouts.engines.testing` has the tests that every engine must pass.
    """

    @property
    def policy_version(self) -> int:
        """The version of the parameters that sample now."""
        ...

    @property
    def is_idle(self) -> bool:
        """Whether the completion of every request has been taken."""
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
