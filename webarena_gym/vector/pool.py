"""Worker processes that run the envs of a vector env, and the pool that replaces workers that die or hang."""

import ctypes
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
from multiprocessing.process import BaseProcess
from time import monotonic
from types import ModuleType
from typing import Any, Literal, NamedTuple

import cloudpickle  # type: ignore[import-untyped]
import gymnasium
import numpy

from webarena_gym.errors import WorkerError
from webarena_gym.processes import work_for_parent
from webarena_gym.vector.failures import INFRASTRUCTURE_ERRORS

OUT_OF_MEMORY = errno.ENOMEM
"""The exit status of a worker that ran out of memory."""

_GRACE_S = 10.0


class Command(NamedTuple):
    """A command to one env."""

    env: int
    kind: Literal["reset", "step", "restore", "call", "set"]
    arguments: tuple[Any, ...]


class CommandResult(NamedTuple):
    """The result of a command: a value ("done"), an exception ("raised"), or the description of an infrastructure failure ("lost")."""

    env: int
    outcome: Literal["done", "raised", "lost"]
    value: Any


Start = tuple[Any, dict[str, Any], Mapping[str, Any]]
"""The first observation and info of an episode, and the state of the env's random generator after the reset, from which another worker continues it."""


class Frames:
    """The current picture of each env, in memory that workers share with their parent. In the pipes, None replaces the pictures.

    A picture remains valid until the next command to its env.

    Args:
        memory: shared array of bytes for the pictures of all envs.
        shape: shape of `observation["screenshot"]`, which is uint8.

    """

    def __init__(self, memory: ctypes.Array[ctypes.c_ubyte], shape: tuple[int, ...]) -> None:
        self._memory, self._shape = memory, shape

    def _frame(self, env: int) -> numpy.ndarray[Any, Any]:
        size = prod(self._shape)
        return numpy.frombuffer(memoryview(self._memory), numpy.uint8, size, env * size).reshape(self._shape)

    def store(self, env: int, value: Any) -> Any:
        """Store the picture in the observation of a result, and return the result without it."""
        observation = value[0] if isinstance(value, tuple) and value else None
        picture = observation.get("screenshot") if isinstance(observation, dict) else None
        if not isinstance(picture, numpy.ndarray) or picture.shape != self._shape or picture.dtype != numpy.uint8:
            return value
        self._frame(env)[:] = picture
        return ({**value[0], "screenshot": None}, *value[1:])

    def load(self, env: int, value: Any) -> Any:
        """Return the result of an env with a copy of its picture."""
        observation = value[0] if isinstance(value, tuple) and value else None
        if not isinstance(observation, dict) or observation.get("screenshot", self) is not None:
            return value
        return ({**observation, "screenshot": self._frame(env).copy()}, *value[1:])


def serve(
    commands: Connection, answers: Connection, make_env: bytes, environment: Mapping[str, str], frames: Frames | None = None
) -> None:
    """Run the main loop of a worker: execute commands until their pipe closes.

    Args:
        commands: pipe of pickled commands.
        answers: pipe of pickled results.
        make_env: pickled function without arguments. Envs are created when they are first needed, so that an exception is sent as a result.
        environment: environment variables.
        frames: shared memory for pictures, if observations contain them.

    """
    work_for_parent(_GRACE_S)  # longer than the main thread needs to notice that the pipe has closed, unless an env hangs
    os.environ.clear()
    os.environ.update(environment)  # the parent's current environment, which may differ from that of its fork server
    with ExitStack() as cleanup:
        make = cache(lambda: pickle.loads(make_env))  # noqa: S301 - bytes of the parent process

        @cache
        def env_of(_: int) -> gymnasium.Env[Any, str]:
            env: gymnasium.Env[Any, str] = cleanup.enter_context(closing(make()()))
            return env

        while True:
            try:
                command = Command(*pickle.loads(commands.recv_bytes()))  # noqa: S301 - bytes of the parent process
                result = _run_command(env_of, command)
                if frames is not None:
                    result = result._replace(value=frames.store(command.env, result.value))
                try:
                    content = pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
                except Exception as error:  # noqa: BLE001 - pickling a value of the caller's choice may raise anything
                    failure = CommandResult(result.env, "raised", _portable(error))
                    content = pickle.dumps(failure, pickle.HIGHEST_PROTOCOL)
                answers.send_bytes(content)
            except (EOFError, BrokenPipeError, ConnectionResetError):
                return


def _run_command(env_of: Callable[[int], gymnasium.Env[Any, str]], command: Command) -> CommandResult:
    try:
        return CommandResult(command.env, "done", _execute(env_of(command.env), command))
    except INFRASTRUCTURE_ERRORS as error:
        return CommandResult(command.env, "lost", str(error) or type(error).__name__)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except Exception as error:  # noqa: BLE001 - all exceptions are raised in the parent process
        return CommandResult(command.env, "raised", _portable(error))


def _execute(env: gymnasium.Env[Any, str], command: Command) -> Any:
    match command:
        case Command(kind="step", arguments=(action,)):
            return env.step(action)
        case Command(kind="reset", arguments=(seed, options, random_state)):
            if seed is None and random_state is not None:
                env.unwrapped.np_random.bit_generator.state = random_state
            return _start(env, *env.reset(seed=seed, options=options))
        case Command(kind="restore", arguments=(snapshot,)):
            return _start(env, *env.get_wrapper_attr("restore")(snapshot))
        case Command(kind="set", arguments=(name, value)):
            return env.set_wrapper_attr(name, value)
        case Command(kind="call", arguments=(name, positional, keywords)):
            attribute = env.get_wrapper_attr(name)
            return attribute(*positional, **keywords) if callable(attribute) else attribute
    raise AssertionError(command)


def _start(env: gymnasium.Env[Any, str], observation: object, info: dict[str, Any]) -> Start:
    return observation, info, env.unwrapped.np_random.bit_generator.state


def _portable(error: Exception) -> Exception:
    """Return the error, or a RuntimeError with its message if it cannot be pickled, with the worker's traceback as a note."""
    try:
        is_picklable = type(pickle.loads(pickle.dumps(error))) is type(error)  # noqa: S301 - bytes of this process
    except Exception:  # noqa: BLE001 - foreign exception classes may raise anything
        is_picklable = False
    portable = error if is_picklable else RuntimeError(f"{type(error).__name__}: {error}")
    portable.add_note("In a worker process:\n" + "".join(traceback.format_exception(error)).rstrip())
    return portable


CONTEXTS = tuple(name for name in ("forkserver", "spawn") if name in multiprocessing.get_all_start_methods())
"""The start methods of workers, in order of preference. "fork" would copy threads and the pipes of other workers."""

_MAX_PENDING_BYTES = (
    16_384  # bytes of commands in a worker's pipe; pipes hold at least as much on all systems, so that writing never blocks
)
_PIPE_BYTES = (
    1 << 20
)  # size of the pipe for results, where the system supports it, so that workers continue while the caller is busy
_STARTING_S = 60.0  # additional time for the first command of a process, which imports modules and opens files
_ENDING_S = 5.0
_MAX_TRIES = 2  # of a command that does not depend on the state of the process


@dataclass
class _PendingCommand:
    """A pickled command that has no result yet."""

    env: int
    content: bytes
    is_repeatable: bool
    tries: int = 0


@dataclass
class _Worker:
    """A process, the two pipes to it, and the commands that were sent to it and have no result yet."""

    process: BaseProcess
    commands: Connection
    answers: Connection
    sent: deque[_PendingCommand] = field(default_factory=deque)
    deadline: float = 0.0
    is_new: bool = True
    was_interrupted: bool = False  # Ctrl-C came while a result was read, so that the rest of the pipe cannot be parsed

    def expect_answer(self, timeout_s: float) -> None:
        self.deadline = monotonic() + timeout_s + (_STARTING_S if self.is_new else 0.0)

    def end(self, deadline: float) -> None:
        """Close the pipes, which ends the process, and kill it at the deadline (monotonic time in seconds)."""
        self.commands.close()
        self.answers.close()
        self.process.join(max(0.0, deadline - monotonic()))
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join(_ENDING_S)
        if self.process.exitcode is not None:
            self.process.close()


class Pool:
    """Worker processes for a number of envs. A worker that dies or hangs is replaced.

    Env i runs in worker i modulo the number of workers. There must be at most one pending command for each env.

    Args:
        make_env: function that returns an env, called in the workers; it must be picklable by cloudpickle.
        num_envs: number of envs.
        num_workers: number of processes.
        timeout_s: seconds after which a worker with an unfinished command counts as hung.
        context: one of CONTEXTS.
        frame: shape of the pictures in observations; None if there are none.

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
        self._queues: list[deque[_PendingCommand]] = [deque() for _ in range(num_workers)]
        self._workers: dict[int, _Worker] = {}
        self._pid = os.getpid()
        self.close = weakref.finalize(self, _end_all, self._workers, os.getpid())
        for number in range(num_workers):
            self._workers[number] = self._start()

    @property
    def pids(self) -> list[int]:
        self._expect_parent_process()
        processes = [worker.process for _, worker in sorted(self._workers.items())]
        return [process.pid for process in processes if process.pid is not None]

    def kill(self) -> None:
        self._expect_parent_process()
        for worker in self._workers.values():
            worker.process.kill()

    def submit(self, command: Command) -> None:
        """Queue a command for the worker of its env. Blocks only for a command that exceeds the capacity of a pipe."""
        self._expect_parent_process()
        dumps = pickle.dumps if command.kind == "step" else cloudpickle.dumps  # slower, but supports classes of the main script
        content = dumps(tuple(command), pickle.HIGHEST_PROTOCOL)
        number = command.env % len(self._queues)
        self._queues[number].append(_PendingCommand(command.env, content, command.kind in ("reset", "restore")))
        self._send_commands(number)

    def wait(self, timeout_s: float = inf) -> list[CommandResult]:
        """Wait for results of commands, and return them. A worker that died or hung gives the result "lost" for each of its envs.

        Returns an empty list if there are no results within `timeout_s` seconds. Call it only while a command is pending.
        """
        self._expect_parent_process()
        results: list[CommandResult] = []
        end = monotonic() + timeout_s
        while not results:
            now = monotonic()
            until = min([end, *(worker.deadline for worker in self._workers.values() if worker.sent)])
            pipes = [worker.answers for worker in self._workers.values()]
            ready = wait(pipes, None if until == inf else max(0.0, until - now))
            for number, worker in list(self._workers.items()):
                if worker.answers in ready:
                    results += self._receive(number, worker)
                elif worker.sent and worker.deadline <= now:
                    worker.process.kill()
                    results += self._replace_worker(
                        number, worker, f"gave no answer within {self._timeout_s:g} s and was killed"
                    )
            if now >= end:
                break
        return results

    def _expect_parent_process(self) -> None:
        """Raise WorkerError in a forked child, whose pipes lead to the workers of its parent."""
        if os.getpid() != self._pid:
            raise WorkerError(
                f"these envs belong to process {self._pid}, not to its child {os.getpid()}; create new envs in the child"
            )

    def _start(self) -> _Worker:
        commands, to_worker = Pipe(duplex=False)
        from_worker, answers = Pipe(duplex=False)
        if sys.platform == "linux":
            import fcntl  # noqa: PLC0415 - not on all systems

            with suppress(OSError):  # the user may have reached the system's limit for large pipes
                fcntl.fcntl(answers.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        arguments = (commands, answers, self._make_env, dict(os.environ), self._frames)
        process = self._context.Process(target=serve, args=arguments, name="webarena-gym worker", daemon=True)
        with without_main_module():
            process.start()
        commands.close()
        answers.close()
        return _Worker(process, to_worker, from_worker)

    def _send_commands(self, number: int) -> None:
        """Send queued commands to a worker, as long as its pipe has room for sure."""
        queue = self._queues[number]
        while queue:
            if number not in self._workers:
                self._workers[number] = self._start()
            worker = self._workers[number]
            if worker.sent and sum(len(command.content) for command in (*worker.sent, queue[0])) > _MAX_PENDING_BYTES:
                return
            command = queue.popleft()
            worker.sent.append(command)
            if len(worker.sent) == 1:
                worker.expect_answer(self._timeout_s)
            with suppress(OSError):  # the worker has died, which `wait` detects at the other pipe
                worker.commands.send_bytes(command.content)

    def _receive(self, number: int, worker: _Worker) -> Sequence[CommandResult]:
        if worker.was_interrupted:
            return self._replace_worker(number, worker, "was interrupted and killed")
        try:
            content = worker.answers.recv_bytes()
        except (EOFError, OSError):
            worker.process.join(_ENDING_S)
            status = worker.process.exitcode
            failure = "closed its pipe and was killed" if status is None else f"exited with status {status}"
            if status == OUT_OF_MEMORY:
                failure = "ran out of memory"
            elif status is not None and status < 0:
                failure = f"was killed by {signal.Signals(-status).name}"
            return self._replace_worker(number, worker, failure)
        except BaseException:  # Ctrl-C
            worker.was_interrupted = True
            worker.process.kill()
            raise
        command = worker.sent.popleft()
        result = CommandResult(*pickle.loads(content))  # noqa: S301 - bytes of the child process
        if self._frames:
            result = result._replace(value=self._frames.load(result.env, result.value))
        worker.is_new = False
        if worker.sent:
            worker.expect_answer(self._timeout_s)
        is_done = result.outcome != "lost" or not self._may_retry(command)
        if not is_done:
            self._queues[number].append(command)
        self._send_commands(number)
        return [result] if is_done else []

    def _replace_worker(self, number: int, worker: _Worker, failure: str) -> Sequence[CommandResult]:
        """End a worker, repeat its repeatable commands in a new one, and return the result "lost" for all other envs."""
        reason = f"worker process {worker.process.pid} {failure}"
        del self._workers[number]
        worker.end(monotonic() + _ENDING_S)
        first = next(iter(worker.sent), None)
        commands = [*worker.sent, *self._queues[number]]
        retries = [
            command for command in commands if command.is_repeatable and (command is not first or self._may_retry(command))
        ]
        self._queues[number] = deque(retries)
        self._send_commands(number)
        retried_envs = {command.env for command in retries}
        return [
            CommandResult(env, "lost", reason)
            for env in range(number, self._num_envs, len(self._queues))
            if env not in retried_envs
        ]

    def _may_retry(self, command: _PendingCommand) -> bool:
        """Count a try of a command, and return True if another one is allowed."""
        command.tries += 1
        return command.is_repeatable and command.tries < _MAX_TRIES


def _end_all(workers: dict[int, _Worker], pid: int) -> None:
    """End all workers in parallel, and kill those that are still busy at the deadline."""
    if os.getpid() != pid:  # a forked child must not end the workers of its parent
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
    """Hide the main script, which multiprocessing would otherwise import, and so execute, in every worker."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
