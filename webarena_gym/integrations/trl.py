"""TRL (1.16): environments with tools for `GRPOTrainer(environment_factory=...)`, and rollouts with our context for `rollout_func=...`.

With `environment_factory`, TRL builds the context: every page stays in it whole, so an episode of some pages needs a long one, and
nothing is compressed. With `rollout_func`, each reply is sampled in the compressed context of this package's env, and of each episode
one step, drawn evenly from all, is trained in the very context that it was sampled in; TRL takes one sample for each episode.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from webarena_gym.integrations.session import Session, methods
from webarena_gym.integrations.session import dataset_rows as dataset_rows
from webarena_gym.options import EnvOptions

SMOKE: Mapping[str, Any] = {
    "use_cpu": True, "bf16": False, "max_steps": 2, "per_device_train_batch_size": 2, "num_generations": 2, "max_completion_length": 64,
    "report_to": [],
}  # fmt: skip
"""Keywords of `GRPOConfig` for two updates on a CPU, which show that a script runs; TRL's own defaults need a GPU."""


def environment(env: Mapping[str, Any] | None = None) -> type:
    """Return a class for `environment_factory`, with one tool for each action; `env` are keywords of `WebArenaLite`.

    Its reward is that of the env. An episode that the model leaves without the tool that ends it is judged with an empty answer. An env
    with pictures gives pages as parts of a message: the picture, as an image of Pillow, and the text.
    """
    arguments = dict(env or {})
    dialect = EnvOptions.of(arguments).written_dialect()

    def begin(self: Any) -> None:
        self._session = Session(arguments)

    return type("WebArenaGym", (_Environment,), {"__init__": begin, "__doc__": "A task of webarena-gym.", **methods(dialect)})


class _Environment:
    """The base of all such classes. TRL takes every other public method for a tool."""

    _session: Session

    def reset(self, task: str | None = None, **_: Any) -> str | list[dict[str, Any]]:
        """Begin the task of a row of the dataset; return the goal and the first page."""
        return self._shown(self._session.begin(task))

    def get_reward(self) -> float:
        """Return the reward of the episode, judged as it stands where it is not over."""
        return self._session.finish()

    def _call(self, name: str, arguments: Mapping[str, Any]) -> str | list[dict[str, Any]]:
        return self._shown(self._session.call(name, arguments))

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
        """Play one episode for each prompt, which is the id of its task; return one step of each, and the rewards."""
        while len(self._sessions) < len(prompts):
            self._sessions.append(Session(self._arguments))
        sessions = self._sessions[: len(prompts)]
        for session, task in zip(sessions, prompts, strict=True):
            session.begin(task)
        steps: list[list[tuple[list[int], list[int], list[Any]]]] = [[] for _ in sessions]
        while under_way := [place for place, session in enumerate(sessions) if not session.is_over]:
            asked = [
                trainer.processing_class.apply_chat_template(
                    list(sessions[place].messages),
                    add_generation_prompt=True,
                    tokenize=True,
                    sanitize_control_tokens=True,  # the text of pages becomes no control tokens
                    return_dict=False,
                )
                for place in under_way
            ]
            said, logprobs = trainer._generate_single_turn(asked, None, {}, 1)[:2]  # noqa: SLF001 - the one way that all its backends share
            for number, place in enumerate(under_way):
                known = [] if logprobs is None else logprobs[number]
                steps[place].append((asked[number], said[number], known))
                sessions[place].say(trainer.processing_class.decode(said[number], skip_special_tokens=True))
        chosen = [self._random.choice(own) for own in steps]
        return {
            "prompt_ids": [step[0] for step in chosen],
            "completion_ids": [step[1] for step in chosen],
            "logprobs": [step[2] for step in chosen] if all(step[2] for step in chosen) else None,  # type: ignore[dict-item]
            "env_reward": [session.finish() for session in sessions],
        }

    @staticmethod
    def reward(env_reward: Sequence[float], **_: Any) -> list[float]:
        """Return the rewards of the episodes."""
        return list(env_reward)

    def close(self) -> None:
        for session in self._sessions:
            session.close()
