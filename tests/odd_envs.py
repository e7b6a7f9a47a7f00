"""Envs that do on demand what envs should never do, for the tests of what looks after them."""

import os
import signal
import threading
from pathlib import Path

import gymnasium

from webarena_gym.env import WebArenaLite


class UnportableError(Exception):
    """An exception that cannot be pickled."""

    def __init__(self, one, other):
        super().__init__(one + other)


class Odd(gymnasium.Wrapper):
    """Obeys actions such as "odd: die", and the same as an option of reset; anything else goes to the env."""

    def reset(self, *, seed=None, options=None):
        options = dict(options or {})
        obey(options.pop("odd", ""))
        return self.env.reset(seed=seed, options=options)

    def step(self, action):
        if isinstance(action, str):
            obey(action)
        return self.env.step(action)


def obey(text):
    what, _, argument = text.partition(" ")
    if what == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif what == "die_once":
        try:
            Path(argument).touch(exist_ok=False)
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)
    elif what == "leave":
        os._exit(3)
    elif what == "hang":
        threading.Event().wait()
    elif what == "await":  # until somebody opens the pipe's other end
        Path(argument).read_text()
    elif what == "starve":
        raise MemoryError
    elif what == "disconnect":
        raise ConnectionResetError("the server has gone")
    elif what == "blunder":
        raise ZeroDivisionError("a blunder")
    elif what == "mumble":
        raise UnportableError("a", "b")


def make_odd(**arguments):
    return Odd(WebArenaLite(**arguments))


def give_up(**arguments):
    if os.environ.get("WEBARENA_GYM_TEST_PARENT") != str(os.getpid()):
        raise ValueError("no env here")
    return WebArenaLite(**arguments)
