"""`gymnasium.make_vec("WebArenaLite-v0")`: Gymnasium's vector API, and an asynchronous one, over many envs."""

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import gymnasium
from gymnasium.error import ClosedEnvironmentError, NoAsyncCallError, ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv

from webarena_gym.arguments import expect_between, expect_one_of, expect_positive
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import WorkerError
from webarena_gym.options import HARD_STEPS, MAX_STEPS
from webarena_gym.spaces import batch_space
from webarena_gym.vector.env_states import EnvStates, Result
from webarena_gym.vector.per_env import Options, Seed, chosen_envs, masked_envs, one_each, seeds_by_env
from webarena_gym.vector.pool import CONTEXTS, Pool
from webarena_gym.vector.stacking import VectorStep, stack_results


class WebArenaLiteVector(VectorEnv[Any, Any, Any]):
    """Many `WebArenaLite` envs in worker processes.

    `reset` and `step` are Gymnasium's, in lock-step. `async_reset`, `send` and `recv` are for those who do not wait for the
    slowest: `recv` returns the `batch_size` envs that were ready first, and `infos["env_id"]` says which they are; `poll` returns
    whichever are ready, or none, and waits no longer than it is told to. Equal seeds
    and actions give equal episodes, whatever the number of workers and the order in which they finish.

    Args:
        num_envs: how many envs.
        batch_size: how many `recv` waits for; all by default.
        workers: how many processes share the envs; one for each core by default. More help where steps wait for something else.
        autoreset_mode: Gymnasium's. NEXT_STEP and SAME_STEP begin the next episode by themselves; with DISABLED, `reset` with
            `options={"reset_mask": mask}` or `async_reset` does.
        step_timeout_s: after this time without an answer a worker counts as hung.
        context: "forkserver" or "spawn". The script that runs is not imported in the workers, so it needs no main guard.
        make_env: makes one env from the other keywords, for wrappers around each; takes what cloudpickle takes.
        max_episode_steps: Gymnasium's limit of steps; the same as `max_steps`, and the smaller one counts.
        env_arguments: the keywords of `WebArenaLite`.

    A worker that dies, hangs or runs out of memory is replaced. EnvStates that were in it are truncated with the reward NaN and
    with `info["failure"]` to say why (`on_failure="zero"` and "raise" are as for one env), and the next reset goes on with the task that would have come. What `set_attr` has set
    is not set again. An exception that an env raises is raised here, with the worker's traceback as a note.

    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        batch_size: int | None = None,
        workers: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        step_timeout_s: float = 120.0,
        context: str = CONTEXTS[0],
        make_env: Callable[..., gymnasium.Env[str, str]] = WebArenaLite,
        max_episode_steps: int | None = None,
        **env_arguments: Any,
    ) -> None:
        expect_between("num_envs", num_envs, 1)
        batch_size = num_envs if batch_size is None else batch_size
        workers = cores() if workers is None else workers
        expect_between("batch_size", batch_size, 1, num_envs)
        expect_between("workers", workers, 1)
        expect_one_of("context", context, CONTEXTS)
        if not step_timeout_s > 0:
            raise ValueError(f"step_timeout_s is {step_timeout_s!r}; expected a positive number of seconds")
        if max_episode_steps is not None:
            expect_positive("max_episode_steps", max_episode_steps)
            usual = HARD_STEPS if env_arguments.get("split") == "hard" else MAX_STEPS
            env_arguments["max_steps"] = min(max_episode_steps, env_arguments.get("max_steps") or usual)
        model = make_env(**env_arguments)
        if isinstance(model.unwrapped, WebArenaLite):
            env_arguments["tasks"] = model.unwrapped.tasks  # drawn once, here, and not by every env
        self.num_envs = num_envs
        self.batch_size = batch_size
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**model.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = model.render_mode
        self.single_observation_space = model.observation_space
        self.single_action_space = model.action_space
        self.observation_space = batch_space(model.observation_space, num_envs)
        self.action_space = batch_space(model.action_space, num_envs)
        model.close()
        make = partial(make_env, **env_arguments)
        self._pool = Pool(make, num_envs, min(workers, num_envs), step_timeout_s, context)
        self._states = EnvStates(self._pool, num_envs, self.autoreset_mode, env_arguments.get("on_failure", "nan"))

    # Gymnasium's vector API.

    def reset(self, *, seed: Seed = None, options: Options = None) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Begin new episodes, in all envs or in those of `options["reset_mask"]`; env i gets the seed + i.

        Seeds and options may be lists with one for each env: `[{"task": id}] * num_envs` is a group, the same task in the same
        world in each env, isolated. Raises what an env raises, and WorkerError when a world cannot be brought up.
        """
        chosen = list(range(self.num_envs))
        seeds = seeds_by_env(seed, chosen)
        if isinstance(options, dict) and "reset_mask" in options:
            chosen = masked_envs(options["reset_mask"], self.num_envs)
            options = {key: value for key, value in options.items() if key != "reset_mask"}
        self.async_reset([seeds[env] for env in chosen], options, chosen)
        infos: dict[str, Any] = {}
        for env, result in zip(chosen, self._states.take(chosen), strict=True):
            if result.truncated:
                raise WorkerError(f"env {env} could not be reset: {result.info['failure']}")
            infos = self._add_info(infos, result.info, env)
        return tuple(episode.observation for episode in self._states), infos

    def step(self, actions: Sequence[str]) -> VectorStep:
        """Take one action in each env, and wait for all of them. Raises what an env raises, when all are done."""
        self.send(actions)
        return stack_results(self._states.take(range(self.num_envs)))

    def render(self) -> tuple[Any, ...]:
        """Return what each env's `render` does; None for one whose episode was lost."""
        shown = [env for env, episode in enumerate(self._states) if not episode.lost]
        frames = dict(zip(shown, self._calls(shown, "render"), strict=True))
        return tuple(frames.get(env) for env in range(self.num_envs))

    def call(self, name: str, *positional: Any, **named: Any) -> tuple[Any, ...]:
        """Call a method of every env, or read an attribute; returns one value for each."""
        return self._calls(range(self.num_envs), name, *positional, **named)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of every env."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of every env: a list or tuple of one value for each, or one value for all."""
        several = one_each(values if isinstance(values, list | tuple) else [values] * self.num_envs, range(self.num_envs), name)
        self._expect_open()
        self._states.set(name, several)

    @property
    def np_random_seed(self) -> Any:
        """The seeds of all envs."""
        return self.get_attr("np_random_seed")

    @property  # type: ignore[misc]
    def np_random(self) -> Any:
        """Copies of the random numbers of all envs."""
        return self.get_attr("np_random")

    def close_extras(self, *, timeout: float | None = None, terminate: bool = False) -> None:  # noqa: ARG002 - Gymnasium's
        """End the workers in good order, or with `terminate` at once; either way none is left in the end."""
        if not hasattr(self, "_pool"):  # old versions of Gymnasium close even what could not be made
            return
        if terminate:
            self._pool.kill()
        self._pool.close()

    # Asynchronously, by the conventions of EnvPool.

    def async_reset(
        self,
        seed: Seed = None,
        options: Options = None,
        env_ids: Iterable[int] | None = None,
    ) -> None:
        """Begin new episodes, in all envs or in the named ones; `recv` returns them, with the reward 0.

        Env i gets the seed + i. Lists of seeds or options have one for each of the envs.
        """
        chosen = self._chosen(env_ids)
        seeds, several = seeds_by_env(seed, chosen), one_each(options, chosen, "options")
        for env, env_options in zip(chosen, several, strict=True):
            self._states.reset(env, seeds[env], env_options)

    def send(self, actions: Sequence[str], env_ids: Iterable[int] | None = None) -> None:
        """Let all envs, or the named ones, take one action each; `recv` returns what comes of them.

        Raises AlreadyPendingCallError for an env that has not been received since it was last told to do something.
        """
        chosen = self._chosen(env_ids)
        several = one_each(actions, chosen, "actions")
        if self.autoreset_mode is AutoresetMode.DISABLED:
            over = [env for env in chosen if self._states[env].is_over]
            if over:
                raise ResetNeeded(f"the episode of env {over[0]} is over, and autoreset is disabled; reset it first")
        for env, action in zip(chosen, several, strict=True):
            self._states.step(env, action)

    def recv(self) -> VectorStep:
        """Return the `batch_size` envs that are ready first, in that order; fewer when no more are under way.

        `infos["env_id"]` says which they are; the other infos have one entry for each of them. Raises what an env raises, and
        NoAsyncCallError when nothing is under way.
        """
        self._expect_open()
        if self._states.are_idle:
            raise NoAsyncCallError("nothing is under way; send() actions or async_reset() before recv()", "recv")
        results = self._states.take_first(self.batch_size)
        return stack_results(list(results.values()), list(results))

    def poll(self, timeout_s: float | None = None) -> dict[int, Result]:
        """Return all envs that are ready, however many, as a row each by env id, in the order in which they finished.

        If none is, wait for the first at most `timeout_s` seconds (0: do not wait; None: as long as it takes). The result is
        empty when the time is over, and at once when nothing is under way. Raises what an env raises.
        """
        self._expect_open()
        return self._states.take_ready(timeout_s)

    # Forking.

    def snapshot(self, env_id: int) -> Any:
        """Return the whole episode of an env, to be restored in any other, also of another worker.

        Raises WorkerError when its worker was lost.
        """
        self._chosen([env_id])
        if self._states[env_id].lost:
            raise WorkerError(self._states[env_id].lost)
        return self._calls([env_id], "snapshot")[0]

    def restore(self, env_id: int, snapshot: Any) -> tuple[str, dict[str, Any]]:
        """Continue from a snapshot in an env; returns what a reset of it would."""
        self._chosen([env_id])
        episode = self._states.restore(env_id, snapshot)
        return episode.observation, episode.info

    @property
    def worker_pids(self) -> list[int]:
        """The processes that run now."""
        return self._pool.pids

    # Inside.

    def _calls(self, envs: Iterable[int], name: str, *positional: Any, **named: Any) -> tuple[Any, ...]:
        self._expect_open()
        return self._states.call(envs, name, *positional, **named)

    def _expect_open(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError("the vector env is closed")

    def _chosen(self, env_ids: Iterable[int] | None) -> list[int]:
        """Return env ids that are there, different and free."""
        chosen = chosen_envs(env_ids, self.num_envs)
        self._expect_open()
        self._states.expect_free(chosen)
        return chosen


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
