"""Adapter to TRL (1.16): environments with tools for `GRPOTrainer(environment_factory=...)`, and rollouts for `rollout_func=...`.

With `environment_factory`, TRL builds the context. It contains every page in full, so episodes of several pages need a long context. With
`rollout_func`, each reply is sampled in the compressed context of this package's env. TRL takes one sample per episode, so one step is drawn
uniformly from each episode, and trained in the context in which it was sampled.

The reward of an episode with an infrastructure failure, for example a crashed browser, is None. TRL then excludes the episode from the mean
and standard deviation of its group, and its advantage is 0.
"""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from webarena_gym.applications.application import Application
from webarena_gym.applications.suite import Suite
from webarena_gym.integrations import session as shared
from webarena_gym.integrations.session import INFRASTRUCTURE_ERRORS, NAME, Session, tool_methods
from webarena_gym.options import EnvOptions
from webarena_gym.tasks import Task

_LOG = logging.getLogger(__name__)

SMOKE: Mapping[str, Any] = {
    "use_cpu": True, "bf16": False, "max_steps": 2, "per_device_train_batch_size": 2, "num_generations": 2, "max_completion_length": 64,
    "report_to": [],
}  # fmt: skip
"""Keywords of `GRPOConfig` for a smoke test of a script: two updates on a CPU. TRL's defaults need a GPU."""

SMOKE_TOOLS: Mapping[str, Any] = {
    **SMOKE, "max_steps": 1, "per_device_train_batch_size": 1, "gradient_accumulation_steps": 2, "max_completion_length": 2048,
}  # fmt: skip
"""Keywords of `GRPOConfig` for one update with the tool calls of `script_calls`. An episode of one page of 2,000 characters fits."""


def script_calls(trainer: Any, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    """Replace the model's replies by tool calls in the next batch of rollouts, to test actions and rewards with a model that cannot act.

    Reply n of each rollout is `calls[n]`, in the format of the model's chat template; the reply after the last call, and all replies of
    later batches, are "Done.". The log of a batch with the calls of a solution contains a `tools/call_frequency` of `len(calls)` and a
    `reward` of 1.

    Args:
        trainer: `GRPOTrainer` with an `environment_factory`.
        calls: name and arguments of each tool call.

    Raises:
        ValueError: The chat template changes the prompt after a reply, so the text of a reply is unknown.

    """
    tokenizer = getattr(trainer.processing_class, "tokenizer", trainer.processing_class)
    question = {"role": "user", "content": "Act."}

    def encode(reply: Mapping[str, Any]) -> list[int]:
        options = {"tokenize": False, "chat_template": trainer.chat_template, **trainer.chat_template_kwargs}
        prompt = tokenizer.apply_chat_template([question], add_generation_prompt=True, **options)
        chat = tokenizer.apply_chat_template([question, {"role": "assistant", **reply}], **options)
        if not chat.startswith(prompt):
            raise ValueError(f"the chat template renders {chat!r}, which does not begin with the prompt {prompt!r}")
        ids: list[int] = tokenizer(chat.removeprefix(prompt).rstrip(), add_special_tokens=False)["input_ids"]
        return ids

    functions = [{"name": name, "arguments": dict(arguments)} for name, arguments in calls]
    last = encode({"content": "Done."})
    replies = iter([encode({"content": "", "tool_calls": [{"type": "function", "function": item}]}) for item in functions])

    def generate(prompt_ids: Sequence[Any], *_: Any, **__: Any) -> tuple[list[list[int]], None]:
        reply = next(replies, last)
        return [list(reply) for _ in prompt_ids], None

    trainer._generate_single_turn = generate  # noqa: SLF001 - as in `Rollouts`


def dataset_rows(
    tasks: str | Sequence[str | Task] = "train",
    sites: str | Sequence[str] = (),
    templates: str | Sequence[str] = (),
    application: str | Path | Application | None = None,
    environment: str = NAME,
    suite: str | Path | Suite | None = None,
) -> list[dict[str, Any]]:
    """Return the rows of a dataset for TRL's trainers, with the keys `prompt`, `task`, `data_source`, `env_class` and `environment`.

    >>> from webarena_gym.integrations.trl import dataset_rows
    >>> rows = dataset_rows("validation", sites="shopping")
    >>> len(rows), rows[0]["task"]
    (38, 'shopping.product_price/1001/0')

    Args:
        tasks: name of a split, or a list of tasks or task ids.
        sites: with a split, names of sites; tasks that need other sites are omitted. Empty for all.
        templates: with a split, names of templates. Empty for all.
        application: your web application, instead of the embedded sites.
        environment: key of the rows' environment if `environment_factory` is a dictionary. Otherwise TRL ignores it.
        suite: suite of another project, of which `tasks` is a split or a list of ids.

    Raises:
        TaskError: for an unknown task, split, site or template, and if no task matches.
        ValueError: for a list of tasks with `sites` or `templates`, which select from a split.

    """
    rows = shared.dataset_rows(tasks, sites, templates, application, suite)
    return [{**row, "environment": environment} for row in rows]


def environment(env: Mapping[str, Any] | None = None, name: str = "WebArenaGym") -> type:
    """Return a class for `environment_factory`, with one tool for each action, and for each function of the env's option `tools`.

    If the model stops without the tool that ends the episode, it is evaluated with an empty answer. An env with pictures returns each page
    as a list of message parts: the picture as a Pillow image, and the text.

    Args:
        env: keywords of `WebArenaLite`.
        name: name of the class. TRL logs rewards by this name, so several environments of one run need different names.

    """
    arguments = dict(env or {})
    methods = tool_methods(EnvOptions.of(arguments))

    def initialize(self: Any) -> None:
        self._session = Session(arguments)

    return type(name, (_Environment,), {"__init__": initialize, "__doc__": "A task of webarena-gym.", **methods})


class _Environment:
    """Base of the classes of `environment`. TRL offers all other public methods as tools."""

    _session: Session
    _failure = ""  # infrastructure failure of the current episode
    _has_started = True  # False after a reset that failed

    def reset(self, task: str | None = None, **_: Any) -> str | list[dict[str, Any]]:
        """Start the episode of a row of the dataset, and return the goal and the first page.

        After an infrastructure failure, the episode has no reward. If the previous reset failed too, the error is raised, because other
        episodes will probably fail in the same way. Raises TaskError for an unknown task.
        """
        could_start, self._has_started, self._failure = self._has_started, False, ""
        try:
            page = self._with_picture(self._session.reset(task))
        except INFRASTRUCTURE_ERRORS as error:
            if not could_start:
                raise
            self._failure = str(error)
            return f"The task cannot start: {error}"
        self._has_started = True
        return page

    def get_reward(self) -> float | None:
        """End the episode if it is not over, and return its reward; None after an infrastructure failure."""
        try:
            if not self._failure:
                return self._session.finish()
        except INFRASTRUCTURE_ERRORS as error:
            self._failure = str(error)
        _LOG.warning("an episode failed and has no reward: %s", self._failure)
        return None

    def _call(self, name: str, arguments: Mapping[str, Any]) -> str | list[dict[str, Any]]:
        try:
            return self._with_picture(self._session.call_tool(name, arguments))
        except INFRASTRUCTURE_ERRORS as error:  # TRL passes the message to the model and continues
            self._failure = self._failure or str(error)
            raise

    def _with_picture(self, page: str) -> str | list[dict[str, Any]]:
        if self._session.is_over or isinstance(self._session.observation, str):
            return page
        from PIL import Image  # noqa: PLC0415 - comes with the extra for pictures

        picture = Image.fromarray(self._session.observation["screenshot"])
        return [{"type": "image", "image": picture}, {"type": "text", "text": page}]


class Rollouts:
    """A `rollout_func` that runs episodes with the context of this package's env. Use `reward` as the reward function.

    Prompts are rendered with `chat_template_kwargs` of the trainer's `GRPOConfig`.

    Args:
        env: keywords of `WebArenaLite`.
        seed: seed with which a step of each episode is drawn.

    """

    def __init__(self, env: Mapping[str, Any] | None = None, seed: int = 0) -> None:
        self._arguments = dict(env or {})
        self._random = Random(seed)
        self._sessions: list[Session] = []

    def __call__(self, prompts: Sequence[str], trainer: Any) -> dict[str, list[Any]]:
        """Run one episode for each prompt, and return one step of each episode, with the rewards.

        The reward of an episode with an infrastructure failure is None. If it failed before its first step, a step of another episode
        replaces it, because TRL needs one sample per episode; its advantage is 0.

        Args:
            prompts: ids of the tasks.
            trainer: TRL's trainer, with which replies are sampled.

        Raises:
            Exception: the first failure, if no episode could start.

        """
        while len(self._sessions) < len(prompts):
            self._sessions.append(Session(self._arguments))
        sessions = self._sessions[: len(prompts)]
        failures: dict[int, Exception] = {}
        for index, (session, task) in enumerate(zip(sessions, prompts, strict=True)):
            try:
                session.reset(task)
            except INFRASTRUCTURE_ERRORS as error:
                failures[index] = error
        steps: list[list[tuple[list[int], list[int], list[Any]]]] = [[] for _ in sessions]
        while running := [index for index, session in enumerate(sessions) if index not in failures and not session.is_over]:
            prompt_ids = [
                trainer.processing_class.apply_chat_template(
                    list(sessions[index].messages),
                    add_generation_prompt=True,
                    tokenize=True,
                    sanitize_control_tokens=True,  # page text must not become control tokens
                    return_dict=False,
                    **trainer.chat_template_kwargs,
                )
                for index in running
            ]
            replies, logprobs = trainer._generate_single_turn(prompt_ids, None, {}, 1)[:2]  # noqa: SLF001 - shared by all backends of TRL
            for number, index in enumerate(running):
                reply_logprobs = [] if logprobs is None else logprobs[number]
                steps[index].append((prompt_ids[number], replies[number], reply_logprobs))
                try:
                    sessions[index].step(trainer.processing_class.decode(replies[number], skip_special_tokens=True))
                except INFRASTRUCTURE_ERRORS as error:
                    failures[index] = error
        for failure in failures.values():
            _LOG.warning("an episode failed and has no reward: %s", failure)
        all_steps = [step for episode_steps in steps for step in episode_steps]
        if not all_steps:
            raise next(iter(failures.values()))
        samples = [self._random.choice(episode_steps or all_steps) for episode_steps in steps]
        return {
            "prompt_ids": [step[0] for step in samples],
            "completion_ids": [step[1] for step in samples],
            "logprobs": [step[2] for step in samples] if all(step[2] for step in samples) else None,  # type: ignore[dict-item]
            "env_reward": [None if index in failures else session.finish() for index, session in enumerate(sessions)],
        }

    @staticmethod
    def reward(env_reward: Sequence[float | None], **_: Any) -> list[float | None]:
        """Return the rewards of the episodes, None for those with an infrastructure failure."""
        return list(env_reward)

    def close(self) -> None:
        for session in self._sessions:
            session.close()
