"""What the parent process knows of each env: the command under way, its result, and the episode that is lost with a worker."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import Any, NamedTuple

from gymnasium.error import AlreadyPendingCallError
from gymnasium.vector import AutoresetMode

from webarena_gym.env import FAILURE_REWARD
from webarena_gym.errors import WorkerError
from webarena_gym.options import OnFailure
from webarena_gym.vector.pool import Pool
from webarena_gym.vector.workers import Command, CommandResult, Start

_JUDGEMENT = ("success", "verdicts")  # what an info says of an episode that was judged


class Result(NamedTuple):
    """What a step, or a reset, of one env came to."""

    observation: str
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


@dataclass
class EnvState:
    """What this side knows of the episode of one env."""

    observation: str = ""
    info: dict[str, Any] = field(default_factory=dict)
    is_over: bool = False
    lost: str = ""  # why its worker does not have it any more
    random_state: Mapping[str, Any] | None = None
    final: Result | None = None  # of the episode before, told together with the start of this one


class EnvStates(Sequence[EnvState]):
    """One episode after the other in each of the envs of a pool.

    Each env does one thing at a time. What it came to is kept until it is asked for.
    """

    def __init__(self, pool: Pool, num_envs: int, autoreset_mode: AutoresetMode, on_failure: OnFailure = "nan") -> None:
        self._pool = pool
        self._on_failure: OnFailure = on_failure
        self._mode = autoreset_mode
        self._states = [EnvState() for _ in range(num_envs)]
        self._under_way: dict[int, str] = {}  # by env, what it was told to do and has not done
        self._ready: dict[int, Result | Exception] = {}  # by env, in the order in which they finished
        self._values: dict[int, CommandResult] = {}  # of calls

    def __getitem__(self, env: Any) -> Any:
        return self._states[env]

    def __len__(self) -> int:
        return len(self._states)

    # What the envs are told.

    def reset(self, env: int, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Let an env begin an episode."""
        self._reset(env, seed, options, None)

    def step(self, env: int, action: str) -> None:
        """Let an env take an action. An episode that is over makes room for the next, one that is lost ends."""
        episode = self._states[env]
        if episode.is_over:
            self._reset(env, None, None, episode.final)
        elif episode.lost:
            self._fail(env, episode.lost)
        else:
            self._submit("step", Command(env, "step", (action,)))

    def call(self, envs: Iterable[int], name: str, *positional: Any, **named: Any) -> tuple[Any, ...]:
        """Call a method of these envs, or read an attribute, and wait. Raises what they raise, and WorkerError."""
        return self._ask([Command(env, "call", (name, positional, named)) for env in envs])

    def set(self, name: str, values: Sequence[Any]) -> None:
        """Set an attribute of every env, and wait."""
        self._ask([Command(env, "set", (name, value)) for env, value in enumerate(values)])

    def restore(self, env: int, snapshot: Any) -> EnvState:
        """Let an env continue from a snapshot, and wait."""
        (start,) = self._ask([Command(env, "restore", (snapshot,))])
        self._enter(env, start)
        self._states[env].is_over = bool(getattr(snapshot, "done", False))
        return self._states[env]

    # What came of it.

    @property
    def are_idle(self) -> bool:
        """Whether there is nothing to wait for and nothing to take."""
        return not self._ready and not self._under_way

    def expect_free(self, envs: Iterable[int]) -> None:
        """Raise AlreadyPendingCallError for the first of these envs that has something under way, or not yet taken."""
        for env in envs:
            if env in self._under_way or env in self._ready:
                what = self._under_way.get(env, "step")
                raise AlreadyPendingCallError(f"env {env} has something under way; recv() it first", what)

    def take(self, envs: Sequence[int]) -> list[Result]:
        """Wait for these envs and return their results. Raises the first error among them, when all are done."""
        while not all(env in self._ready for env in envs):
            self._listen()
        taken = [self._ready.pop(env) for env in envs]
        results = [result for result in taken if isinstance(result, Result)]
        for error in taken:
            if isinstance(error, Exception):
                raise error
        return results

    def take_first(self, count: int) -> dict[int, Result]:
        """Wait for `count` results, or all that are under way, and return them by env. Raises an error as soon as there is one."""
        while True:
            self._raise_first()
            if len(self._ready) >= count or not self._under_way:
                chosen = list(self._ready)[:count]
                return dict(zip(chosen, self.take(chosen), strict=True))
            self._listen()

    def take_ready(self, timeout_s: float | None = None) -> dict[int, Result]:
        """Return all results that are ready, by env; wait for the first at most `timeout_s` seconds. Raises as `take_first`."""
        end = inf if timeout_s is None else monotonic() + timeout_s
        while self._under_way and self._listen(0.0 if self._ready else max(0.0, end - monotonic())):
            pass
        self._raise_first()
        return dict(zip(list(self._ready), self.take(list(self._ready)), strict=True))

    # Inside.

    def _reset(self, env: int, seed: int | None, options: Mapping[str, Any] | None, final: Result | None) -> None:
        self._states[env].final = final
        self._submit("reset", Command(env, "reset", (seed, options, self._states[env].random_state)))

    def _submit(self, what: str, command: Command) -> None:
        """Hand a command to the pool. One that cannot be handed over, as it cannot be pickled, is not under way."""
        self._pool.submit(command)
        self._under_way[command.env] = what

    def _ask(self, commands: Sequence[Command]) -> tuple[Any, ...]:
        self.expect_free(command.env for command in commands)
        for command in commands:
            self._submit("call", command)
        while not all(command.env in self._values for command in commands):
            self._listen()
        answers = [self._values.pop(command.env) for command in commands]
        for answer in answers:
            if answer.outcome == "raised":
                raise answer.value
            if answer.outcome == "lost":
                raise WorkerError(answer.value)
        return tuple(answer.value for answer in answers)

    def _raise_first(self) -> None:
        """Raise the first error that is ready, if there is one."""
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
                self._states[answer.env].lost = answer.value
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
        episode = self._states[answer.env]
        result: Result | WorkerError
        if answer.outcome == "done":
            self._enter(answer.env, answer.value)
            result = Result(answer.value.observation, 0.0, False, False, answer.value.info)
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
        episode = self._states[env]
        episode.observation, episode.info, episode.random_state = start
        episode.is_over, episode.lost = False, ""

    def _fail(self, env: int, failure: str) -> None:
        """End an episode through no fault of the agent, where it was last seen."""
        episode = self._states[env]
        info = {key: value for key, value in episode.info.items() if key not in _JUDGEMENT}
        result = self._lost(episode.observation, info, failure)
        if isinstance(result, Result):
            self._finish(env, result)
        else:
            episode.is_over = True
            self._ready[env] = result

    def _lost(self, observation: str, info: Mapping[str, Any], failure: str) -> Result | WorkerError:
        """Return what becomes of an episode that is lost, or the error that its user wants in its place."""
        if self._on_failure == "raise":
            return WorkerError(failure)
        return Result(observation, FAILURE_REWARD[self._on_failure], False, True, {**info, "failure": failure})

    def _finish(self, env: int, result: Result) -> None:
        """Take the outcome of a step."""
        episode = self._states[env]
        episode.observation, episode.info = result.observation, result.info
        episode.is_over = result.terminated or result.truncated
        if episode.is_over and self._mode is AutoresetMode.SAME_STEP:
            self._reset(env, None, None, result)
        else:
            self._ready[env] = result
