"""Engines sample responses: in this process, or behind a server. One Protocol, so that rollouts do not know which it is."""

from typing import NamedTuple, Protocol

from transformers import PreTrainedModel

from agents.data.tokens import Ids


class Generation(NamedTuple):
    """One sampled response."""

    response_ids: Ids  # with the end token, unless the limit came first
    logprobs: tuple[float, ...]  # log p of each under the sampling distribution
    finished: bool  # False: cut at the limit
    policy_version: int = 0  # of the weights that sampled its first token


class Answer(NamedTuple):
    """What became of one prompt: a generation, or the reason why there is none."""

    ticket: int
    generation: Generation | None
    failure: str = ""


class Engine(Protocol):
    """Samples responses to prompts of token ids, many at once; each is handed out as soon as it is complete."""

    @property
    def policy_version(self) -> int:
        """The version of the weights that sample now."""
        ...

    @property
    def is_idle(self) -> bool:
        """Whether every prompt that was submitted has been answered and taken."""
        ...

    def submit(self, ticket: int, prompt_ids: Ids, seed: int) -> None:
        """Ask for a response to a prompt. It depends on the prompt, the weights and the seed, not on what else is under way."""
        ...

    def take(self, timeout_s: float | None = None) -> list[Answer]:
        """Return the answers that are complete; wait for the first at most `timeout_s` seconds (0: do one slice of work).

        Returns an empty list when the time is over or nothing is under way. A prompt that broke through no fault of the policy
        is answered with its failure, never with an exception.
        """
        ...

    def load(self, model: PreTrainedModel, version: int) -> None:
        """Sample with the weights of this model from now on. What was cached under older weights is not used again."""
        ...

    def close(self) -> None:
        """Let go of threads, connections and memory."""
        ...
