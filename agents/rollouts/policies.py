"""Policies choose replies for many envs at once: at random, as the reference solution, or with a language model, which may see."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple, Protocol

from agents.data.prompts import PromptEncoder, with_system_prompt
from agents.data.trajectories import Candidate, Ids, Step
from agents.rollouts.constraints import Constraints
from agents.rollouts.engines import Engine
from webarena_gym.evaluation.agents import random_action
from webarena_gym.observation.pictures import messages_for
from webarena_gym.tasks import Expert


class Request(NamedTuple):
    """An env that waits for a reply. Equal requests get equal replies, whatever other requests are under way."""

    slot: int  # identifies the env, which waits for one reply at a time
    env: Any  # unwrapped, for policies that read more than the observation; None if it is in another process
    info: Mapping[str, Any]
    seed: int = 0  # of all random draws of the reply
    history: Sequence[Step] | None = None  # all steps before it, where they need not be the slot's own; None: the slot's


class Reply(NamedTuple):
    """The text of a reply; from a language model also its tokens and their log-probabilities."""

    text: str
    prompt_ids: Ids = ()
    response_ids: Ids = ()
    logprobs: tuple[float, ...] = ()
    too_long: bool = False  # there is no reply, because the prompt is too long for the model
    failure: str = ""  # why there is no reply, for reasons other than the policy; the episode does not count
    policy_version: int = 0  # of the parameters that sampled the first token
    tokens: tuple[str, ...] = ()  # as in `Step`
    candidates: tuple[Candidate, ...] = ()

    def step(self, page: str, action_error: str, *, policy_s: float = 0.0, env_s: float = 0.0) -> Step:
        """Return the step that this reply makes on a page."""
        return Step(
            page, self.text, action_error, self.prompt_ids, self.response_ids, self.logprobs,
            tokens=self.tokens, candidates=self.candidates, policy_s=policy_s, env_s=env_s,
        )  # fmt: skip


class Policy(Protocol):
    """Chooses replies for many envs at once; they are returned in the order of completion.

    One that generates tokens counts them in `generated_tokens` and its replies in `replied`, and CPU time in other processes in `cpu_s`.
    """

    def ask(self, requests: Sequence[Request]) -> None:
        """Accept requests; does not wait for any reply."""
        ...

    def replies(self, timeout_s: float | None = None) -> list[tuple[int, Reply]]:
        """Return the replies that are complete, each with its request's slot; each is returned once.

        If there is none, wait for the first at most `timeout_s` seconds (0: do not wait; None: without limit). The list is empty after
        a timeout, and at once when no request is under way.
        """
        ...

    def close(self) -> None:
        """Release the engine or connection that it samples with."""
        ...


def resume(policy: Policy, slot: int, goal: str, steps: Sequence[Step]) -> None:
    """Let the next request of a slot be about an episode that was begun elsewhere, for a policy that keeps episodes by slot."""
    if steps and hasattr(policy, "resume"):
        policy.resume(slot, goal, steps)


@dataclass
class ScriptedPolicy:
    """Replies with the result of a function of each request."""

    _choose: Callable[[Request], str | Reply]
    _ready: list[tuple[int, Reply]] = field(default_factory=list)

    def ask(self, requests: Sequence[Request]) -> None:
        chosen = [(request.slot, self._choose(request)) for request in requests]
        self._ready += [(slot, Reply(said) if isinstance(said, str) else said) for slot, said in chosen]

    def replies(self, timeout_s: float | None = None) -> list[tuple[int, Reply]]:  # noqa: ARG002 - nothing to wait for
        ready, self._ready = self._ready, []
        return ready

    def close(self) -> None:
        """Do nothing, as there is nothing to release."""


@dataclass(frozen=True)
class RandomReplies:
    """Random valid actions: click, type words of the goal, choose options, or exit with a word of the page.

    The exit has probability `exit_rate` at each step; half of the exits have no answer. "N/A" is never answered, since it would solve
    the tasks whose right answer it is without reading a page.
    """

    exit_rate: float = 0.15

    def __call__(self, request: Request) -> str:
        env, rng = look_behind(request), Random(request.seed)
        action = random_action(env.observation.nodes, request.info["page"], request.info["goal"], rng, self.exit_rate)
        reply: str = env.dialect.format(action)
        return reply


@dataclass
class ExpertReplies:
    """The replies of the tasks' reference solutions."""

    _experts: dict[int, Expert] = field(default_factory=dict)

    def __call__(self, request: Request) -> str:
        env = look_behind(request)
        if request.info["step"] == 0:
            self._experts[request.slot] = Expert(env.task, env.dialect)
        return self._experts[request.slot].reply(env.page, env.observation)


@dataclass
class LanguageModelPolicy:
    """Replies sampled from a causal language model by an engine. It counts the replies and their tokens."""

    engine: Engine
    encoder: PromptEncoder
    max_prompt_tokens: int = 8_000
    constraints: Constraints | None = None  # of the replies
    traced: bool = False  # whether replies tell the texts of their tokens
    replied: int = 0
    generated_tokens: int = 0
    cpu_s: float = 0.0  # CPU time in other processes: none, as it samples in this one or on a server
    _prompts: dict[int, Ids] = field(default_factory=dict)  # by slot, of the requests that are under way
    _too_long: list[int] = field(default_factory=list)

    def ask(self, requests: Sequence[Request]) -> None:
        prompts = self.encoder.encode_all([request.info["messages"] for request in requests])
        for request, prompt_ids in zip(requests, prompts, strict=True):
            if len(prompt_ids) > self.max_prompt_tokens:
                self._too_long.append(request.slot)
            else:
                self._prompts[request.slot] = prompt_ids
                own = self.constraints.on(request.info["goal"], request.info["page"]) if self.constraints else None
                self.engine.submit(request.slot, prompt_ids, request.seed, own)

    def replies(self, timeout_s: float | None = None) -> list[tuple[int, Reply]]:
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
            text, tokens = self.encoder.decode(ids), self.encoder.texts(ids) if self.traced else ()
            ready.append((slot, Reply(text, prompt_ids, ids, logprobs, policy_version=version, tokens=tokens)))
        return ready

    def load(self, model: Any, version: int) -> None:
        """Reply with the parameters of this model from now on."""
        self.engine.load(model, version)

    def close(self) -> None:
        self.engine.close()


def vision_replies(
    model: Any, processor: Any, system: str | None, *, temperature: float, max_new_tokens: int, max_prompt_tokens: int
) -> Callable[[Request], Reply]:
    """Return a function that replies with a vision-language model of transformers, to one request at a time.

    `system` replaces the env's system message, unless it is None.
    """
    import torch  # noqa: PLC0415 - it takes seconds, which other policies do not need

    # Equal requests get equal replies, from the whole distribution; a model's own settings may cut it off.
    how: dict[str, Any] = {"temperature": temperature, "top_k": 0, "top_p": 1.0} if temperature else {}

    def reply(request: Request) -> Reply:
        messages = request.info["messages"] if system is None else with_system_prompt(request.info["messages"], system)
        chat = messages_for("qwen", messages)
        for message in chat:  # some templates read lists of parts alone
            if isinstance(message["content"], str):
                message["content"] = [{"type": "text", "text": message["content"]}]
        options = {"tokenize": True, "sanitize_control_tokens": True, "return_dict": True, "return_tensors": "pt"}
        prompt = processor.apply_chat_template(chat, add_generation_prompt=True, **options).to(model.device, model.dtype)
        prompt_ids = tuple(prompt["input_ids"][0].tolist())
        if len(prompt_ids) > max_prompt_tokens:
            return Reply("", too_long=True)
        with torch.random.fork_rng(), torch.inference_mode():
            torch.manual_seed(request.seed)
            ids = model.generate(**prompt, max_new_tokens=max_new_tokens, do_sample=temperature > 0, **how)[
                0, len(prompt_ids) :
            ]
        return Reply(processor.decode(ids, skip_special_tokens=True), prompt_ids, tuple(ids.tolist()))

    return reply


def look_behind(request: Request) -> Any:
    """Return the env of a request. Raises ValueError if it is not in this process."""
    if request.env is None:
        raise ValueError(f"env {request.slot} is in another process, but this policy reads the env itself: expected workers=0")
    return request.env
