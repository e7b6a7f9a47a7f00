"""Envs: many of them side by side, in this process or elsewhere. One Protocol, so that rollouts do not know where they live."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import nan
from typing import Any, Protocol

import gymnasium

import webarena_gym  # noqa: F401 - registers the env
from agents.settings import ENV_ID
from webarena_gym.tasks import Task
from webarena_gym.vector import INFRASTRUCTURE_ERRORS, Result, WebArenaLiteVector


class Envs(Protocol):
    """Envs by number, each of which does one thing at a time; whoever is ready first is handed out first.

    They have no autoreset: an episode that is over stays over until `async_reset`. `webarena_gym.vector.WebArenaLiteVector` with
    `autoreset_mode="Disabled"` is one of them, and so is `InProcessEnvs`.

    An episode that breaks through no fault of the policy (a lost worker, a dead browser, a server that has gone) is no
    exception: it ends with `truncated` and with `info["failure"]` to say why, and its reward means nothing (NaN, or 0). That
    may happen to a reset as to a step, and the next reset of that env may succeed. Any other exception in an env is a bug,
    and is raised by `poll`.
    """

    @property
    def num_envs(self) -> int:
        """How many envs there are; their ids are 0 to `num_envs` - 1."""
        ...

    def async_reset(self, seed: Sequence[int | None], options: Sequence[dict[str, Any]], env_ids: Sequence[int]) -> None:
        """Let these envs begin an episode each, with one seed and one dictionary of options for each; does not wait.

        `options` holds "task": a Task. `poll` returns each as a Result with the reward 0. May be called for an env whose
        episode is not over, but not for one that has something under way.
        """
        ...

    def send(self, actions: Sequence[str], env_ids: Sequence[int]) -> None:
        """Let these envs take one action each; does not wait. `poll` returns what comes of it."""
        ...

    def poll(self, timeout_s: float | None = None) -> Mapping[int, Result]:
        """Return the Results (observation, reward, terminated, truncated, info) of all envs that are ready, by env id.

        They come in the order in which they became ready; each is handed out once. If none is ready, wait for the first at
        most `timeout_s` seconds (0: do not wait; None: as long as it takes). The result is empty when the time is over, and
        at once when nothing is under way.
        """
        ...

    def close(self) -> None:
        """Let go of the envs and their processes."""
        ...


class InProcessEnvs:
    """Envs in this process, made when they are needed.

    They work when they are polled, in the order in which they were told to, so that equal runs are equal in everything.
    """

    def __init__(self, make_env: Callable[[], gymnasium.Env[str, str]], num_envs: int) -> None:
        self.num_envs = num_envs
        self._make_env = make_env
        self._envs: dict[int, gymnasium.Env[str, str]] = {}
        self._under_way: dict[int, Callable[[], Result]] = {}

    def async_reset(self, seed: Sequence[int | None], options: Sequence[dict[str, Any]], env_ids: Sequence[int]) -> None:
        """Let these envs begin an episode each."""
        for env_seed, env_options, env_id in zip(seed, options, env_ids, strict=True):
            self._under_way[env_id] = partial(self._reset, env_id, env_seed, env_options)

    def send(self, actions: Sequence[str], env_ids: Sequence[int]) -> None:
        """Let these envs take one action each."""
        for action, env_id in zip(actions, env_ids, strict=True):
            self._under_way[env_id] = partial(self._step, env_id, action)

    def poll(self, timeout_s: float | None = None) -> dict[int, Result]:  # noqa: ARG002 - nobody else works meanwhile
        """Let all envs do what they were told, and return what came of it."""
        under_way, self._under_way = self._under_way, {}
        results = {}
        for env_id, work in under_way.items():
            try:
                results[env_id] = work()
            except INFRASTRUCTURE_ERRORS as error:
                failure = f"{type(error).__name__}: {error}"
                results[env_id] = Result("", nan, False, True, {"failure": failure})
        return results

    def local(self, env_id: int) -> Any:
        """Return the env itself, unwrapped, for whoever looks behind its page."""
        return self._env(env_id).unwrapped

    def close(self) -> None:
        """Close the envs."""
        for env in self._envs.values():
            env.close()
        self._envs.clear()

    def _env(self, env_id: int) -> gymnasium.Env[str, str]:
        if env_id not in self._envs:
            self._envs[env_id] = self._make_env()
        return self._envs[env_id]

    def _reset(self, env_id: int, seed: int | None, options: dict[str, Any]) -> Result:
        observation, info = self._env(env_id).reset(seed=seed, options=options)
        return Result(observation, 0.0, False, False, info)

    def _step(self, env_id: int, action: str) -> Result:
        observation, reward, terminated, truncated, info = self._env(env_id).step(action)
        return Result(observation, float(reward), terminated, truncated, info)


def create_envs(
    tasks: Sequence[Task], num_envs: int, *, workers: int = 0, env_id: str = ENV_ID, **env_arguments: Any
) -> InProcessEnvs | WebArenaLiteVector:
    """Return envs for these tasks: in this process without workers, else in so many worker processes."""
    make_env = partial(gymnasium.make, env_id, disable_env_checker=True)
    if not workers:
        return InProcessEnvs(partial(make_env, tasks=tasks, **env_arguments), num_envs)
    return WebArenaLiteVector(
        num_envs, workers=workers, autoreset_mode="Disabled", make_env=make_env, tasks=tasks, **env_arguments
    )
