"""SkyRL-gym (0.4): our tasks as one of its text envs. `register()` makes it known as `webarena_gym`.

A row of a dataset names its task: `dataset_rows` makes such rows. SkyRL builds the context: every page stays in it whole.
"""

from collections.abc import Mapping
from typing import Any

from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput, ConversationType
from skyrl_gym.envs.registration import register as register_env

from webarena_gym.integrations.session import NAME, Session
from webarena_gym.integrations.session import dataset_rows as dataset_rows


class WebArenaGymEnv(BaseTextEnv):  # type: ignore[misc]
    """One episode. A model's reply is an action; the page that follows is the next user message.

    `env_config`, SkyRL's settings of the env, are keywords of `WebArenaLite`; `extras` is the row of the dataset.
    """

    def __init__(self, env_config: Mapping[str, Any] | None = None, extras: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        arguments = dict(env_config or {})
        self._task = str((extras or {})["task"])
        self._session = Session({**arguments, "tasks": [self._task]})
        self.max_turns = int(arguments.get("max_steps", 15))

    def init(self, prompt: ConversationType) -> tuple[ConversationType, dict[str, Any]]:  # noqa: ARG002 - the env tells all itself
        """Begin the task; return the system prompt, and the goal with the first page."""
        first = self._session.begin(self._task)
        system = {"role": "system", "content": self._session.system_prompt}
        return [system, {"role": "user", "content": first}], {"task_id": self._task}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Do what a reply says. Raises BrowserError for an episode that breaks through no fault of the policy."""
        self.turns += 1
        page = self._session.say(action)
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
    """Make the env known to SkyRL-gym, in this process."""
    register_env(id=NAME, entry_point=f"{__name__}:{WebArenaGymEnv.__name__}")
