"""Envs in Ray actors, on the nodes of a cluster."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import gymnasium
import ray
from ray.exceptions import ObjectLostError, RayActorError

from agents.cluster import StreamSettings
from agents.rollouts.envs import InProcessEnvs, failed_result
from agents.settings import ENV_ID
from webarena_gym.tasks import Task
from webarena_gym.vector import Result

LOST = (RayActorError, ObjectLostError)


class RayEnvs:
    """Envs with their browsers in actors that Ray spreads over its nodes. Implements `agents.rollouts.envs.Envs`.

    Env i is in the actor i % workers, which has one CPU and `resources`, such as {"browsers": 1}. If an actor dies, or gives no result
    for `step_timeout_s` while it has work or is started, its episodes end with `info["failure"]`, and a new actor is started on any node
    with room. `make_env` must be picklable by cloudpickle.
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
        self._hosts = [self._start() for _ in range(workers)]
        self._heard_s = [0.0] * workers  # when each last gave a result, or got work while it had none
        self._under_way: dict[Any, tuple[int, Any]] = {}  # by reference, the env and its actor
        self._lost: set[int] = set()  # envs whose episode was lost with an actor
        self._ready: dict[int, Result] = {}

    def async_reset(self, seed: Sequence[int | None], options: Sequence[dict[str, Any]], env_ids: Sequence[int]) -> None:
        """Start an episode in each of these envs."""
        for env_seed, env_options, env_id in zip(seed, options, env_ids, strict=True):
            self._lost.discard(env_id)
            self._tell(env_id, "reset", env_seed, env_options)

    def send(self, actions: Sequence[str], env_ids: Sequence[int]) -> None:
        """Send one action to each of these envs."""
        for action, env_id in zip(actions, env_ids, strict=True):
            if env_id in self._lost:
                self._ready[env_id] = failed_result("its actor was lost")
            else:
                self._tell(env_id, "step", action)

    def poll(self, timeout_s: float | None = None) -> dict[int, Result]:
        """Return the Results that are ready, by env id; those of one call are in the order in which their work was given."""
        until = time.monotonic() + (float("inf") if timeout_s is None else timeout_s)
        while self._under_way and not self._ready:
            patience = min(until, *map(self._deadline, self._busy())) - time.monotonic()
            ray.wait(list(self._under_way), timeout=max(patience, 0.0))
            finished, _ = ray.wait(list(self._under_way), num_returns=len(self._under_way), timeout=0)
            for reference in finished:
                env_id, host = self._under_way.pop(reference)
                number = env_id % len(self._hosts)
                try:
                    self._ready[env_id] = ray.get(reference)
                    self._heard_s[number] = time.monotonic()
                except LOST as error:
                    self._ready[env_id] = failed_result(str(error))
                    if self._hosts[number] is host:
                        self._hosts[number] = self._start()
                        self._lost.update(range(number, self.num_envs, len(self._hosts)))
            for number in self._busy():
                if time.monotonic() > self._deadline(number):
                    ray.kill(self._hosts[number])  # its calls then fail like those of any dead actor
                    self._heard_s[number] = time.monotonic()
            if time.monotonic() >= until:
                break
        ready, self._ready = self._ready, {}
        return ready

    def close(self) -> None:
        """End the actors."""
        for host in self._hosts:
            ray.kill(host)
        self._hosts.clear()

    def _start(self) -> Any:
        return ray.remote(_Host).options(**self._options).remote(self._make_env, self.num_envs)

    def _tell(self, env_id: int, name: str, *arguments: Any) -> None:
        number = env_id % len(self._hosts)
        if number not in self._busy():
            self._heard_s[number] = time.monotonic()
        host = self._hosts[number]
        self._under_way[getattr(host, name).remote(env_id, *arguments)] = (env_id, host)

    def _busy(self) -> list[int]:
        return sorted({env_id % len(self._hosts) for env_id, _ in self._under_way.values()})

    def _deadline(self, number: int) -> float:
        return self._heard_s[number] + self._step_timeout_s


class _Host:
    """The actor: envs in a process on some node."""

    def __init__(self, make_env: Callable[[], gymnasium.Env[str, str]], num_envs: int) -> None:
        self._envs = InProcessEnvs(make_env, num_envs)

    def reset(self, env_id: int, seed: int | None, options: dict[str, Any]) -> Result:
        self._envs.async_reset([seed], [options], [env_id])
        return self._envs.poll()[env_id]

    def step(self, env_id: int, action: str) -> Result:
        self._envs.send([action], [env_id])
        return self._envs.poll()[env_id]


def create_envs(tasks: Sequence[Task], num_envs: int, settings: StreamSettings, **env_arguments: Any) -> RayEnvs:
    """Return envs for these tasks on the cluster."""
    make_env = partial(gymnasium.make, ENV_ID, disable_env_checker=True, tasks=tasks, **env_arguments)
    resources = {settings.env_resource: 1.0} if settings.env_resource else {}
    return RayEnvs(make_env, num_envs, workers=settings.env_workers, resources=resources)
