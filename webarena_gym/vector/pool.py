"""Worker processes that hold the envs of a vector env, one command after the other, and the pool that replaces those that die or hang."""

import errno
import multiprocessing
import os
import pickle
import signal
import sys
import traceback
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from math import inf, prod
from multiprocessing.connection import Connection, Pipe, wait
from time import monotonic
from types import ModuleType
from typing import Any, Literal, NamedTuple

import cloudpickle  # type: ignore[import-untyped]
import gymnasium
import numpy

from webarena_gym.errors import BrowserError, WorkerError
from webarena_gym.processes import work_for_parent

INFRASTRUCTURE_ERRORS = (BrowserError, ConnectionError, TimeoutError)
"""Neither the policy's nor the programmer's mistake: the episode is lost, and says nothing."""

OUT_OF_MEMORY = errno.ENOMEM
"""The status with which a worker ends that got no memory."""

_GRACE_S = 10.0


class Command(NamedTuple):
    """A command to one env."""

    env: int
    what: Literal["reset", "step", "restore", "call", "set"]
    arguments: tuple[Any, ...]


class CommandResult(NamedTuple):
    """The result of a command: a value, an exception, or for "lost" the text that says what broke down."""

    env: int
    outcome: Literal["done", "raised", "lost"]
    value: Any


Start = tuple[Any, dict[str, Any], Mapping[str, Any]]
"""A first observation and info, and the env's random numbers behind them, for an env that may have to take its place."""


class Frames:
    """The newest picture of each env, in memory that workers share with their parent: a pipe carries None in its place.

    `shape` is that of `observation["screenshot"]`, which is uint8. A picture stays as it is until its env is told to do something again.
    """

    def __init__(self, memory: Any, shape: tuple[int, ...]) -> None:
        self._memory, self._shape = memory, shape

    def _frame(self, env: int) -> numpy.ndarray[Any, Any]:
        size = prod(self._shape)
        return numpy.frombuffer(self._memory, numpy.uint8, size, env * size).reshape(self._shape)

    def put(self, env: int, value: Any) -> Any:
        """Return what an env has answered without the picture of its observation, which is kept here."""
        observation = value[0] if isinstance(value, tuple) and value else None
        picture = observation.get("screenshot") if isinstance(observation, dict) else None
        if not isinstance(picture, numpy.ndarray) or picture.shape != self._shape or picture.dtype != numpy.uint8:
            return value
        self._frame(env)[:] = picture
        return ({**value[0], "screenshot": None}, *value[1:])

    def take(self, env: int, value: Any) -> Any:
        """Return what an env has answered, with a copy of its picture."""
        observation = value[0] if isinstance(value, tuple) and value else None
        if not isinstance(observation, dict) or observation.get("screenshot", self) is not None:
            return value
        return ({**observation, "screenshot": self._frame(env).copy()}, *value[1:])


def serve(
    commands: Connection, answers: Connection, make_env: bytes, environment: Mapping[str, str], frames: Frames | None = None
) -> None:
    """Do what the commands say until their pipe closes; pictures go to `frames`, if there are some.

    `make_env` is a pickled function without arguments. Envs are made when they are first needed, so that whatever is wrong with
    them is told in an answer.
    """
    work_for_parent(_GRACE_S)  # more than it takes to notice that the pipe has closed, unless an env hangs
    os.environ.clear()
    os.environ.update(environment)  # of today's parent, not of the time when its fork server started
    with ExitStack() as cleanup:
        make = cache(lambda: pickle.loads(make_env))  # noqa: S301 - our own parent's bytes

        @cache
        def env_of(_: int) -> gymnasium.Env[Any, str]:
            env: gymnasium.Env[Any, str] = cleanup.enter_context(closing(make()()))
            return env

        while True:
            try:
                command = Command(*pickle.loads(commands.recv_bytes()))  # noqa: S301 - our own parent's bytes
                answer = _answer(env_of, command)
                if frames is not None:
                    answer = answer._replace(value=frames.put(command.env, answer.value))
                try:
                    content = pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
                except Exception as error:  # noqa: BLE001 - whatever pickling raises, the caller asked for it
                    raised = CommandResult(answer.env, "raised", _portable(error))
                    content = pickle.dumps(raised, pickle.HIGHEST_PROTOCOL)
                answers.send_bytes(content)
            except (EOFError, BrokenPipeError, ConnectionResetError):
                return


def _answer(env_of: Callable[[int], gymnasium.Env[Any, str]], command: Command) -> CommandResult:
    try:
        return CommandResult(command.env, "done", _do(env_of(command.env), command))
    except INFRASTRUCTURE_ERRORS as error:
        return CommandResult(command.env, "lost", str(error) or type(error).__name__)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except Exception as error:  # noqa: BLE001 - all of them are the caller's to see
        return CommandResult(command.env, "raised", _portable(error))


def _do(env: gymnasium.Env[Any, str], command: Command) -> Any:
    match command:
        case Command(what="step", arguments=(action,)):
            return env.step(action)
        case Command(what="reset", arguments=(seed, options, random_state)):
            if seed is None and random_state is not None:
                env.unwrapped.np_random.bit_generator.state = random_state
            return _start(env, *env.reset(seed=seed, options=options))
        case Command(what="restore", arguments=(snapshot,)):
            return _start(env, *env.get_wrapper_attr("restore")(snapshot))
        case Command(what="set", arguments=(name, value)):
            return env.set_wrapper_attr(name, value)
        case Command(what="call", arguments=(name, positional, named)):
            attribute = env.get_wrapper_attr(name)
            return attribute(*positional, **named) if callable(attribute) else attribute
    raise AssertionError(command)


def _start(env: gymnasium.Env[Any, str], observation: Any, info: dict[str, Any]) -> Start:
    return observation, info, env.unwrapped.np_random.bit_generator.state


def _portable(error: Exception) -> Exception:
    """Return the error, with the worker's traceback as a note; where it cannot travel, one that says the same."""
    try:
        travels = type(pickle.loads(pickle.dumps(error))) is type(error)  # noqa: S301 - our own bytes
    except Exception:  # noqa: BLE001 - errors of others may do anything
        travels = False
    arrived = error if travels else RuntimeError(f"{type(error).__name__}: {error}")
    arrived.add_note("In a worker process:\n" + "".join(traceback.format_exception(error)).rstrip())
    return arrived


CONTEXTS = tuple(name for name in ("forkserver", "spawn") if name in multiprocessing.get_all_start_methods())
"""The start methods of workers, the best first. A plain fork would copy threads and the pipes of other workers."""

_AHEAD = 16_384  # bytes of commands that may wait in a worker's pipe; all systems' pipes hold as much, so sending never blocks
_ROOM = 1 << 20  # bytes of answers that a pipe may hold, where the system lets us choose, while the caller is busy
_STARTING_S = 60.0  # more for the first command of a process, which imports and opens what it needs
_ENDING_S = 5.0
_TRIES = 2  # of a command that does not depend on what the lost process knew


@dataclass
class _Job:
    env: int
    content: bytes
    is_repeatable: bool
    tries: int = 0


@dataclass
class _Worker:
    """A process, the two pipes to it, and the jobs that were sent down the one and not yet answered through the other."""

    process: Any
    commands: Connection
    answers: Connection
    jobs: deque[_Job] = field(default_factory=deque)
    deadline: float = 0.0
    is_new: bool = True
    was_cut_off: bool = False  # while an answer was read, so that what follows cannot be made out

    def expect_answer(self, timeout_s: float) -> None:
        self.deadline = monotonic() + timeout_s + (_STARTING_S if self.is_new else 0.0)

    def end(self, deadline: float) -> None:
        """Free everything. The process ends by itself when its pipes close; at the deadline it is killed."""
        self.commands.close()
        self.answers.close()
        self.process.join(max(0.0, deadline - monotonic()))
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join(_ENDING_S)
        if self.process.exitcode is not None:
            self.process.close()


class Pool:
    """Worker processes that hold a number of envs, started when they are needed and again when they were lost.

    Env i lives in worker i modulo the number of workers. One job at a time for each env. `make_env`, which cloudpickle takes, makes an
    env in a worker. A worker whose command takes longer than `timeout_s` counts as hung. `context` is one of CONTEXTS. `frame` is the
    shape of pictures in observations, if there are some.
    """

    def __init__(
        self,
        make_env: Callable[[], Any],
        num_envs: int,
        num_workers: int,
        timeout_s: float,
        context: str,
        frame: tuple[int, ...] | None = None,
    ) -> None:
        self._make_env = cloudpickle.dumps(make_env)
        self._num_envs = num_envs
        self._timeout_s = timeout_s
        self._context: Any = multiprocessing.get_context(context)
        if context == "forkserver":
            self._context.set_forkserver_preload(["webarena_gym.env"])  # so that workers share the memory of their imports
        self._frames = frame and Frames(self._context.RawArray("B", num_envs * prod(frame)), frame)
        self._queues: list[deque[_Job]] = [deque() for _ in range(num_workers)]
        self._workers: dict[int, _Worker] = {}
        self._pid = os.getpid()
        self.close = weakref.finalize(self, _end_all, self._workers, os.getpid())
        for number in range(num_workers):
            self._workers[number] = self._start()

    @property
    def pids(self) -> list[int]:
        self._expect_own()
        return [worker.process.pid for _, worker in sorted(self._workers.items())]

    def kill(self) -> None:
        self._expect_own()
        for worker in self._workers.values():
            worker.process.kill()

    def submit(self, command: Command) -> None:
        """Let an env do something as soon as its worker gets round to it. Never blocks for long."""
        self._expect_own()
        dumps = pickle.dumps if command.what == "step" else cloudpickle.dumps  # the slower one takes classes of a script, too
        content = dumps(tuple(command), pickle.HIGHEST_PROTOCOL)
        home = command.env % len(self._queues)
        self._queues[home].append(_Job(command.env, content, command.what in ("reset", "restore")))
        self._feed(home)

    def wait(self, timeout_s: float = inf) -> list[CommandResult]:
        """Wait until something happens and return it: answers, and for each env of a lost worker what befell it.

        Returns an empty list when nothing happens within `timeout_s`. Call it only while some job is under way.
        """
        self._expect_own()
        happened: list[CommandResult] = []
        end = monotonic() + timeout_s
        while not happened:
            now = monotonic()
            until = min([end, *(worker.deadline for worker in self._workers.values() if worker.jobs)])
            pipes = [worker.answers for worker in self._workers.values()]
            ready = wait(pipes, None if until == inf else max(0.0, until - now))
            for number, worker in list(self._workers.items()):
                if worker.answers in ready:
                    happened += self._read(number, worker)
                elif worker.jobs and worker.deadline <= now:
                    worker.process.kill()
                    happened += self._lose(number, worker, f"gave no answer within {self._timeout_s:g} s and was killed")
            if now >= end:
                break
        return happened

    def _expect_own(self) -> None:
        """Raise WorkerError in a forked child: the pipes lead to the workers of its parent, whose episodes it would disturb."""
        if os.getpid() != self._pid:
            raise WorkerError(
                f"these envs belong to process {self._pid}, and this is its child {os.getpid()}: make new ones here"
            )

    def _start(self) -> _Worker:
        commands, to_worker = Pipe(duplex=False)
        from_worker, answers = Pipe(duplex=False)
        if sys.platform == "linux":
            import fcntl  # noqa: PLC0415 - not everywhere

            with suppress(OSError):  # a user may have had enough of large pipes
                fcntl.fcntl(answers.fileno(), fcntl.F_SETPIPE_SZ, _ROOM)
        given = (commands, answers, self._make_env, dict(os.environ), self._frames)
        process = self._context.Process(target=serve, args=given, name="webarena-gym worker", daemon=True)
        with without_main_module():
            process.start()
        commands.close()
        answers.close()
        return _Worker(process, to_worker, from_worker)

    def _feed(self, number: int) -> None:
        """Send a worker as much as its pipe takes for sure."""
        queue = self._queues[number]
        while queue:
            if number not in self._workers:
                self._workers[number] = self._start()
            worker = self._workers[number]
            if worker.jobs and sum(len(job.content) for job in (*worker.jobs, queue[0])) > _AHEAD:
                return
            job = queue.popleft()
            worker.jobs.append(job)
            if len(worker.jobs) == 1:
                worker.expect_answer(self._timeout_s)
            with suppress(OSError):  # it has died: `wait` reads that from the other pipe
                worker.commands.send_bytes(job.content)

    def _read(self, number: int, worker: _Worker) -> Sequence[CommandResult]:
        if worker.was_cut_off:
            return self._lose(number, worker, "was interrupted and killed")
        try:
            content = worker.answers.recv_bytes()
        except (EOFError, OSError):
            worker.process.join(_ENDING_S)
            status = worker.process.exitcode
            how = "closed its pipe and was killed" if status is None else f"exited with status {status}"
            if status == OUT_OF_MEMORY:
                how = "ran out of memory"
            elif status is not None and status < 0:
                how = f"was killed by {signal.Signals(-status).name}"
            return self._lose(number, worker, how)
        except BaseException:  # Ctrl-C
            worker.was_cut_off = True
            worker.process.kill()
            raise
        job = worker.jobs.popleft()
        answer = CommandResult(*pickle.loads(content))  # noqa: S301 - our own child's bytes
        if self._frames:
            answer = answer._replace(value=self._frames.take(answer.env, answer.value))
        worker.is_new = False
        if worker.jobs:
            worker.expect_answer(self._timeout_s)
        is_done = answer.outcome != "lost" or not self._is_tried_again(job)
        if not is_done:
            self._queues[number].append(job)
        self._feed(number)
        return [answer] if is_done else []

    def _lose(self, number: int, worker: _Worker, how: str) -> Sequence[CommandResult]:
        """Bury a worker. Jobs that can be done again are left to the next one; all else that it held is lost."""
        reason = f"worker process {worker.process.pid} {how}"
        del self._workers[number]
        worker.end(monotonic() + _ENDING_S)
        first = next(iter(worker.jobs), None)
        jobs = [*worker.jobs, *self._queues[number]]
        kept = [job for job in jobs if job.is_repeatable and (job is not first or self._is_tried_again(job))]
        self._queues[number] = deque(kept)
        self._feed(number)
        saved = {job.env for job in kept}
        return [
            CommandResult(env, "lost", reason) for env in range(number, self._num_envs, len(self._queues)) if env not in saved
        ]

    def _is_tried_again(self, job: _Job) -> bool:
        job.tries += 1
        return job.is_repeatable and job.tries < _TRIES


def _end_all(workers: dict[int, _Worker], pid: int) -> None:
    """End all workers, together; those that are still busy at the deadline are killed."""
    if os.getpid() != pid:  # a forked child has a copy of all this, but not the right to it
        return
    for worker in workers.values():
        worker.commands.close()
        worker.answers.close()
    deadline = monotonic() + 2 * _ENDING_S
    for worker in workers.values():
        worker.end(deadline)
    workers.clear()


@contextmanager
def without_main_module() -> Iterator[None]:
    """Hide the script that runs: multiprocessing would import it in every worker, with all that it imports and does."""
    hidden = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = hidden
