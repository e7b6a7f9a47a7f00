"""Whatever chooses the next reply: a random one, the expert, or a language model."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple, Protocol

import torch

from agents.batches import Ids
from agents.engine import Engine
from agents.prompts import PromptEncoder
from webarena_gym.actions import Action, Kind
from webarena_gym.observation import visible_text
from webarena_gym.tasks import Expert


class Request(NamedTuple):
    """One env that waits for a reply. `slot` tells envs apart; `env` is unwrapped, for policies that look behind the page."""

    slot: int
    env: Any
    info: Mapping[str, Any]


class Reply(NamedTuple):
    """What a policy says; a language model also gives the exact tokens and their log-probabilities."""

    text: str
    prompt_ids: Ids = ()
    response_ids: Ids = ()
    logprobs: tuple[float, ...] = ()
    too_long: bool = False  # the prompt does not fit the model; there is no reply


class Policy(Protocol):
    """Chooses replies for all envs that wait, at once."""

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Return one reply per request, in order."""
        ...


@dataclass
class RandomPolicy:
    """Does something that the page allows: clicks, types words of the goal, chooses options, or leaves with a word of the page.

    It leaves with probability `exit_rate` at each step, half the time without an answer. It never claims that a task cannot be
    done: that is no text of a page, and saying it blindly earns the tasks whose right answer it is.
    """

    seed: int = 0
    exit_rate: float = 0.15
    _random: Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = Random(self.seed)

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Return a random plausible reply to each."""
        return [Reply(request.env.dialect.format(self._choose(request))) for request in requests]

    def _choose(self, request: Request) -> Action:
        choose, nodes = self._random.choice, request.env.observation.nodes
        if not nodes or self._random.random() < self.exit_rate:
            words = re.findall(r"[$\w.,-]+", request.info["page"])
            return Action(Kind.EXIT, argument=choose(["", choose(words or [""])]))
        address = choose(list(nodes))
        element = nodes[address].element
        if element.tag == "select":
            options = [visible_text(option) for option in element.iter("option")]
            return Action(Kind.SELECT, address, choose(options or [""]))
        is_text = element.tag == "textarea" or (
            element.tag == "input"
            and element.get("type", "text") not in ("checkbox", "radio", "submit", "button", "reset", "image")
        )
        if is_text:
            words = request.info["goal"].split()
            start = self._random.randrange(len(words))
            typed = " ".join(words[start : start + self._random.randint(1, 4)])
            return Action(choose([Kind.TYPE, Kind.SEARCH]), address, typed)
        return Action(Kind.CLICK, address)


@dataclass
class ExpertPolicy:
    """Replays the tasks' reference solutions."""

    thoughts: bool = False
    _experts: dict[int, Expert] = field(default_factory=dict)

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Return the next reply of each task's reference solution."""
        return [Reply(self._reply(request)) for request in requests]

    def _reply(self, request: Request) -> str:
        if request.info["step"] == 0:
            self._experts[request.slot] = Expert(request.env.task, request.env.dialect, thoughts=self.thoughts)
        return self._experts[request.slot].reply(request.env.page, request.env.observation)


@dataclass
class LanguageModelPolicy:
    """A causal language model behind an engine. `generator` makes its samples repeatable."""

    engine: Engine
    encoder: PromptEncoder
    generator: torch.Generator | None = None
    max_prompt_tokens: int = 8_000

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Return one sampled reply per request."""
        prompts = self.encoder.encode_all([request.info["messages"] for request in requests])
        fitting = [index for index, prompt in enumerate(prompts) if len(prompt) <= self.max_prompt_tokens]
        generations = self.engine.generate([prompts[index] for index in fitting], self.generator)
        replies = [Reply("", too_long=True)] * len(prompts)
        for index, generation in zip(fitting, generations, strict=True):
            text = self.encoder.decode(generation.response_ids)
            replies[index] = Reply(text, prompts[index], generation.response_ids, generation.logprobs)
        return replies
