"""Envs in Ray actors, on the nodes of a cluster."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import ray
from ray.exceptions import ObjectLostError, RayActorError

from agents.cluster import StreamSettings
from agents.rollouts.envs import InProcessEnvs, failed_result
from agents.settings import ENV_ID
from webarena_gym.applications.suite import SUITE_SUFFIXES
from webarena_gym.tasks import Task
from webarena_gym.vector import Result

ACTOR_ERRORS = (RayActorError, ObjectLostError)


class RayEnvs:
    """Envs in Ray actors that are spread over the nodes. Implements `agents.rollouts.envs.Envs`.

    Env i is in actor i % workers. If an actor dies or exceeds the time limit, its episodes end with `info["failure"]`, and a new actor is
    started on any node with free resources.

    Args:
        make_env: Creates an env. It must be picklable by cloudpickle.
        num_envs: Number of envs.
        workers: Number of actors, with one CPU each.
        resources: Further Ray resources of each actor, for example {"browsers": 1}.
        step_timeout_s: Maximum time between two results of an actor with pending work, including its start, in seconds.

    """

    def __init__(
        self, make_env: Callable[[], gymnasium.Env[str, str]], num_envs: int, *, workers: int,
        resources: Mapping[str, float] | None = None, step_timeout_s: float = 300.0,
    ) -> None:  # fmt: skip
        if not 1 <= workers <= num_envs:
            raise ValueError(f"workers is {workers}; expected 1 to {num_envs}, the number of envs")
        self.num_envs = num_envs
        self._make_env = ray.put(make_env)
        self._options = {"num_cpus": 1, "resources": dict(resources or {}), "scheduling_strategy": "SPREAD"}
        self._step_timeout_s = step_timeout_s
        self._actors = [self._start() for _ in range(workers)]
        self._active_s = [0.0] * workers  # time of each actor's last result, or of the first call while it was idle
        self._calls: dict[Any, tuple[int, Any]] = {}  # env id and actor of pending calls, by reference
        self._lost_envs: set[int] = set()  # envs whose episode was lost with an actor
        self._ready: dict[int, Result] = {}

    def async_reset(self, seed: Sequence[int | None], options: Sequence[dict[str, Any]], env_ids: Sequence[int]) -> None:
        """Start an episode in each of these envs."""
        for env_seed, env_options, env_id in zip(seed, options, env_ids, strict=True):
            self._lost_envs.discard(env_id)
            self._call(env_id, "reset", env_seed, env_options)

    def send(self, actions: Sequence[str], env_ids: Sequence[int]) -> None:
        """Send one action to each of these envs."""
        for action, env_id in zip(actions, env_ids, strict=True):
            if env_id in self._lost_envs:
                self._ready[env_id] = failed_result("its actor was lost")
            else:
                self._call(env_id, "step", action)

    def poll(self, timeout_s: float | None = None) -> dict[int, Result]:
        """Return the results that are ready, by env id, in the order of their calls; wait for the first one for at most `timeout_s` seconds."""
        deadline_s = time.monotonic() + (float("inf") if timeout_s is None else timeout_s)
        while self._calls and not self._ready:
            wait_s = min(deadline_s, *map(self._actor_deadline, self._busy_actors())) - time.monotonic()
            ray.wait(list(self._calls), timeout=max(wait_s, 0.0))
            finished_calls, _ = ray.wait(list(self._calls), num_returns=len(self._calls), timeout=0)
            for reference in finished_calls:
                env_id, actor = self._calls.pop(reference)
                index = env_id % len(self._actors)
                try:
                    self._ready[env_id] = ray.get(reference)
                    self._active_s[index] = time.monotonic()
                except ACTOR_ERRORS as error:
                    self._ready[env_id] = failed_result(str(error))
                    if self._actors[index] is actor:
                        self._actors[index] = self._start()
                        self._lost_envs.update(range(index, self.num_envs, len(self._actors)))
            for index in self._busy_actors():
                if time.monotonic() > self._actor_deadline(index):
                    ray.kill(self._actors[index])  # its calls then fail like those of any dead actor
                    self._active_s[index] = time.monotonic()
            if time.monotonic() >= deadline_s:
                break
        ready, self._ready = self._ready, {}
        return ready

    def close(self) -> None:
        """End the actors."""
        for actor in self._actors:
            ray.kill(actor)
        self._actors.clear()

    def _start(self) -> Any:
        return ray.remote(_EnvActor).options(**self._options).remote(self._make_env, self.num_envs)

    def _call(self, env_id: int, method: str, *arguments: object) -> None:
        """Call a method of the env's actor. `poll` returns the result."""
        index = env_id % len(self._actors)
        if index not in self._busy_actors():
            self._active_s[index] = time.monotonic()
        actor = self._actors[index]
        self._calls[getattr(actor, method).remote(env_id, *arguments)] = (env_id, actor)

    def _busy_actors(self) -> list[int]:
        """Return the indices of actors with pending calls."""
        return sorted({env_id % len(self._actors) for env_id, _ in self._calls.values()})

    def _actor_deadline(self, index: int) -> float:
        return self._active_s[index] + self._step_timeout_s


class _EnvActor:
    """The Ray actor of envs."""

    def __init__(self, make_env: Callable[[], gymnasium.Env[str, str]], num_envs: int) -> None:
        self._envs = InProcessEnvs(make_env, num_envs)

    def reset(self, env_id: int, seed: int | None, options: dict[str, Any]) -> Result:
        self._envs.async_reset([seed], [options], [env_id])
        return self._envs.poll()[env_id]

    def step(self, env_id: int, action: str) -> Result:
        self._envs.send([action], [env_id])
        return self._envs.poll()[env_id]


def create_envs(tasks: Sequence[Task], num_envs: int, settings: StreamSettings, **env_arguments: Any) -> RayEnvs:
    """Return envs for these tasks on the cluster.

    An application or a suite must be at the same path on all nodes of envs, or added there under the same name. `settings.env_resource`
    limits the envs to nodes that have it. A relative path is one of this process, since Ray starts actors in another directory.
    """
    if application := env_arguments.get("application"):
        env_arguments["application"] = str(Path(application).resolve())
    if Path(suite := env_arguments.get("suite") or "").suffix in SUITE_SUFFIXES:
        env_arguments["suite"] = str(Path(suite).resolve())
    make_env = partial(gymnasium.make, ENV_ID, disable_env_checker=True, tasks=tasks, **env_arguments)
    resources = {settings.env_resource: 1.0} if settings.env_resource else {}
    return RayEnvs(make_env, num_envs, workers=settings.env_workers, resources=resources)
