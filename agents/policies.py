"""Whatever chooses the next reply: a random one, the expert, or a language model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple, Protocol

from agents.batches import Ids
from agents.engines import Engine
from agents.prompts import PromptEncoder
from webarena_gym.evaluation.scripted import random_action
from webarena_gym.tasks import Expert


class Request(NamedTuple):
    """An env that waits for a reply. Equal requests with equal seeds get equal replies, whatever else is under way."""

    slot: int  # tells envs apart; each waits for one reply at a time
    env: Any  # unwrapped, for those who look behind the page; None where it lives in another process
    info: Mapping[str, Any]
    seed: int = 0  # of all that is random in the reply


class Reply(NamedTuple):
    """What a policy says; a language model also gives the exact tokens and their log-probabilities."""

    text: str
    prompt_ids: Ids = ()
    response_ids: Ids = ()
    logprobs: tuple[float, ...] = ()
    too_long: bool = False  # the prompt does not fit the model; there is no reply
    failure: str = ""  # why there is no reply, through no fault of the policy: the episode says nothing
    policy_version: int = 0  # of the weights that began the reply


class Policy(Protocol):
    """Chooses replies for many envs at once; whoever is answered first goes on."""

    def ask(self, requests: Sequence[Request]) -> None:
        """Take requests. Does not wait for replies, and never for those of earlier requests."""
        ...

    def replies(self, timeout_s: float | None = None) -> list[tuple[int, Reply]]:
        """Return the replies that are complete, each with its request's slot; each is handed out once.

        If there is none, wait for the first at most `timeout_s` seconds (0: do not wait; None: as long as it takes). The list
        is empty when the time is over, and at once when nothing has been asked.
        """
        ...

    def close(self) -> None:
        """Let go of what it samples with."""
        ...


class ScriptedPolicy:
    """Replies at once with what a function makes of each request."""

    def __init__(self, choose: Callable[[Request], str]) -> None:
        self._choose = choose
        self._ready: list[tuple[int, Reply]] = []

    def ask(self, requests: Sequence[Request]) -> None:
        """Choose the replies."""
        self._ready += [(request.slot, Reply(self._choose(request))) for request in requests]

    def replies(self, timeout_s: float | None = None) -> list[tuple[int, Reply]]:  # noqa: ARG002 - nothing to wait for
        """Return all replies."""
        ready, self._ready = self._ready, []
        return ready

    def close(self) -> None:
        """Nothing to let go of."""


@dataclass(frozen=True)
class RandomReplies:
    """Do something that the page allows: click, type words of the goal, choose options, or leave with a word of the page.

    They leave with probability `exit_rate` at each step, half the time without an answer. They never claim that a task cannot
    be done: that is no text of a page, and saying it blindly earns the tasks whose right answer it is.
    """

    exit_rate: float = 0.15

    def __call__(self, request: Request) -> str:
        """Return a random plausible reply. Raises ValueError for an env in another process."""
        env, rng = look_behind(request), Random(request.seed)
        action = random_action(env.observation.nodes, request.info["page"], request.info["goal"], rng, self.exit_rate)
        reply: str = env.dialect.format(action)
        return reply


@dataclass
class ExpertReplies:
    """Replay the tasks' reference solutions."""

    _experts: dict[int, Expert] = field(default_factory=dict)

    def __call__(self, request: Request) -> str:
        """Return the next reply of the task's reference solution. Raises ValueError for an env in another process."""
        env = look_behind(request)
        if request.info["step"] == 0:
            self._experts[request.slot] = Expert(env.task, env.dialect)
        return self._experts[request.slot].reply(env.page, env.observation)


@dataclass
class LanguageModelPolicy:
    """A causal language model behind an engine. It counts its replies and their tokens."""

    engine: Engine
    encoder: PromptEncoder
    max_prompt_tokens: int = 8_000
    replied: int = 0
    generated_tokens: int = 0
    cpu_s: float = 0.0  # spent in other processes; it samples in this one, or on a server
    _prompts: dict[int, Ids] = field(default_factory=dict)  # by slot, of what the engine has not answered
    _too_long: list[int] = field(default_factory=list)

    def ask(self, requests: Sequence[Request]) -> None:
        """Submit the prompts that are short enough to the engine."""
        prompts = self.encoder.encode_all([request.info["messages"] for request in requests])
        for request, prompt_ids in zip(requests, prompts, strict=True):
            if len(prompt_ids) > self.max_prompt_tokens:
                self._too_long.append(request.slot)
            else:
                self._prompts[request.slot] = prompt_ids
                self.engine.submit(request.slot, prompt_ids, request.seed)

    def replies(self, timeout_s: float | None = None) -> list[tuple[int, Reply]]:
        """Return what the engine has sampled, as text and in the exact tokens."""
        version = self.engine.policy_version
        ready = [(slot, Reply("", too_long=True, policy_version=version)) for slot in self._too_long]
        self._too_long.clear()
        for slot, generation, failure in self.engine.take(0.0 if ready else timeout_s):
            prompt_ids = self._prompts.pop(slot)
            if generation is None:
                ready.append((slot, Reply("", failure=failure)))
                continue
            ids, logprobs, _, version = generation
            self.replied, self.generated_tokens = self.replied + 1, self.generated_tokens + len(ids)
            ready.append((slot, Reply(self.encoder.decode(ids), prompt_ids, ids, logprobs, policy_version=version)))
        return ready

    def close(self) -> None:
        """Close the engine."""
        self.engine.close()


def look_behind(request: Request) -> Any:
    """Return the env of a request. Raises ValueError if it is not in this process."""
    if request.env is None:
        raise ValueError(f"env {request.slot} lives in another process; this policy looks behind the page: expected workers=0")
    return request.env
