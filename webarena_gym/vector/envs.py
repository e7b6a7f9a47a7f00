"""`gymnasium.make_vec("WebArenaLite-v0")`: Gymnasium's vector API, and an asynchronous one, over many envs."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from time import monotonic
from typing import Any, NamedTuple

import gymnasium
import numpy
from gymnasium.error import AlreadyPendingCallError, ClosedEnvironmentError, NoAsyncCallError, ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv

from webarena_gym.arguments import as_int, expect_between, expect_one_of, expect_positive
from webarena_gym.env import FAILURE_REWARD, Snapshot, WebArenaLite
from webarena_gym.errors import WorkerError
from webarena_gym.options import HARD_STEPS, MAX_STEPS, OnFailure
from webarena_gym.spaces import batch_space
from webarena_gym.vector.pool import CONTEXTS, Command, CommandResult, Pool, Start

_JUDGEMENT = ("success", "verdicts")  # what an info says of an episode that was judged

Seed = int | Sequence[int | None] | None
Options = dict[str, Any] | Sequence[dict[str, Any]] | None
Array = numpy.ndarray[Any, Any]
VectorStep = tuple[Any, Array, Array, Array, dict[str, Any]]
"""Observations, rewards, terminations, truncations and infos of some envs. Observations are a tuple of texts; with pictures, a dictionary of
tuples of texts and of arrays whose first axis is that of the envs."""


class Result(NamedTuple):
    """The result of a step, or a reset, of one env."""

    observation: Any
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


@dataclass
class _Episode:
    """The episode of one env, as far as the parent process knows it."""

    observation: Any = ""
    info: dict[str, Any] = field(default_factory=dict)
    is_over: bool = False
    lost: str = ""  # why its worker does not have it any more
    random_state: Mapping[str, Any] | None = None
    final: Result | None = None  # of the episode before, told together with the start of this one


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

    A worker that dies, hangs or runs out of memory is replaced. Episodes that were in it are truncated with the reward NaN and
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
            usual = HARD_STEPS if env_arguments.get("split") == "hard" else MAX_STEPS
            env_arguments["max_steps"] = min(limit, env_arguments.get("max_steps") or usual)
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
        frame, blank = None, _blank(model.observation_space)
        if isinstance(blank, dict) and "screenshot" in blank:
            frame = blank["screenshot"].shape
        self._on_failure: OnFailure = env_arguments.get("on_failure", "nan")
        self._pool = Pool(partial(make_env, **env_arguments), num_envs, min(workers, num_envs), step_timeout_s, context, frame)
        self._episodes = [_Episode(blank) for _ in range(num_envs)]
        self._under_way: dict[int, str] = {}  # by env, what it was told to do and has not done; one thing at a time
        self._ready: dict[int, Result | Exception] = {}  # by env, in the order in which they finished, until taken
        self._values: dict[int, CommandResult] = {}  # of calls

    # Gymnasium's vector API.

    def reset(self, *, seed: Seed = None, options: Options = None) -> tuple[Any, dict[str, Any]]:
        """Begin new episodes, in all envs or in those of `options["reset_mask"]`; env i gets the seed + i.

        Seeds and options may be lists with one for each env: `[{"task": id}] * num_envs` is a group, the same task in the same
        world in each env, isolated. Raises what an env raises, and WorkerError when a world cannot be brought up.
        """
        chosen = list(range(self.num_envs))
        seeds = _seeds_by_env(seed, chosen)
        if isinstance(options, dict) and "reset_mask" in options:
            mask = options["reset_mask"]
            is_mask = isinstance(mask, numpy.ndarray) and mask.dtype == numpy.bool_ and mask.shape == (self.num_envs,)
            if not is_mask or not mask.any():
                raise ValueError(f"reset_mask is {mask!r}; expected an array of {self.num_envs} booleans, some of them true")
            chosen = [int(env) for env in numpy.flatnonzero(mask)]
            options = {key: value for key, value in options.items() if key != "reset_mask"}
        self.async_reset([seeds[env] for env in chosen], options, chosen)
        infos: dict[str, Any] = {}
        for env, result in zip(chosen, self._take(chosen), strict=True):
            if result.truncated:
                raise WorkerError(f"env {env} could not be reset: {result.info['failure']}")
            infos = self._add_info(infos, result.info, env)
        return _together([episode.observation for episode in self._episodes]), infos

    def step(self, actions: Sequence[str]) -> VectorStep:
        """Take one action in each env, and wait for all of them. Raises what an env raises, when all are done."""
        self.send(actions)
        return _columns(self._take(range(self.num_envs)))

    def render(self) -> tuple[Any, ...]:
        """Return what each env's `render` does; None for one whose episode was lost."""
        shown = [env for env, episode in enumerate(self._episodes) if not episode.lost]
        frames = dict(zip(shown, self._call(shown, "render"), strict=True))
        return tuple(frames.get(env) for env in range(self.num_envs))

    def call(self, name: str, *positional: Any, **named: Any) -> tuple[Any, ...]:
        """Call a method of every env, or read an attribute; returns one value for each."""
        return self._call(range(self.num_envs), name, *positional, **named)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of every env: a list or tuple of one value for each, or one value for all."""
        several = values if isinstance(values, list | tuple) else [values] * self.num_envs
        several = _one_each(several, range(self.num_envs), name)
        self._ask([Command(env, "set", (name, value)) for env, value in enumerate(several)])

    @property
    def np_random_seed(self) -> Any:
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

    def async_reset(self, seed: Seed = None, options: Options = None, env_ids: Iterable[int] | None = None) -> None:
        """Begin new episodes, in all envs or in the named ones; `recv` returns them, with the reward 0.

        Env i gets the seed + i. Lists of seeds or options have one for each of the envs.
        """
        chosen = self._chosen(env_ids)
        seeds, several = _seeds_by_env(seed, chosen), _one_each(options, chosen, "options")
        for env, env_options in zip(chosen, several, strict=True):
            self._reset(env, seeds[env], env_options)

    def send(self, actions: Sequence[str], env_ids: Iterable[int] | None = None) -> None:
        """Let all envs, or the named ones, take one action each; `recv` returns what comes of them.

        An episode that is over makes room for the next, one that is lost ends. Raises AlreadyPendingCallError for an env that has not
        been received since it was last told to do something.
        """
        chosen = self._chosen(env_ids)
        several = _one_each(actions, chosen, "actions")
        if self.autoreset_mode is AutoresetMode.DISABLED:
            over = [env for env in chosen if self._episodes[env].is_over]
            if over:
                raise ResetNeeded(f"the episode of env {over[0]} is over, and autoreset is disabled; reset it first")
        for env, action in zip(chosen, several, strict=True):
            episode = self._episodes[env]
            if episode.is_over:
                self._reset(env, final=episode.final)
            elif episode.lost:
                self._fail(env, episode.lost)
            else:
                self._submit("step", Command(env, "step", (action,)))

    def recv(self) -> VectorStep:
        """Return the `batch_size` envs that are ready first, in that order; fewer when no more are under way.

        `infos["env_id"]` says which they are; the other infos have one entry for each of them. Raises what an env raises, and
        NoAsyncCallError when nothing is under way.
        """
        self._expect_open()
        if not self._ready and not self._under_way:
            raise NoAsyncCallError("nothing is under way; send() actions or async_reset() before recv()", "recv")
        self._raise_first()
        while len(self._ready) < self.batch_size and self._under_way:
            self._listen()
            self._raise_first()
        chosen = list(self._ready)[: self.batch_size]
        return _columns(self._take(chosen), chosen)

    def poll(self, timeout_s: float | None = None) -> dict[int, Result]:
        """Return all envs that are ready, however many, as a row each by env id, in the order in which they finished.

        If none is, wait for the first at most `timeout_s` seconds (0: do not wait; None: as long as it takes). The result is
        empty when the time is over, and at once when nothing is under way. Raises what an env raises.
        """
        self._expect_open()
        end = inf if timeout_s is None else monotonic() + timeout_s
        while self._under_way and self._listen(0.0 if self._ready else max(0.0, end - monotonic())):
            pass
        self._raise_first()
        return dict(zip(list(self._ready), self._take(list(self._ready)), strict=True))

    # Forking.

    def snapshot(self, env_id: int) -> Any:
        """Return the whole episode of an env, to be restored in any other, also of another worker.

        Raises WorkerError when its worker was lost.
        """
        self._chosen([env_id])
        if self._episodes[env_id].lost:
            raise WorkerError(self._episodes[env_id].lost)
        return self._call([env_id], "snapshot")[0]

    def restore(self, env_id: int, snapshot: Any) -> tuple[Any, dict[str, Any]]:
        """Continue from a snapshot in an env; returns what a reset of it would.

        If the episode was over, the next step starts another, or with the autoreset mode DISABLED raises ResetNeeded.
        """
        self._chosen([env_id])
        (start,) = self._ask([Command(env_id, "restore", (snapshot,))])
        self._enter(env_id, start)
        episode = self._episodes[env_id]
        episode.is_over, episode.final = isinstance(snapshot, Snapshot) and snapshot.episode.is_over, None
        return episode.observation, episode.info

    @property
    def worker_pids(self) -> list[int]:
        return self._pool.pids

    # Telling envs what to do.

    def _expect_open(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError("the vector env is closed")

    def _expect_free(self, envs: Iterable[int]) -> None:
        for env in envs:
            if env in self._under_way or env in self._ready:
                what = self._under_way.get(env, "step")
                raise AlreadyPendingCallError(f"env {env} has something under way; recv() it first", what)

    def _chosen(self, env_ids: Iterable[int] | None) -> list[int]:
        """Return env ids that are there, different and free; all for None."""
        chosen = list(range(self.num_envs)) if env_ids is None else [int(env) for env in env_ids]
        if any(not 0 <= env < self.num_envs for env in chosen) or len(set(chosen)) < len(chosen):
            raise ValueError(f"env_ids is {chosen}; expected different numbers from 0 to {self.num_envs - 1}")
        self._expect_open()
        self._expect_free(chosen)
        return chosen

    def _reset(
        self, env: int, seed: int | None = None, options: Mapping[str, Any] | None = None, final: Result | None = None
    ) -> None:
        episode = self._episodes[env]
        episode.final = final
        self._submit("reset", Command(env, "reset", (seed, options, episode.random_state)))

    def _submit(self, what: str, command: Command) -> None:
        self._pool.submit(command)  # one that cannot be handed over, as it cannot be pickled, is not under way
        self._under_way[command.env] = what

    def _call(self, envs: Iterable[int], name: str, *positional: Any, **named: Any) -> tuple[Any, ...]:
        return self._ask([Command(env, "call", (name, positional, named)) for env in envs])

    def _ask(self, commands: Sequence[Command]) -> tuple[Any, ...]:
        """Wait for the values of commands. Raises what the envs raise, and WorkerError."""
        self._expect_open()
        self._expect_free(command.env for command in commands)
        for command in commands:
            self._submit("call", command)
        while not all(command.env in self._values for command in commands):
            self._listen()
        answers = [self._values.pop(command.env) for command in commands]
        for answer in answers:
            if answer.outcome != "done":
                raise answer.value if answer.outcome == "raised" else WorkerError(answer.value)
        return tuple(answer.value for answer in answers)

    # What came of it.

    def _take(self, envs: Sequence[int]) -> list[Result]:
        """Wait for these envs and return their results. Raises the first error among them, when all are done."""
        while not all(env in self._ready for env in envs):
            self._listen()
        taken = [self._ready.pop(env) for env in envs]
        for result in taken:
            if isinstance(result, Exception):
                raise result
        return [result for result in taken if isinstance(result, Result)]

    def _raise_first(self) -> None:
        for env, result in self._ready.items():
            if isinstance(result, Exception):
                del self._ready[env]
                raise result

    def _listen(self, timeout_s: float = inf) -> bool:
        """Wait until something happens and take note of it. Returns False when nothing does in that time."""
        answers = self._pool.wait(timeout_s)
        for answer in answers:
            what = self._under_way.pop(answer.env, "")
            if answer.outcome == "lost":
                self._episodes[answer.env].lost = answer.value
            if what == "call":
                self._values[answer.env] = answer
            elif what and answer.outcome == "raised":
                self._ready[answer.env] = answer.value
            elif what == "reset":
                self._begin(answer)
            elif what == "step" and answer.outcome == "done":
                self._finish(answer.env, Result(*answer.value))
            elif what == "step":
                self._fail(answer.env, answer.value)
        return bool(answers)

    def _begin(self, answer: CommandResult) -> None:
        """Take the answer to a reset: an episode begins, or cannot."""
        episode = self._episodes[answer.env]
        result: Result | WorkerError
        if answer.outcome == "done":
            self._enter(answer.env, answer.value)
            result = Result(episode.observation, 0.0, False, False, episode.info)
        else:
            episode.is_over = True
            episode.random_state = None  # the next draw is another, lest one bad world is tried for ever
            result = self._lost(episode.observation, {}, answer.value)
        if isinstance(result, Result) and (final := episode.final):
            episode.final = None
            told = {"final_obs": final.observation, "final_info": final.info, **result.info}
            result = final._replace(observation=result.observation, info=told)
        self._ready[answer.env] = result

    def _enter(self, env: int, start: Start) -> None:
        episode = self._episodes[env]
        episode.observation, episode.info, episode.random_state = start
        episode.is_over, episode.lost = False, ""

    def _fail(self, env: int, failure: str) -> None:
        """End an episode through no fault of the agent, where it was last seen."""
        episode = self._episodes[env]
        info = {key: value for key, value in episode.info.items() if key not in _JUDGEMENT}
        result = self._lost(episode.observation, info, failure)
        if isinstance(result, Result):
            self._finish(env, result)
        else:
            episode.is_over = True
            self._ready[env] = result

    def _lost(self, observation: Any, info: Mapping[str, Any], failure: str) -> Result | WorkerError:
        """Return what becomes of an episode that is lost, or the error that its user wants in its place."""
        if self._on_failure == "raise":
            return WorkerError(failure)
        return Result(observation, FAILURE_REWARD[self._on_failure], False, True, {**info, "failure": failure})

    def _finish(self, env: int, result: Result) -> None:
        episode = self._episodes[env]
        episode.observation, episode.info = result.observation, result.info
        episode.is_over = result.terminated or result.truncated
        if episode.is_over and self.autoreset_mode is AutoresetMode.SAME_STEP:
            self._reset(env, final=result)
        else:
            self._ready[env] = result


def _seeds_by_env(seed: Seed, envs: Sequence[int]) -> dict[int, int | None]:
    """Return the seed of each env: its own of a list, or the one seed plus the env's id."""
    if seed is None or isinstance(seed, int | numpy.integer):
        return {env: None if seed is None else int(seed) + env for env in envs}
    return dict(zip(envs, map(as_int, _one_each(seed, envs, "seed")), strict=True))


def _one_each(values: Any, envs: Sequence[int], name: str) -> list[Any]:
    """Return one value for each env; a dictionary or None is for all. Raises ValueError when there are more or fewer."""
    if values is None or isinstance(values, dict):
        return [values] * len(envs)
    if isinstance(values, str) or len(values) != len(envs):
        raise ValueError(f"{name} has {len(values)} entries; expected one for each of {len(envs)} envs")
    return list(values)


def _blank(space: gymnasium.Space[Any]) -> Any:
    """Return what stands for an observation that never came: empty texts, and pictures of zeros."""
    if isinstance(space, gymnasium.spaces.Dict):
        return {key: _blank(part) for key, part in space.items()}
    return numpy.zeros(space.shape, space.dtype) if isinstance(space, gymnasium.spaces.Box) else ""


def _together(observations: Sequence[Any]) -> Any:
    """Return observations of some envs as the batch space has them."""
    first = observations[0] if observations else None
    if isinstance(first, dict):
        return {key: _together([observation[key] for observation in observations]) for key in first}
    return numpy.stack(observations) if isinstance(first, numpy.ndarray) else tuple(observations)


def _columns(results: Sequence[Result], env_ids: Sequence[int] | None = None) -> VectorStep:
    """Return results as columns, and their infos as one dictionary of arrays with masks; `env_ids` becomes `infos["env_id"]`."""
    rows: VectorEnv[Any, Any, Any] = VectorEnv()  # Gymnasium's way to put infos together, for these rows instead of all envs
    rows.num_envs = len(results)
    infos: dict[str, Any] = {}
    for row, result in enumerate(results):
        infos = rows._add_info(infos, result.info, row)  # noqa: SLF001
    if env_ids is not None:
        infos["env_id"] = numpy.array(env_ids, dtype=numpy.int64)
    return (
        _together([result.observation for result in results]),
        numpy.array([result.reward for result in results], dtype=numpy.float64),
        numpy.array([result.terminated for result in results], dtype=numpy.bool_),
        numpy.array([result.truncated for result in results], dtype=numpy.bool_),
        infos,
    )


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
