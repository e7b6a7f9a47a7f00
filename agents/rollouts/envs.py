"""Many envs behind one asynchronous Protocol, in this process or in others."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isfinite, nan
from typing import Any, Protocol

import gymnasium

import webarena_gym  # noqa: F401 - registers the env
from agents.settings import ENV_ID
from webarena_gym.errors import EvaluationError
from webarena_gym.tasks import Task
from webarena_gym.vector import INFRASTRUCTURE_ERRORS, Result, WebArenaLiteVector


class Envs(Protocol):
    """Several envs with ids, each with at most one reset or step under way. Results come in the order of completion.

    There is no autoreset: after the end of an episode an env waits for `async_reset`. `InProcessEnvs` implements this Protocol, and so
    does `webarena_gym.vector.WebArenaLiteVector` with `autoreset_mode="Disabled"`.

    An episode that fails for reasons other than the policy (a lost worker, a dead browser, an unreachable server) raises nothing: it
    ends with `truncated`, `info["failure"]` gives the reason, and its reward (NaN or 0) has no meaning. This can happen in a reset and
    in a step; the next reset of the env may succeed. Any other exception in an env is a bug, and `poll` raises it.
    """

    @property
    def num_envs(self) -> int:
        """The number of envs; their ids are 0 to `num_envs` - 1."""
        ...

    def async_reset(self, seed: Sequence[int | None], options: Sequence[dict[str, Any]], env_ids: Sequence[int]) -> None:
        """Start an episode in each of these envs, with one seed and one dictionary of options for each; does not wait.

        `options` holds "task": a Task. `poll` returns the first page as a Result with the reward 0. An env's episode need not be over,
        but its last result must have been taken.
        """
        ...

    def send(self, actions: Sequence[str], env_ids: Sequence[int]) -> None:
        """Send one action to each of these envs; does not wait. `poll` returns the results."""
        ...

    def poll(self, timeout_s: float | None = None) -> Mapping[int, Result]:
        """Return the Results (observation, reward, terminated, truncated, info) that are ready, by env id.

        They are in the order of completion, and each is returned once. If none is ready, wait for the first at most `timeout_s`
        seconds (0: do not wait; None: without limit). Returns an empty mapping after a timeout, and at once when nothing is under
        way.
        """
        ...

    def close(self) -> None:
        """Close the envs and end their processes."""
        ...


class InProcessEnvs:
    """Envs in this process, made at their first reset. All work is done inside `poll`, in the order of the calls."""

    def __init__(self, make_env: Callable[[], gymnasium.Env[str, str]], num_envs: int) -> None:
        self.num_envs = num_envs
        self._make_env = make_env
        self._envs: dict[int, gymnasium.Env[str, str]] = {}
        self._under_way: dict[int, Callable[[], Result]] = {}

    def async_reset(self, seed: Sequence[int | None], options: Sequence[dict[str, Any]], env_ids: Sequence[int]) -> None:
        for env_seed, env_options, env_id in zip(seed, options, env_ids, strict=True):
            self._under_way[env_id] = partial(self._reset, env_id, env_seed, env_options)

    def send(self, actions: Sequence[str], env_ids: Sequence[int]) -> None:
        for action, env_id in zip(actions, env_ids, strict=True):
            self._under_way[env_id] = partial(take, self._env(env_id), action)

    def poll(self, timeout_s: float | None = None) -> dict[int, Result]:  # noqa: ARG002 - the work is done here, so there is nothing to wait for
        under_way, self._under_way = self._under_way, {}
        return {env_id: work() for env_id, work in under_way.items()}

    def local(self, env_id: int) -> Any:
        """Return the unwrapped env, for policies that read more than the observation."""
        return self._env(env_id).unwrapped

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
            return failed(f"{type(error).__name__}: {error}")
        return Result(observation, 0.0, False, False, info)


def take(env: Any, action: str) -> Result:
    """Return the result of an action in an env; if the env breaks through no fault of the policy, that of a failed episode."""
    try:
        observation, reward, terminated, truncated, info = env.step(action)
    except INFRASTRUCTURE_ERRORS as error:
        return failed(f"{type(error).__name__}: {error}")
    return Result(observation, float(reward), terminated, truncated, info)


def final_reward(result: Result, task: Task, seed: int) -> float:
    """Return the reward of an episode that is over and did not fail. Raises EvaluationError, which names the episode, if it is not finite."""
    if not isfinite(result.reward):
        raise EvaluationError(
            f"task {task.task_id}, seed {seed}: the env returned the reward {result.reward} without a failure in info; expected a finite number"
        )
    return result.reward


def failed(reason: str) -> Result:
    """Return the result of an episode that is lost through no fault of the policy."""
    return Result("", nan, False, True, {"failure": reason})


def create_envs(
    tasks: Sequence[Task], num_envs: int, *, workers: int = 0, env_id: str = ENV_ID, **env_arguments: Any
) -> InProcessEnvs | WebArenaLiteVector:
    """Return envs for these tasks: in this process if `workers` is 0, else in that many worker processes."""
    make_env = partial(gymnasium.make, env_id, disable_env_checker=True)
    if not workers:
        return InProcessEnvs(partial(make_env, tasks=tasks, **env_arguments), num_envs)
    return WebArenaLiteVector(
        num_envs, workers=workers, autoreset_mode="Disabled", make_env=make_env, tasks=tasks, **env_arguments
    )
