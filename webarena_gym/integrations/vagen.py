"""VAGEN (the lite version of 2026): our tasks as one of its text envs, by the line of its env_registry.yaml
`WebArenaGym: webarena_gym.integrations.vagen.WebArenaGym`.

Written from VAGEN's source: no index has the package, so it was tried by its protocol alone. VAGEN scores what an env raises as 0, with
`env_error`, and has no other way for an episode that breaks through no fault of the policy.
"""

from collections.abc import Mapping
from typing import Any

from webarena_gym.integrations.session import Session


class WebArenaGym:
    """One env. The seed of an episode draws its task.

    Args:
        env_config: keywords of `WebArenaLite`; and `concat`, which is True, where VAGEN keeps every page in the conversation
            (`trainer.harness=concat`), or False, where each turn stands alone and is shown the env's own history.

    """

    def __init__(self, env_config: Mapping[str, Any]) -> None:
        arguments = dict(env_config)
        self._concat = bool(arguments.pop("concat", True))
        self._session = Session(arguments)

    async def system_prompt(self) -> dict[str, str]:
        """Return what an agent is told before it begins."""
        return {"obs_str": self._session.system_prompt}

    async def reset(self, seed: int) -> tuple[dict[str, str], dict[str, Any]]:
        """Begin the task of a seed; return the goal with the first page."""
        return self._shown(self._session.begin(seed=seed)), {"task_id": self._session.info["task_id"]}

    async def step(self, action_str: str) -> tuple[dict[str, str], float, bool, dict[str, Any]]:
        """Do what a reply says; return what follows, the reward, whether the episode is over, and its verdict."""
        page = self._session.say(action_str)
        info = {"success": False, "truncated": self._session.truncated, **self._session.verdict()}
        return self._shown(page), self._session.reward or 0.0, self._session.is_over, info

    async def close(self) -> None:
        self._session.close()

    def _shown(self, page: str) -> dict[str, str]:
        text = page if self._concat else self._session.observation
        return {"obs_str": text.replace("<image>", "<img>")}  # which stands for a picture in VAGEN
