"""`gymnasium.make_vec("WebArenaLite-v0")`: many envs with Gymnasium's vector API, and with an asynchronous one."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from time import monotonic
from typing import Any, NamedTuple, NoReturn

import gymnasium
import numpy
from gymnasium.error import AlreadyPendingCallError, ClosedEnvironmentError, NoAsyncCallError, ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv

from webarena_gym.arguments import as_int, expect_between, expect_one_of, expect_positive, quote_value
from webarena_gym.env import FAILURE_REWARD, WebArenaLite, warn_no_render_mode
from webarena_gym.episode import Snapshot
from webarena_gym.errors import WorkerError
from webarena_gym.options import HARD_STEPS, MAX_STEPS, VECTOR_KEYWORDS, LoadedTasks, OnFailure, expect_option_names
from webarena_gym.spaces import batch_space, empty_observation
from webarena_gym.vector.pool import CONTEXTS, Command, CommandResult, Pool, Start

_ASYNC_CALLS = {
    **dict.fromkeys(("step_async", "step_wait"), "; use send() and recv()"),
    **dict.fromkeys(("reset_async", "reset_wait"), "; use async_reset() and recv()"),
}
"""Methods of Gymnasium's `AsyncVectorEnv`, and the methods to use instead."""
_EVALUATION_KEYS = ("success", "verdicts")  # keys of an info that exist only for an evaluated episode

Seed = int | Sequence[int | None] | None
"""A seed for all envs, or one for each."""
Options = dict[str, Any] | Sequence[dict[str, Any]] | None
"""Options of `WebArenaLite.reset` for all envs, or one dictionary for each."""
Array = numpy.ndarray[Any, Any]
"""An array of shape (n,): float64 rewards, or bool terminations and truncations."""
VectorStep = tuple[Any, Array, Array, Array, dict[str, Any]]
"""Observations, rewards, terminations, truncations and infos of n envs; the three arrays have shape (n,). Observations are a tuple of n texts;
with pictures, a dictionary of tuples of n texts and of arrays with n as the first axis."""


class Result(NamedTuple):
    """The result of a step or a reset of one env.

    Attributes:
        observation: the observation: a str, or a dictionary with a picture.
        reward: the reward of the step; 0.0 for a reset, NaN after a failure with `on_failure="nan"`.
        terminated: True if the agent ended the episode.
        truncated: True if the step limit or a failure ended it.
        info: the info of the env.

    """

    observation: object
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


@dataclass
class _Episode:
    """The state of one env's episode in the parent process."""

    observation: object = ""
    info: dict[str, Any] = field(default_factory=dict)
    is_over: bool = False
    failure: str = ""  # description of the failure of its worker
    random_state: Mapping[str, Any] | None = None
    final: Result | None = None  # last result of the previous episode, which is returned with the start of this one


class WebArenaLiteVector(VectorEnv[Any, Any, Any]):
    """A Gymnasium vector env of `WebArenaLite` envs in worker processes.

    Observations are a tuple of `num_envs` texts, or with pictures a dictionary of tuples of texts and of arrays with `num_envs` as the first
    axis. Actions are a list of `num_envs` texts. Rewards are a float64 array and ends two bool arrays, each of shape (num_envs,).

    >>> import gymnasium, webarena_gym
    >>> envs = gymnasium.make_vec("WebArenaLite-v0", num_envs=2, workers=1, split="test", elements="label")
    >>> observations, infos = envs.reset(options={"task": "shopping.product_price/1000/0"})
    >>> observations, rewards, terminations, truncations, infos = envs.step(['exit(message="$46.50")', "exit()"])
    >>> rewards, terminations
    (array([1., 0.]), array([ True,  True]))
    >>> envs.close()

    `reset` and `step` are Gymnasium's API and wait for all envs. `async_reset`, `send` and `recv` do not wait for the slowest env: `recv`
    returns the first `batch_size` envs that are ready, and `infos["env_id"]` contains their ids. `poll` returns all envs that are ready,
    with an optional time limit. Equal seeds and actions give equal episodes, for any number of workers and any order in which they finish.

    A worker that dies, hangs or runs out of memory is replaced. Its episodes are truncated with the reward NaN, and `info["failure"]`
    describes the failure (see `on_failure` for the alternatives). The next reset continues the env's sequence of tasks. Attributes from
    `set_attr` are not restored in a new worker. An exception in an env is raised in this process, with the worker's traceback as a note.

    Args:
        num_envs: number of envs.
        batch_size: number of envs that `recv` waits for; all by default.
        workers: number of worker processes; by default the number of available cores. More are useful if steps wait for input or output.
        autoreset_mode: Gymnasium's mode. NEXT_STEP and SAME_STEP start the next episode automatically. With DISABLED, call `reset` with
            `options={"reset_mask": mask}`, or `async_reset`.
        step_timeout_s: seconds without a result after which a worker counts as hung and is killed.
        context: start method of the workers, "forkserver" or "spawn". Workers do not import the main script, which needs no main guard.
        make_env: function of the other keywords that returns an env, for example with wrappers; it must be picklable by cloudpickle.
        max_episode_steps: Gymnasium's step limit; equivalent to `max_steps`, and the smaller one applies.
        env_arguments: the keywords of `WebArenaLite`.

    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        batch_size: int | None = None,
        workers: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        step_timeout_s: float = 120.0,
        context: str = "forkserver",
        make_env: Callable[..., gymnasium.Env[Any, str]] = WebArenaLite,
        max_episode_steps: int | None = None,
        **env_arguments: Any,
    ) -> None:
        num_envs = expect_between("num_envs", num_envs, 1)
        batch_size = expect_between("batch_size", num_envs if batch_size is None else batch_size, 1, num_envs)
        workers = expect_between("workers", cores() if workers is None else workers, 1)
        expect_one_of("context", context, CONTEXTS)
        if not step_timeout_s > 0:
            raise ValueError(f"step_timeout_s is {step_timeout_s!r}; expected a positive number of seconds")
        if max_episode_steps is not None:
            limit = expect_positive("max_episode_steps", max_episode_steps)
            default = HARD_STEPS if env_arguments.get("split") == "hard" else MAX_STEPS
            env_arguments["max_steps"] = min(limit, env_arguments.get("max_steps") or default)
        if make_env is WebArenaLite:
            expect_option_names(env_arguments, "WebArenaLiteVector", VECTOR_KEYWORDS)
        if not callable(make_env):
            raise TypeError(f"make_env is {make_env!r}; expected a function that returns an environment")
        model = make_env(**env_arguments)
        if not isinstance(model, gymnasium.Env):
            raise TypeError(f"make_env returned {model!r}; expected an environment")
        if isinstance(model.unwrapped, WebArenaLite):
            env_arguments["tasks"] = LoadedTasks(model.unwrapped.tasks)  # generated once here, instead of in every env
        self.num_envs = num_envs
        self.batch_size = batch_size
        self.autoreset_mode = _autoreset_mode(autoreset_mode)
        self.metadata = {**model.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = model.render_mode
        self.single_observation_space = model.observation_space
        self.single_action_space = model.action_space
        self.observation_space = batch_space(model.observation_space, num_envs)
        self.action_space = batch_space(model.action_space, num_envs)
        model.close()
        frame, empty = None, empty_observation(model.observation_space)
        if isinstance(empty, dict) and "screenshot" in empty:
            frame = empty["screenshot"].shape
        self._on_failure: OnFailure = env_arguments.get("on_failure", "nan")
        self._pool = Pool(partial(make_env, **env_arguments), num_envs, min(workers, num_envs), step_timeout_s, context, frame)
        self._episodes = [_Episode(empty) for _ in range(num_envs)]
        self._pending: dict[int, str] = {}  # unfinished command by env, at most one each
        self._ready: dict[int, Result | Exception] = {}  # uncollected result by env, in the order in which they finished
        self._values: dict[int, CommandResult] = {}  # uncollected result of a call by env

    # Gymnasium's vector API.

    def reset(self, *, seed: Seed = None, options: Options = None) -> tuple[Any, dict[str, Any]]:
        """Start new episodes, in all envs or in those of `options["reset_mask"]`.

        Args:
            seed: a seed, to which the index of each env is added; or a list of one seed for each env.
            options: options of `WebArenaLite.reset` for all envs, or a list of options for each. `[{"task": id}] * num_envs` is a group:
                the same task in each env, on separate copies of the sites.

        Returns:
            The observations and infos of all envs.

        Raises:
            WorkerError: if the worker of an env fails.
            Exception: any exception of an env.

        """
        env_ids = list(range(self.num_envs))
        seeds = _seeds_by_env(seed, env_ids)
        if isinstance(options, dict) and "reset_mask" in options:
            mask = options["reset_mask"]
            is_mask = isinstance(mask, numpy.ndarray) and mask.dtype == numpy.bool_ and mask.shape == (self.num_envs,)
            if not is_mask or not mask.any():
                raise ValueError(
                    f"reset_mask is {mask!r}; expected a bool array of shape ({self.num_envs},), with at least one True"
                )
            env_ids = [int(env) for env in numpy.flatnonzero(mask)]
            options = {key: value for key, value in options.items() if key != "reset_mask"}
        self.async_reset([seeds[env] for env in env_ids], options, env_ids)
        infos: dict[str, Any] = {}
        for env, result in zip(env_ids, self._results_of(env_ids), strict=True):
            if result.truncated:
                raise WorkerError(f"env {env} could not be reset: {result.info['failure']}")
            infos = self._add_info(infos, result.info, env)
        return _batch([episode.observation for episode in self._episodes]), infos

    def step(self, actions: Sequence[str]) -> VectorStep:
        """Perform one action in each env, and wait for all of them. Raises the first exception of an env after all have finished."""
        self.send(actions)
        return _as_columns(self._results_of(range(self.num_envs)))

    def render(self) -> tuple[Any, ...]:
        """Return the result of each env's `render`; None for an env whose worker failed, and for all, with a warning, without `render_mode`."""
        if self.render_mode is None:
            warn_no_render_mode()
            return (None,) * self.num_envs
        running = [env for env, episode in enumerate(self._episodes) if not episode.failure]
        frames = dict(zip(running, self._call_envs(running, "render"), strict=True))
        return tuple(frames.get(env) for env in range(self.num_envs))

    def call(self, name: str, *positional: object, **keywords: object) -> tuple[Any, ...]:
        """Call a method of every env, or read an attribute, and return one value for each env."""
        return self._call_envs(range(self.num_envs), name, *positional, **keywords)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        return self.call(name)

    def set_attr(self, name: str, values: object) -> None:
        """Set an attribute of every env: one value for all, or a list or tuple of one value for each."""
        values_by_env = values if isinstance(values, list | tuple) else [values] * self.num_envs
        values_by_env = _per_env(values_by_env, range(self.num_envs), name)
        self._execute([Command(env, "set", (name, value)) for env, value in enumerate(values_by_env)])

    @property
    def np_random_seed(self) -> Any:
        return self.get_attr("np_random_seed")

    @property  # type: ignore[misc]
    def np_random(self) -> Any:
        """Copies of the random number generators of all envs."""
        return self.get_attr("np_random")

    def close_extras(self, *, timeout: float | None = None, terminate: bool = False) -> None:  # noqa: ARG002 - Gymnasium's
        """End all workers: gracefully, or with `terminate` immediately."""
        if not hasattr(self, "_pool"):  # old versions of Gymnasium call this after an error in `__init__`
            return
        if terminate:
            self._pool.kill()
        self._pool.close()

    # The asynchronous API, with the conventions of EnvPool.

    def __getattr__(self, name: str) -> NoReturn:
        hint = _ASYNC_CALLS.get(name, "")
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}{hint}", name=name, obj=self)

    def async_reset(self, seed: Seed = None, options: Options = None, env_ids: Iterable[int] | None = None) -> None:
        """Start new episodes, without waiting. `recv` and `poll` return their first observations, with the reward 0.

        Args:
            seed: a seed, to which the index of each env is added; or a list of one seed for each env of `env_ids`.
            options: options of `WebArenaLite.reset` for all envs, or a list of options for each env of `env_ids`.
            env_ids: indices of the envs; all by default.

        Raises:
            AlreadyPendingCallError: for an env whose last result has not been received.

        """
        envs = self._free_envs(env_ids)
        seeds, options_by_env = _seeds_by_env(seed, envs), _per_env(options, envs, "options")
        for env, env_options in zip(envs, options_by_env, strict=True):
            self._submit_reset(env, seeds[env], env_options)

    def send(self, actions: Sequence[str], env_ids: Iterable[int] | None = None) -> None:
        """Perform one action per env, without waiting. `recv` and `poll` return the results.

        In an env whose episode is over, the next episode starts instead (unless autoreset is disabled). An episode whose worker failed is
        truncated.

        >>> envs = WebArenaLiteVector(2, workers=1, batch_size=1)
        >>> _ = envs.reset(seed=7)
        >>> envs.send(["exit()", 'do(action="Wait")'])
        >>> for _ in range(2):
        ...     _, rewards, terminations, _, infos = envs.recv()
        ...     print(infos["env_id"], rewards, terminations)
        [0] [0.] [ True]
        [1] [0.] [False]
        >>> envs.close()

        Args:
            actions: one reply for each env.
            env_ids: indices of the envs; all by default.

        Raises:
            AlreadyPendingCallError: for an env whose last result has not been received.
            ResetNeeded: for an episode that is over, if autoreset is disabled.
            TypeError: for actions that are no list, or an action that is no str. No action is performed then.

        """
        envs = self._free_envs(env_ids)
        takes_text = isinstance(self.single_action_space, gymnasium.spaces.Text)
        if actions is None or isinstance(actions, dict):
            kind = "strings" if takes_text else "actions"
            raise TypeError(f"actions is {actions!r:.80}; expected a list of {len(envs)} {kind}")
        actions_by_env = _per_env(actions, envs, "actions")
        for env, action in zip(envs, actions_by_env, strict=True):
            if takes_text and not isinstance(action, str) and not self._episodes[env].is_over:
                raise TypeError(f"action of env {env} must be a str, got {type(action).__name__}")
        if self.autoreset_mode is AutoresetMode.DISABLED:
            over = [env for env in envs if self._episodes[env].is_over]
            if over:
                raise ResetNeeded(f"the episode of env {over[0]} is over, and autoreset is disabled; reset it first")
        for env, action in zip(envs, actions_by_env, strict=True):
            episode = self._episodes[env]
            if episode.is_over:
                self._submit_reset(env, final=episode.final)
            elif episode.failure:
                self._fail_episode(env, episode.failure)
            else:
                self._submit("step", Command(env, "step", (action,)))

    def recv(self) -> VectorStep:
        """Wait until `batch_size` envs are ready, and return their results in the order in which they finished.

        The batch is smaller if fewer calls are pending. `infos["env_id"]` contains the indices of the envs; the other infos have one entry
        for each of them.

        Raises:
            NoAsyncCallError: if no call is pending.
            Exception: any exception of an env.

        """
        self._expect_open()
        if not self._ready and not self._pending:
            raise NoAsyncCallError("no call is pending; call send() or async_reset() before recv()", "recv")
        self._raise_error()
        while len(self._ready) < self.batch_size and self._pending:
            self._process_results()
            self._raise_error()
        ready = list(self._ready)[: self.batch_size]
        return _as_columns(self._results_of(ready), ready)

    def poll(self, timeout_s: float | None = None) -> dict[int, Result]:
        """Return the results of all envs that are ready, by env index, in the order in which they finished.

        If no env is ready, wait for the first one. The result is empty after the time limit, and immediately if no call is pending.

        Args:
            timeout_s: time limit in seconds: 0 does not wait, None waits without a limit.

        Raises:
            Exception: any exception of an env.

        """
        self._expect_open()
        end = inf if timeout_s is None else monotonic() + timeout_s
        while self._pending and self._process_results(0.0 if self._ready else max(0.0, end - monotonic())):
            pass
        self._raise_error()
        return dict(zip(list(self._ready), self._results_of(list(self._ready)), strict=True))

    # Forking.

    def snapshot(self, env_id: int) -> Any:
        """Return a snapshot of the episode of an env, which can be restored in any env of any worker.

        Raises:
            WorkerError: if the worker of the env failed.
            AlreadyPendingCallError: for an env whose last result has not been received.

        """
        self._free_envs([env_id])
        if self._episodes[env_id].failure:
            raise WorkerError(self._episodes[env_id].failure)
        return self._call_envs([env_id], "snapshot")[0]

    def restore(self, env_id: int, snapshot: object) -> tuple[Any, dict[str, Any]]:
        """Replace the episode of an env by that of a snapshot.

        If that episode is over, the next step starts another one, or raises ResetNeeded if autoreset is disabled.

        Returns:
            The observation and the info at the time of the snapshot.

        Raises:
            SnapshotError: for an invalid snapshot.
            AlreadyPendingCallError: for an env whose last result has not been received.

        """
        self._free_envs([env_id])
        (start,) = self._execute([Command(env_id, "restore", (snapshot,))])
        self._store_start(env_id, start)
        episode = self._episodes[env_id]
        episode.is_over, episode.final = isinstance(snapshot, Snapshot) and snapshot.episode.is_over, None
        return episode.observation, episode.info

    @property
    def worker_pids(self) -> list[int]:
        return self._pool.pids

    # Commands to envs.

    def _expect_open(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError("the vector env is closed; make another one with gymnasium.make_vec")

    def _expect_free(self, envs: Iterable[int]) -> None:
        for env in envs:
            if env in self._pending or env in self._ready:
                call = self._pending.get(env, "step")
                raise AlreadyPendingCallError(f"env {env} has a pending call; recv() its result first", call)

    def _free_envs(self, env_ids: Iterable[int] | None) -> list[int]:
        """Return a list of env ids, all for None. Raises ValueError for invalid ids, and AlreadyPendingCallError for busy envs."""
        envs = list(range(self.num_envs)) if env_ids is None else [int(env) for env in env_ids]
        if any(not 0 <= env < self.num_envs for env in envs) or len(set(envs)) < len(envs):
            raise ValueError(f"env_ids is {envs}; expected distinct numbers from 0 to {self.num_envs - 1}")
        self._expect_open()
        self._expect_free(envs)
        return envs

    def _submit_reset(
        self, env: int, seed: int | None = None, options: Mapping[str, Any] | None = None, final: Result | None = None
    ) -> None:
        episode = self._episodes[env]
        episode.final = final
        self._submit("reset", Command(env, "reset", (seed, options, episode.random_state)))

    def _submit(self, call: str, command: Command) -> None:
        self._pool.submit(command)  # first, because a command that cannot be pickled raises here and is not pending
        self._pending[command.env] = call

    def _call_envs(self, envs: Iterable[int], name: str, *positional: object, **keywords: object) -> tuple[Any, ...]:
        return self._execute([Command(env, "call", (name, positional, keywords)) for env in envs])

    def _execute(self, commands: Sequence[Command]) -> tuple[Any, ...]:
        """Run commands, wait for all of them, and return their values. Raises the exceptions of envs, and WorkerError."""
        self._expect_open()
        self._expect_free(command.env for command in commands)
        for command in commands:
            self._submit("call", command)
        while not all(command.env in self._values for command in commands):
            self._process_results()
        results = [self._values.pop(command.env) for command in commands]
        for result in results:
            if result.outcome != "done":
                raise result.value if result.outcome == "raised" else WorkerError(result.value)
        return tuple(result.value for result in results)

    # Results of envs.

    def _results_of(self, envs: Sequence[int]) -> list[Result]:
        """Wait for these envs, and return and remove their results. Raises the first exception among them after all have finished."""
        while not all(env in self._ready for env in envs):
            self._process_results()
        results = [self._ready.pop(env) for env in envs]
        for result in results:
            if isinstance(result, Exception):
                raise result
        return [result for result in results if isinstance(result, Result)]

    def _raise_error(self) -> None:
        for env, result in self._ready.items():
            if isinstance(result, Exception):
                del self._ready[env]
                raise result

    def _process_results(self, timeout_s: float = inf) -> bool:
        """Wait for results of workers, and store them. Returns False if there are none within the time limit."""
        command_results = self._pool.wait(timeout_s)
        for command_result in command_results:
            env, outcome, value = command_result
            call = self._pending.pop(env, "")
            if outcome == "lost":
                self._episodes[env].failure = value
            if call == "call":
                self._values[env] = command_result
            elif call and outcome == "raised":
                self._ready[env] = value
            elif call == "reset":
                self._finish_reset(command_result)
            elif call == "step" and outcome == "done":
                self._finish_step(env, Result(*value))
            elif call == "step":
                self._fail_episode(env, value)
        return bool(command_results)

    def _finish_reset(self, command_result: CommandResult) -> None:
        """Store the result of a reset, with the last result of the previous episode after an automatic reset."""
        env, outcome, value = command_result
        episode = self._episodes[env]
        result: Result | WorkerError
        if outcome == "done":
            self._store_start(env, value)
            result = Result(episode.observation, 0.0, False, False, episode.info)
        else:
            episode.is_over = True
            episode.random_state = None  # draw another task next time, in case this one always fails
            result = self._failure_result(episode.observation, {}, value)
        if isinstance(result, Result) and (final := episode.final):
            episode.final = None
            info = {"final_obs": final.observation, "final_info": final.info, **result.info}
            result = final._replace(observation=result.observation, info=info)
        self._ready[env] = result

    def _store_start(self, env: int, start: Start) -> None:
        episode = self._episodes[env]
        episode.observation, episode.info, episode.random_state = start
        episode.is_over, episode.failure = False, ""

    def _fail_episode(self, env: int, failure: str) -> None:
        """End an episode after an infrastructure failure, with its last observation."""
        episode = self._episodes[env]
        info = {key: value for key, value in episode.info.items() if key not in _EVALUATION_KEYS}
        result = self._failure_result(episode.observation, info, failure)
        if isinstance(result, Result):
            self._finish_step(env, result)
        else:
            episode.is_over = True
            self._ready[env] = result

    def _failure_result(self, observation: object, info: Mapping[str, Any], failure: str) -> Result | WorkerError:
        """Return the last result of an episode after an infrastructure failure, or the error to raise with `on_failure="raise"`."""
        if self._on_failure == "raise":
            return WorkerError(failure)
        return Result(observation, FAILURE_REWARD[self._on_failure], False, True, {**info, "failure": failure})

    def _finish_step(self, env: int, result: Result) -> None:
        episode = self._episodes[env]
        episode.observation, episode.info = result.observation, result.info
        episode.is_over = result.terminated or result.truncated
        if episode.is_over and self.autoreset_mode is AutoresetMode.SAME_STEP:
            self._submit_reset(env, final=result)
        else:
            self._ready[env] = result


def _seeds_by_env(seed: Seed, envs: Sequence[int]) -> dict[int, int | None]:
    """Return the seed of each env: its entry in a list, or one seed plus the index of the env."""
    if seed is None or isinstance(seed, int | numpy.integer):
        return {env: None if seed is None else int(seed) + env for env in envs}
    return dict(zip(envs, map(as_int, _per_env(seed, envs, "seed")), strict=True))


def _autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    """Return a mode of Gymnasium by its value ("SameStep") or its name ("SAME_STEP"). Raises ValueError for anything else."""
    known = {text: member for member in AutoresetMode for text in (member.value, member.name)}
    if isinstance(mode, AutoresetMode):
        return mode
    if mode not in known:
        raise ValueError(
            f"autoreset_mode is {mode!r}; expected one of {', '.join(repr(member.value) for member in AutoresetMode)}"
        )
    return known[mode]


def _per_env(values: object, envs: Sequence[int], name: str) -> list[Any]:
    """Return a list of one value for each env; a dictionary or None is repeated. Raises ValueError or TypeError for anything else."""
    if values is None or isinstance(values, dict):
        return [values] * len(envs)
    if isinstance(values, str):
        text = quote_value(values)
        raise ValueError(f"{name} is the str {text}, not a list; expected one for each of {len(envs)} envs")  # noqa: TRY004
    if not isinstance(values, Iterable):
        raise TypeError(f"{name} is {values!r}; expected a list with one entry for each of {len(envs)} envs")
    entries = list(values)
    if len(entries) != len(envs):
        count = f"{len(entries)} {'entry' if len(entries) == 1 else 'entries'}"
        raise ValueError(f"{name} has {count}; expected one for each of {len(envs)} envs")
    return entries


def _batch(observations: Sequence[Any]) -> Any:
    """Return the batch of the observations of some envs, in the format of the batch space."""
    first = observations[0] if observations else None
    if isinstance(first, dict):
        return {key: _batch([observation[key] for observation in observations]) for key in first}
    return numpy.stack(observations) if isinstance(first, numpy.ndarray) else tuple(observations)


def _as_columns(results: Sequence[Result], env_ids: Sequence[int] | None = None) -> VectorStep:
    """Return results as columns, with their infos as one dictionary of arrays and masks; `env_ids` becomes `infos["env_id"]`."""
    rows: VectorEnv[Any, Any, Any] = (
        VectorEnv()
    )  # has Gymnasium's method that combines the infos of all envs, here of these rows
    rows.num_envs = len(results)
    infos: dict[str, Any] = {}
    for row, result in enumerate(results):
        infos = rows._add_info(infos, result.info, row)  # noqa: SLF001
    if env_ids is not None:
        infos["env_id"] = numpy.array(env_ids, dtype=numpy.int64)
    return (
        _batch([result.observation for result in results]),
        numpy.array([result.reward for result in results], dtype=numpy.float64),
        numpy.array([result.terminated for result in results], dtype=numpy.bool_),
        numpy.array([result.truncated for result in results], dtype=numpy.bool_),
        infos,
    )


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
