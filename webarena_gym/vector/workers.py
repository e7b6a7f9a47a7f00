"""A worker process of a vector env: it holds some of the envs and executes one command after the other."""

import errno
import os
import pickle
import traceback
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from multiprocessing.connection import Connection
from typing import Any, Literal, NamedTuple

import gymnasium

from webarena_gym.errors import BrowserError
from webarena_gym.processes import work_for_parent

INFRASTRUCTURE_ERRORS = (BrowserError, ConnectionError, TimeoutError)
"""Neither the policy's nor the programmer's mistake: the episode is lost, and says nothing."""

OUT_OF_MEMORY = errno.ENOMEM
"""The status with which a worker ends that got no memory."""

_GRACE_S = 10.0


class Command(NamedTuple):
    """What one env is to do."""

    env: int
    what: Literal["reset", "step", "restore", "call", "set"]
    arguments: tuple[Any, ...]


class CommandResult(NamedTuple):
    """What came of a command: a value, an exception, or for "lost" the text that says what broke down."""

    env: int
    outcome: Literal["done", "raised", "lost"]
    value: Any


class Start(NamedTuple):
    """A first observation, and the env's random numbers behind it, for an env that may have to take its place."""

    observation: str
    info: dict[str, Any]
    random_state: Mapping[str, Any]


def serve(commands: Connection, answers: Connection, make_env: bytes, environment: Mapping[str, str]) -> None:
    """Do what the commands say until their pipe closes.

    `make_env` is a pickled function without arguments. Envs are made when they are first needed, so that whatever is wrong with
    them is told in an answer.
    """
    work_for_parent(_GRACE_S)  # more than it takes to notice that the pipe has closed, unless an env hangs
    os.environ.clear()
    os.environ.update(environment)  # of today's parent, not of the time when its fork server started
    with ExitStack() as cleanup:
        envs = _Envs(make_env, cleanup)
        while True:
            try:
                command = Command(*pickle.loads(commands.recv_bytes()))  # noqa: S301 - our own parent's bytes
                answers.send_bytes(_encode(_answer(envs, command)))
            except (EOFError, BrokenPipeError, ConnectionResetError):
                return


class _Envs(dict[int, gymnasium.Env[str, str]]):
    """Envs by number, made on demand."""

    def __init__(self, make_env: bytes, cleanup: ExitStack) -> None:
        super().__init__()
        self._pickled = make_env
        self._make: Callable[[], gymnasium.Env[str, str]] | None = None
        self._cleanup = cleanup

    def __missing__(self, number: int) -> gymnasium.Env[str, str]:
        if self._make is None:
            self._make = pickle.loads(self._pickled)  # noqa: S301 - our own parent's bytes
        assert self._make is not None
        self[number] = self._make()
        self._cleanup.callback(self[number].close)
        return self[number]


def _answer(envs: _Envs, command: Command) -> CommandResult:
    try:
        return CommandResult(command.env, "done", _do(envs[command.env], command))
    except INFRASTRUCTURE_ERRORS as error:
        return CommandResult(command.env, "lost", str(error) or type(error).__name__)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except Exception as error:  # noqa: BLE001 - all of them are the caller's to see
        return CommandResult(command.env, "raised", _portable(error))


def _do(env: gymnasium.Env[str, str], command: Command) -> Any:
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


def _start(env: gymnasium.Env[str, str], observation: str, info: dict[str, Any]) -> Start:
    return Start(observation, info, env.unwrapped.np_random.bit_generator.state)


def _encode(answer: CommandResult) -> bytes:
    try:
        return pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001 - whatever pickling raises, the caller asked for it
        return pickle.dumps(CommandResult(answer.env, "raised", _portable(error)), pickle.HIGHEST_PROTOCOL)


def _portable(error: Exception) -> Exception:
    """Return the error, with the worker's traceback as a note; where it cannot travel, one that says the same."""
    try:
        travels = type(pickle.loads(pickle.dumps(error))) is type(error)  # noqa: S301 - our own bytes
    except Exception:  # noqa: BLE001 - errors of others may do anything
        travels = False
    arrived = error if travels else RuntimeError(f"{type(error).__name__}: {error}")
    arrived.add_note("In a worker process:\n" + "".join(traceback.format_exception(error)).rstrip())
    return arrived
