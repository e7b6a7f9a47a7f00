"""Agents that are programs of their own: in any language, with a browser of their own or without one. They talk to an episode server.

A program is begun once for each episode, with its address in the environment variables:

- `WEBARENA_GYM_URL` and `WEBARENA_GYM_EPISODE`: the server, and the id of the episode; `WEBARENA_GYM_TOKEN` where the server asks for one.

It plays by the server's own interface, answers there, and ends with the status 0. One that ends otherwise, or takes too long, without
having answered has failed, and its episode says nothing; one that ends well without an answer is judged with an empty one.
"""

import os
import shlex
import subprocess
import time
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from webarena_gym.errors import AgentError, WebArenaGymError
from webarena_gym.evaluation.plan import Trial
from webarena_gym.evaluation.results import Ending, Record
from webarena_gym.evaluation.runner import record_of

_SAID = 500  # characters of what a program said last, in a failure


class Judged(NamedTuple):
    """How an episode on the server ended."""

    ending: Ending
    reward: float
    steps: tuple[Mapping[str, str], ...] = ()
    verdicts: tuple[Mapping[str, Any], ...] = ()
    side_effects: tuple[str, ...] = ()


class Arena(Protocol):
    """An episode server, as far as programs are scored with it."""

    def begin(self, trial: Trial) -> Mapping[str, str]:
        """Begin an episode, and return the environment variables that tell a program of it. Raises WebArenaGymError."""
        ...

    def outcome(self, episode: Mapping[str, str]) -> Judged | None:
        """Return how an episode ended; None where its program has not answered yet. Raises WebArenaGymError."""
        ...

    def answer(self, episode: Mapping[str, str], answer: str) -> Judged:
        """Judge an episode with this answer, where its program left it. Raises WebArenaGymError."""
        ...

    def end(self, episode: Mapping[str, str]) -> None:
        """Free an episode."""
        ...

    def close(self) -> None:
        """Let go of the server."""
        ...


class ProgramSeat:
    """Begins a program for each trial, and asks the server how its episode ended.

    Args:
        command: the program and its arguments, as on a command line; no shell reads it.
        arena: the server; may be shared by seats.
        timeout_s: how long the program may take for an episode.
        hint: what to say when a program breaks.

    """

    def __init__(self, command: str, arena: Arena, timeout_s: float, hint: str = "") -> None:
        self._command = parse_command(command)
        self._arena = arena
        self._timeout_s = timeout_s
        self._hint = hint

    def play(self, trial: Trial) -> Record:
        """Play a trial."""
        start = time.perf_counter()
        try:
            episode = self._arena.begin(trial)
            try:
                outcome = self._outcome(episode)
            finally:
                self._arena.end(episode)
        except WebArenaGymError as error:
            failure = f"{type(error).__name__}: {error}"
            return record_of(trial, ending="failed", reward=None, failure=failure, seconds=time.perf_counter() - start)
        return record_of(trial, **outcome._asdict(), seconds=time.perf_counter() - start)

    def close(self) -> None:
        """Nothing to free: the arena is shared."""

    def _outcome(self, episode: Mapping[str, str]) -> Judged:
        wrong = self._run(episode)
        outcome = self._arena.outcome(episode)
        if outcome is None and wrong:
            raise AgentError(f"{wrong}; {self._hint}" if self._hint else wrong)
        return outcome or self._arena.answer(episode, "")

    def _run(self, episode: Mapping[str, str]) -> str:
        """Run the program to its end, and return what went wrong; nothing where it ended well."""
        program = self._command[0]
        try:
            done = subprocess.run(  # noqa: S603 - it is what the user wants to be run
                self._command,
                env={**os.environ, **episode},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=self._timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"{program} did not end within {self._timeout_s:g} s, and had not answered"
        except OSError as error:
            raise AgentError(f"the program {program!r} cannot be run: {error}") from error
        said = done.stderr.decode("utf-8", "replace").strip()[-_SAID:]
        return f"{program} ended with status {done.returncode}, and had not answered: {said}" if done.returncode else ""


def parse_command(command: str) -> list[str]:
    """Return the program and its arguments. Raises AgentError."""
    try:
        parts = shlex.split(command)
    except ValueError as error:
        raise AgentError(f"the command {command!r} cannot be read: {error}") from error
    if not parts:
        raise AgentError("the command is empty; expected a program and its arguments after command:")
    return parts
