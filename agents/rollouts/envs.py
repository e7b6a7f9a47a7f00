"""Envs: several envs behind one asynchronous Protocol, in this process or in worker processes."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isfinite, nan
from typing import Any, Literal, Protocol, cast, overload

import gymnasium

import webarena_gym  # noqa: F401 - registers the env
from agents.settings import ENV_ID
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import EvaluationError
from webarena_gym.tasks import Task
from webarena_gym.vector import INFRASTRUCTURE_ERRORS, Result, WebArenaLiteVector


class Envs(Protocol):
    """Several envs with ids, each with at most one pending reset or step. Results are returned in the order of completion.

    There is no autoreset: after the end of an episode an env waits for `async_reset`. `InProcessEnvs` implements this Protocol, and so
    does `webarena_gym.vector.WebArenaLiteVector` with `autoreset_mode="Disabled"`.

    If the infrastructure fails (a lost worker, a crashed browser, an unreachable server), no exception is raised. The episode ends with
    `truncated`, `info["failure"]` is the reason, and the reward (NaN or 0) must be ignored. This can happen in a reset and in a step; the
    next reset of the env may succeed. Any other exception in an env is a bug, and `poll` raises it.
    """

    @property
    def num_envs(self) -> int:
        """The number of envs; their ids are 0 to `num_envs` - 1."""
        ...

    def async_reset(self, seed: Sequence[int | None], options: Sequence[dict[str, Any]], env_ids: Sequence[int]) -> None:
        """Start an episode in each of these envs, with one seed and one dictionary of options for each, without waiting.

        `options` contains "task", a Task. `poll` returns the first page as a Result with reward 0. The previous episode of an env need not
        be finished, but its last result must have been returned.
        """
        ...

    def send(self, actions: Sequence[str], env_ids: Sequence[int]) -> None:
        """Send one action to each of these envs without waiting. `poll` returns the results."""
        ...

    def poll(self, timeout_s: float | None = None) -> Mapping[int, Result]:
        """Return the new Results (observation, reward, terminated, truncated, info) by env id, in the order of completion.

        If there is none, wait for the first one at most `timeout_s` seconds (0: do not wait; None: no limit). The mapping is empty after a
        timeout, and immediately if nothing is pending.
        """
        ...

    def close(self) -> None:
        """Close the envs and end their processes."""
        ...


class InProcessEnvs:
    """Envs in this process, created at their first reset.

    All work is done within `poll`, in the order of the calls. After a failure, `poll` returns without the rest, so that its caller can end
    a run in which each reset waits for an application that does not start.
    """

    def __init__(self, make_env: Callable[[], gymnasium.Env[str, str]], num_envs: int) -> None:
        self.num_envs = num_envs
        self._make_env = make_env
        self._envs: dict[int, gymnasium.Env[str, str]] = {}
        self._pending: dict[int, Callable[[], Result]] = {}

    def async_reset(self, seed: Sequence[int | None], options: Sequence[dict[str, Any]], env_ids: Sequence[int]) -> None:
        for env_seed, env_options, env_id in zip(seed, options, env_ids, strict=True):
            self._pending[env_id] = partial(self._reset, env_id, env_seed, env_options)

    def send(self, actions: Sequence[str], env_ids: Sequence[int]) -> None:
        for action, env_id in zip(actions, env_ids, strict=True):
            self._pending[env_id] = partial(step_env, self._env(env_id), action)

    def poll(self, timeout_s: float | None = None) -> dict[int, Result]:  # noqa: ARG002 - the work is done here, without waiting
        results: dict[int, Result] = {}
        while self._pending and not any("failure" in result.info for result in results.values()):
            env_id = next(iter(self._pending))
            results[env_id] = self._pending.pop(env_id)()
        return results

    def local(self, env_id: int) -> WebArenaLite:
        """Return an unwrapped env, for policies that use more than the observation."""
        return cast("WebArenaLite", self._env(env_id).unwrapped)

    def close(self) -> None:
        for env in self._envs.values():
            env.close()
        self._envs.clear()

    def _env(self, env_id: int) -> gymnasium.Env[str, str]:
        if env_id not in self._envs:
            self._envs[env_id] = self._make_env()
        return self._envs[env_id]

    def _reset(self, env_id: int, seed: int | None, options: dict[str, Any]) -> Result:
        try:
            observation, info = self._env(env_id).reset(seed=seed, options=options)
        except INFRASTRUCTURE_ERRORS as error:
            return failed_result(f"{type(error).__name__}: {error}")
        return Result(observation, 0.0, False, False, info)


def step_env(env: gymnasium.Env[Any, str], action: str) -> Result:
    """Return the result of an action in an env, or that of a failed episode if the infrastructure fails."""
    try:
        observation, reward, terminated, truncated, info = env.step(action)
    except INFRASTRUCTURE_ERRORS as error:
        return failed_result(f"{type(error).__name__}: {error}")
    return Result(observation, float(reward), terminated, truncated, info)


def final_reward(result: Result, task: Task, seed: int) -> float:
    """Return the reward of a finished episode that did not fail. Raises EvaluationError, which names the episode, if it is not finite.

    If the env rewards items of a checklist, the reward of the episode is its success, and the rewards of items are credits of its steps.
    """
    if not isfinite(result.reward):
        raise EvaluationError(
            f"task {task.task_id}, seed {seed}: the env returned the reward {result.reward} without a failure in info; "
            "expected a finite number"
        )
    return float(result.info.get("success", False)) if "checklist" in result.info else result.reward


def failed_result(reason: str) -> Result:
    """Return the result of an episode whose infrastructure failed for this reason."""
    return Result("", nan, False, True, {"failure": reason})


@overload
def create_envs(
    tasks: Sequence[Task], num_envs: int, *, workers: Literal[0] = 0, env_id: str = ENV_ID, **env_arguments: object
) -> InProcessEnvs: ...


@overload
def create_envs(
    tasks: Sequence[Task], num_envs: int, *, workers: int, env_id: str = ENV_ID, **env_arguments: object
) -> InProcessEnvs | WebArenaLiteVector: ...


def create_envs(
    tasks: Sequence[Task], num_envs: int, *, workers: int = 0, env_id: str = ENV_ID, **env_arguments: Any
) -> InProcessEnvs | WebArenaLiteVector:
    """Return envs for these tasks, in this process if `workers` is 0, and in `workers` worker processes otherwise."""
    make_env = partial(gymnasium.make, env_id, disable_env_checker=True)
    if not workers:
        return InProcessEnvs(partial(make_env, tasks=tasks, **env_arguments), num_envs)
    return WebArenaLiteVector(
        num_envs, workers=workers, autoreset_mode="Disabled", make_env=make_env, tasks=tasks, **env_arguments
    )
