"""Adapter to SkyRL-gym (0.4): a text env, which `register()` registers as `webarena_gym`.

`dataset_rows` returns rows of a dataset with the ids of tasks. SkyRL builds the context, which contains every page in full.
"""

from collections.abc import Mapping
from typing import Any

from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput, ConversationType
from skyrl_gym.envs.registration import register as register_env

from webarena_gym.integrations.session import NAME, Session
from webarena_gym.integrations.session import dataset_rows as dataset_rows


class WebArenaGymEnv(BaseTextEnv):  # type: ignore[misc]
    """One episode. A model's reply is an action; the next page is the next user message.

    Args:
        env_config: SkyRL's configuration of the env: keywords of `WebArenaLite`.
        extras: the row of the dataset.

    """

    def __init__(self, env_config: Mapping[str, Any] | None = None, extras: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        arguments = dict(env_config or {})
        self._task = str((extras or {})["task"])
        self._session = Session({**arguments, "tasks": [self._task]})
        self.max_turns = int(arguments.get("max_steps", 15))

    def init(self, prompt: ConversationType) -> tuple[ConversationType, dict[str, Any]]:  # noqa: ARG002 - the env provides the complete prompt
        """Start the episode, and return the system prompt and the goal with the first page as messages, and the metadata."""
        first = self._session.reset(self._task)
        system = {"role": "system", "content": self._session.system_prompt}
        return [system, {"role": "user", "content": first}], {"task_id": self._task}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Perform the action in a reply. Raises BrowserError for an infrastructure failure."""
        self.turns += 1
        page = self._session.step(action)
        done = self._session.is_over
        return BaseTextEnvStepOutput(
            observations=[] if done else [{"role": "user", "content": page}],
            reward=self._session.finish() if done else 0.0,
            done=done,
            metadata=self._session.verdict(),
        )

    def get_metrics(self) -> dict[str, Any]:
        return {"steps": self.turns, "success": float(self._session.reward or 0.0)}

    def close(self) -> None:
        self._session.close()


def register() -> None:
    """Register the env in SkyRL-gym, in this process."""
    register_env(id=NAME, entry_point=f"{__name__}:{WebArenaGymEnv.__name__}")
