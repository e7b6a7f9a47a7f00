"""Adapter to VAGEN (the lite version of 2026): a text env, which a line of its env_registry.yaml registers:
`WebArenaGym: webarena_gym.integrations.vagen.WebArenaGym`.

VAGEN scores an exception of an env as 0, with `env_error`, and offers no alternative for infrastructure failures.
"""

from collections.abc import Mapping
from typing import Any

from webarena_gym.integrations.session import Session


class WebArenaGym:
    """One env. The seed of an episode determines its task.

    Args:
        env_config: keywords of `WebArenaLite`; and `concat`: True (default) if VAGEN keeps every page in the conversation
            (`trainer.harness=concat`), or False if each turn has a separate prompt, which then contains the env's history.

    """

    def __init__(self, env_config: Mapping[str, Any]) -> None:
        arguments = dict(env_config)
        self._concat = bool(arguments.pop("concat", True))
        self._session = Session(arguments)

    async def system_prompt(self) -> dict[str, str]:
        """Return the system prompt as VAGEN's observation."""
        return {"obs_str": self._session.system_prompt}

    async def reset(self, seed: int) -> tuple[dict[str, str], dict[str, Any]]:
        """Start the episode of a seed, and return the goal with the first page, and the info."""
        return self._as_observation(self._session.reset(seed=seed)), {"task_id": self._session.info["task_id"]}

    async def step(self, action_str: str) -> tuple[dict[str, str], float, bool, dict[str, Any]]:
        """Perform the action in a reply, and return the observation, the reward, whether the episode is over, and the info."""
        page = self._session.step(action_str)
        info = {"success": False, "truncated": self._session.truncated, **self._session.verdict()}
        return self._as_observation(page), self._session.reward or 0.0, self._session.is_over, info

    async def close(self) -> None:
        self._session.close()

    def _as_observation(self, page: str) -> dict[str, str]:
        text = page if self._concat else self._session.observation
        return {"obs_str": text.replace("<image>", "<img>")}  # <image> is VAGEN's placeholder for a picture
