"""Policies: choice of replies for several envs at once, by random actions, reference solutions, or language and vision-language models.

>>> from agents.rollouts.policies import Request, ScriptedPolicy
>>> policy = ScriptedPolicy(lambda request: 'exit(message="N/A")')
>>> policy.ask([Request(slot=0, env=None, info={"goal": "How much is the lamp?"})])
>>> [(slot, reply.text) for slot, reply in policy.replies()]
[(0, 'exit(message="N/A")')]
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from agents.data.prompts import PromptEncoder, expect_template_variables, with_system_prompt, with_workflows
from agents.data.trajectories import Candidate, Ids, Step
from agents.data.workflows import WorkflowMemory
from agents.rollouts.constraints import Constraints
from agents.rollouts.engines import Engine
from webarena_gym.env import WebArenaLite
from webarena_gym.evaluation.agents import random_action
from webarena_gym.observation.pictures import messages_for
from webarena_gym.tasks import Expert

if TYPE_CHECKING:
    from transformers import PreTrainedModel


WORKFLOWS = 3  # number of workflows in a prompt


class Request(NamedTuple):
    """A request for the next reply in an env. Equal requests get equal replies, independent of other pending requests.

    Attributes:
        slot: number of the env, which has at most one pending request.
        env: the unwrapped env, for policies that use more than the observation; None if it is in another process.
        info: the info of the env, with the prompt in `messages`.
        seed: random seed of the reply.
        history: earlier steps of the episode; None if they are the replies to this slot.

    """

    slot: int
    env: WebArenaLite | None
    info: Mapping[str, Any]
    seed: int = 0
    history: Sequence[Step] | None = None


class Reply(NamedTuple):
    """The text of a reply, and from a language model also its token ids and their log-probabilities.

    Attributes:
        text: the text with one action.
        prompt_ids: token ids of the prompt.
        response_ids: token ids of the response.
        logprobs: log-probability of each token of the response, under the distribution from which it was sampled.
        too_long: True if there is no reply, because the prompt is too long for the model.
        failure: reason if there is no reply because the infrastructure failed; the episode is not counted.
        policy_version: version of the parameters that sampled the first token.
        tokens: texts of the tokens of the response, if the policy is traced.
        candidates: most probable actions, the best first, if the policy is traced.

    """

    text: str
    prompt_ids: Ids = ()
    response_ids: Ids = ()
    logprobs: tuple[float, ...] = ()
    too_long: bool = False
    failure: str = ""
    policy_version: int = 0
    tokens: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()

    def step(self, page: str, action_error: str, *, policy_s: float = 0.0, env_s: float = 0.0) -> Step:
        """Return this reply on a page as a step of a trajectory."""
        return Step(
            page, self.text, action_error, self.prompt_ids, self.response_ids, self.logprobs,
            tokens=self.tokens, candidates=self.candidates, policy_s=policy_s, env_s=env_s,
        )  # fmt: skip


class Policy(Protocol):
    """Chooses replies for several envs at once, and returns them in the order of completion."""

    def ask(self, requests: Sequence[Request]) -> None:
        """Accept requests without waiting for replies."""
        ...

    def replies(self, timeout_s: float | None = None) -> list[tuple[int, Reply]]:
        """Return the new replies, each with its request's slot.

        If there is none, wait for the first one at most `timeout_s` seconds (0: do not wait; None: no limit). The list is empty after a
        timeout, and immediately if no request is pending.
        """
        ...

    def close(self) -> None:
        """Release the engine or connection of the policy."""
        ...


class TrainedPolicy(Policy, Protocol):
    """A policy with parameters that training replaces, and with counts of its replies."""

    reply_count: int
    generated_tokens: int
    cpu_s: float
    """CPU time in other processes, in seconds"""

    def load(self, model: Any, version: int, /) -> None:
        """Set the parameters to those of this model."""
        ...


@dataclass
class WorkflowPrompt:
    """System prompts with the workflows of the same site whose goals are most similar. They are retrieved on the first page of an episode.

    Attributes:
        memory: the workflows.
        system: system message that replaces that of the env; None keeps it.

    """

    memory: WorkflowMemory
    system: str | None = None
    _workflows: dict[int, str] = field(default_factory=dict)  # texts of the workflows, by slot

    def messages(self, request: Request) -> list[Mapping[str, Any]]:
        """Return the chat of the request with the workflows in its system message."""
        messages = request.info["messages"]
        if request.info["step"] == 0 or request.slot not in self._workflows:
            workflows = self.memory.find(request.info["goal"], request.info["page"], WORKFLOWS)
            self._workflows[request.slot] = "\n\n".join(map(str, workflows))
        if self.system is not None:
            messages = with_system_prompt(messages, self.system)
        return with_workflows(messages, self._workflows[request.slot])


def resume_episode(policy: Policy, slot: int, goal: str, steps: Sequence[Step]) -> None:
    """Set the earlier steps of a slot's episode, in a policy that stores episodes by slot. Other policies are unchanged."""
    if steps and hasattr(policy, "resume"):
        policy.resume(slot, goal, steps)


@dataclass
class ScriptedPolicy:
    """Replies with the result of a function of the request."""

    _choose: Callable[[Request], str | Reply]
    _ready: list[tuple[int, Reply]] = field(default_factory=list)

    def ask(self, requests: Sequence[Request]) -> None:
        choices = [(request.slot, self._choose(request)) for request in requests]
        self._ready += [(slot, Reply(choice) if isinstance(choice, str) else choice) for slot, choice in choices]

    def replies(self, timeout_s: float | None = None) -> list[tuple[int, Reply]]:  # noqa: ARG002 - nothing to wait for
        ready, self._ready = self._ready, []
        return ready

    def close(self) -> None:
        """Do nothing, since there is nothing to release."""


@dataclass(frozen=True)
class RandomReplies:
    """Replies with random valid actions: click, type words of the goal, select options, or exit with a word of the page.

    The probability of an exit is `exit_rate` at each step; half of the exits have no answer. The answer is never "N/A", which would solve
    unachievable tasks without reading a page.

    Attributes:
        exit_rate: probability of an exit at each step.

    """

    exit_rate: float = 0.15

    def __call__(self, request: Request) -> str:
        env, rng = local_env(request), Random(request.seed)
        action = random_action(env.observation.nodes, request.info["page"], request.info["goal"], rng, self.exit_rate)
        return env.dialect.format(action)


@dataclass
class ExpertReplies:
    """Replies with the actions of the tasks' reference solutions."""

    _experts: dict[int, Expert] = field(default_factory=dict)

    def __call__(self, request: Request) -> str:
        env = local_env(request)
        if request.info["step"] == 0:
            self._experts[request.slot] = Expert(env.task, env.dialect)
        return self._experts[request.slot].reply(env.page, env.observation)


@dataclass
class LanguageModelPolicy:
    """Replies sampled from a causal language model by an engine.

    Attributes:
        engine: samples the responses.
        encoder: converts the messages of a request to token ids.
        max_prompt_tokens: maximum length of a prompt in tokens; replies to longer prompts are empty and marked as too long.
        constraints: allowed tokens of each position of a response; None allows all.
        traced: True to include the texts of the tokens in replies.
        workflows: adds workflows to the system message; needs an encoder that keeps system messages.
        reply_count: number of replies so far.
        generated_tokens: number of sampled tokens so far.
        cpu_s: CPU time in other processes, in seconds; 0, because none are used.

    """

    engine: Engine
    encoder: PromptEncoder
    max_prompt_tokens: int = 8_000
    constraints: Constraints | None = None
    traced: bool = False
    workflows: WorkflowPrompt | None = None
    reply_count: int = 0
    generated_tokens: int = 0
    cpu_s: float = 0.0
    _prompts: dict[int, Ids] = field(default_factory=dict)  # prompts of pending requests, by slot
    _too_long: list[int] = field(default_factory=list)

    def ask(self, requests: Sequence[Request]) -> None:
        prompts = self.encoder.encode_all(
            [self.workflows.messages(request) if self.workflows else request.info["messages"] for request in requests]
        )
        for request, prompt_ids in zip(requests, prompts, strict=True):
            if len(prompt_ids) > self.max_prompt_tokens:
                self._too_long.append(request.slot)
            else:
                self._prompts[request.slot] = prompt_ids
                constraint = self.constraints.for_page(request.info["goal"], request.info["page"]) if self.constraints else None
                self.engine.submit(request.slot, prompt_ids, request.seed, constraint)

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
            self.reply_count, self.generated_tokens = self.reply_count + 1, self.generated_tokens + len(ids)
            text, tokens = self.encoder.decode(ids), self.encoder.texts(ids) if self.traced else ()
            ready.append((slot, Reply(text, prompt_ids, ids, logprobs, policy_version=version, tokens=tokens)))
        return ready

    def load(self, model: "PreTrainedModel", version: int) -> None:
        """Set the parameters to those of this model."""
        self.engine.load(model, version)

    def close(self) -> None:
        self.engine.close()


def vision_replies(
    model: Any, processor: Any, system: str | None, *, temperature: float, max_new_tokens: int, max_prompt_tokens: int,
    chat_template_kwargs: Mapping[str, Any] | None = None,
) -> Callable[[Request], Reply]:  # fmt: skip
    """Return a function that replies to a request with a vision-language model of transformers.

    Args:
        model: The model.
        processor: Its processor.
        system: Replaces the env's system message; None keeps it.
        temperature: Sampling temperature; 0 is greedy decoding.
        max_new_tokens: Maximum length of a reply in tokens.
        max_prompt_tokens: Maximum length of a prompt in tokens. Replies to longer prompts are empty and marked as too long.
        chat_template_kwargs: Variables of the chat template.

    """
    import torch  # noqa: PLC0415 - its import takes seconds, which other policies do not need

    template = chat_template_kwargs or {}
    expect_template_variables(processor.chat_template, template)
    # Sample from the whole distribution; a model's generation config may set top_k or top_p.
    sampling: dict[str, Any] = {"temperature": temperature, "top_k": 0, "top_p": 1.0} if temperature else {}

    def reply(request: Request) -> Reply:
        messages = request.info["messages"] if system is None else with_system_prompt(request.info["messages"], system)
        chat = messages_for("qwen", messages)
        for message in chat:  # some templates accept only lists of parts
            if isinstance(message["content"], str):
                message["content"] = [{"type": "text", "text": message["content"]}]
        options = {**template, "tokenize": True, "sanitize_control_tokens": True, "return_dict": True, "return_tensors": "pt"}
        prompt = processor.apply_chat_template(chat, add_generation_prompt=True, **options).to(model.device, model.dtype)
        prompt_ids = tuple(prompt["input_ids"][0].tolist())
        if len(prompt_ids) > max_prompt_tokens:
            return Reply("", too_long=True)
        with torch.random.fork_rng(), torch.inference_mode():
            torch.manual_seed(request.seed)
            ids = model.generate(**prompt, max_new_tokens=max_new_tokens, do_sample=temperature > 0, **sampling)[
                0, len(prompt_ids) :
            ]
        return Reply(processor.decode(ids, skip_special_tokens=True), prompt_ids, tuple(ids.tolist()))

    return reply


def local_env(request: Request) -> WebArenaLite:
    """Return the unwrapped env of a request. Raises ValueError if it is in another process."""
    if request.env is None:
        raise ValueError(f"env {request.slot} is in another process, but this policy uses the env object; expected workers=0")
    return request.env
