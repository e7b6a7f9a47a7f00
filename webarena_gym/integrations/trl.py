"""TRL (1.16): environments with tools for `GRPOTrainer(environment_factory=...)`, and rollouts with our context for `rollout_func=...`.

With `environment_factory`, TRL builds the context: every page stays in it whole, so an episode of some pages needs a long one, and
nothing is compressed. With `rollout_func`, each reply is sampled in the compressed context of this package's env, and of each episode
one step, drawn evenly from all, is trained in the very context that it was sampled in; TRL takes one sample for each episode.

The reward of an episode that was lost through no fault of the policy, such as by a browser that died, is None. TRL then leaves the
episode out of its group's mean and deviation, and its advantage is 0.
"""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from webarena_gym.applications.application import Application
from webarena_gym.integrations import session as shared
from webarena_gym.integrations.session import LOST, NAME, Session, methods
from webarena_gym.options import EnvOptions
from webarena_gym.tasks import Task

_LOG = logging.getLogger(__name__)

SMOKE: Mapping[str, Any] = {
    "use_cpu": True, "bf16": False, "max_steps": 2, "per_device_train_batch_size": 2, "num_generations": 2, "max_completion_length": 64,
    "report_to": [],
}  # fmt: skip
"""Keywords of `GRPOConfig` for two updates on a CPU, which show that a script runs; TRL's own defaults need a GPU."""


def dataset_rows(
    tasks: str | Sequence[str | Task] = "train",
    sites: str | Sequence[str] = (),
    templates: str | Sequence[str] = (),
    application: str | Path | Application | None = None,
    environment: str = NAME,
) -> list[dict[str, Any]]:
    """Return the rows of a dataset for tasks, which are chosen as in `webarena_gym.integrations.session.dataset_rows`.

    `environment` is the key of the rows' environment where `environment_factory` is a dictionary; TRL ignores it otherwise.
    """
    return [{**row, "environment": environment} for row in shared.dataset_rows(tasks, sites, templates, application)]


def environment(env: Mapping[str, Any] | None = None, name: str = "WebArenaGym") -> type:
    """Return a class for `environment_factory`, with one tool for each action.

    An episode that the model leaves without the tool that ends it is judged with an empty answer. An env with pictures returns pages
    as parts of a message: the picture, as an image of Pillow, and the text.

    Args:
        env: keywords of `WebArenaLite`.
        name: of the class. TRL logs rewards by it, so several environments of one run need different names.

    """
    arguments = dict(env or {})
    dialect = EnvOptions.of(arguments).build_dialect()

    def begin(self: Any) -> None:
        self._session = Session(arguments)

    return type(name, (_Environment,), {"__init__": begin, "__doc__": "A task of webarena-gym.", **methods(dialect)})


class _Environment:
    """The base of all such classes. TRL takes every other public method for a tool."""

    _session: Session
    _failure = ""  # why the current episode is lost
    _has_begun = True  # False after a reset that failed

    def reset(self, task: str | None = None, **_: Any) -> str | list[dict[str, Any]]:
        """Begin the task of a row of the dataset and return the goal and the first page.

        A task that cannot begin through no fault of the caller is a lost episode. The error is raised if the reset before failed as
        well, since no episode of this environment can then be expected to begin. Raises TaskError for an unknown task.
        """
        could_begin, self._has_begun, self._failure = self._has_begun, False, ""
        try:
            page = self._shown(self._session.begin(task))
        except LOST as error:
            if not could_begin:
                raise
            self._failure = str(error)
            return f"The task cannot begin: {error}"
        self._has_begun = True
        return page

    def get_reward(self) -> float | None:
        """Return the reward of the episode, judged as it stands where it is not over; None for an episode that was lost."""
        try:
            if not self._failure:
                return self._session.finish()
        except LOST as error:
            self._failure = str(error)
        _LOG.warning("an episode was lost and has no reward: %s", self._failure)
        return None

    def _call(self, name: str, arguments: Mapping[str, Any]) -> str | list[dict[str, Any]]:
        try:
            return self._shown(self._session.call(name, arguments))
        except LOST as error:  # TRL passes the message to the model and goes on
            self._failure = self._failure or str(error)
            raise

    def _shown(self, page: str) -> str | list[dict[str, Any]]:
        if self._session.is_over or isinstance(self._session.observation, str):
            return page
        from PIL import Image  # noqa: PLC0415 - comes with the extra that makes pictures

        picture = Image.fromarray(self._session.observation["screenshot"])
        return [{"type": "image", "image": picture}, {"type": "text", "text": page}]


class Rollouts:
    """A `rollout_func` that plays episodes with the context of this package's env; `reward` is the reward function that goes with it.

    `env` are keywords of `WebArenaLite`, `seed` is that of the steps that are drawn.
    """

    def __init__(self, env: Mapping[str, Any] | None = None, seed: int = 0) -> None:
        self._arguments = dict(env or {})
        self._random = Random(seed)
        self._sessions: list[Session] = []

    def __call__(self, prompts: Sequence[str], trainer: Any) -> dict[str, list[Any]]:
        """Play one episode for each prompt, which is the id of its task, and return one step of each with the rewards.

        The reward of a lost episode is None. If it was lost before its first step, a step of another episode stands in for it, as TRL
        needs one and trains it with an advantage of 0. Raises the first error if no episode could begin.
        """
        while len(self._sessions) < len(prompts):
            self._sessions.append(Session(self._arguments))
        sessions = self._sessions[: len(prompts)]
        lost: dict[int, Exception] = {}
        for index, (session, task) in enumerate(zip(sessions, prompts, strict=True)):
            try:
                session.begin(task)
            except LOST as error:
                lost[index] = error
        steps: list[list[tuple[list[int], list[int], list[Any]]]] = [[] for _ in sessions]
        while under_way := [index for index, session in enumerate(sessions) if index not in lost and not session.is_over]:
            asked = [
                trainer.processing_class.apply_chat_template(
                    list(sessions[index].messages),
                    add_generation_prompt=True,
                    tokenize=True,
                    sanitize_control_tokens=True,  # the text of pages becomes no control tokens
                    return_dict=False,
                )
                for index in under_way
            ]
            replies, logprobs = trainer._generate_single_turn(asked, None, {}, 1)[:2]  # noqa: SLF001 - the one way that all its backends share
            for number, index in enumerate(under_way):
                known = [] if logprobs is None else logprobs[number]
                steps[index].append((asked[number], replies[number], known))
                try:
                    sessions[index].say(trainer.processing_class.decode(replies[number], skip_special_tokens=True))
                except LOST as error:
                    lost[index] = error
        for failure in lost.values():
            _LOG.warning("an episode was lost and has no reward: %s", failure)
        every = [step for own in steps for step in own]
        if not every:
            raise next(iter(lost.values()))
        chosen = [self._random.choice(own or every) for own in steps]
        return {
            "prompt_ids": [step[0] for step in chosen],
            "completion_ids": [step[1] for step in chosen],
            "logprobs": [step[2] for step in chosen] if all(step[2] for step in chosen) else None,  # type: ignore[dict-item]
            "env_reward": [None if index in lost else session.finish() for index, session in enumerate(sessions)],
        }

    @staticmethod
    def reward(env_reward: Sequence[float | None], **_: Any) -> list[float | None]:
        """Return the rewards of the episodes, None for lost ones."""
        return list(env_reward)

    def close(self) -> None:
        for session in self._sessions:
            session.close()
