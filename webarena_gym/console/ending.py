"""How a command ends: its exit status, and one line about what went wrong.

0: all is well. 1: something failed, or was found. 2: bad input. 130: interrupted by Ctrl-C. 141: whoever read the output went away, as in
`webarena-gym tasks | head -1`.
"""

import os
import select
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NoReturn, TextIO

from webarena_gym.errors import BrowserError, ConformanceError, EvaluationError, WebArenaGymError, WorkerError, WorldError

FAILED, BAD_INPUT, INTERRUPTED, NO_READER = 1, 2, 130, 141
TRACEBACK = "WEBARENA_GYM_TRACEBACK"
"""The variable that, where it is set, lets errors through with their tracebacks."""

_OURS = ("agents", "benchmarks", "webarena_gym")
_FAILURES = (BrowserError, ConformanceError, EvaluationError, WorkerError, WorldError)


def run(program: str, main: Callable[[Sequence[str]], int | None]) -> NoReturn:
    """Run a command with the arguments of this process, and end the process with its exit status."""
    sys.exit(status(program, lambda: main(sys.argv[1:])))


def status(program: str, work: Callable[[], int | None]) -> int:
    """Do the work of a command and return its exit status; what a user may meet is told in one line.

    Errors that nobody foresaw pass through.
    """
    try:
        try:
            return work() or 0
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # here, since a closed pipe that is noticed at the interpreter's end cannot be kept quiet
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as end:  # of a parser
        if isinstance(end.code, str):
            complain(program, end.code)
            return FAILED
        return end.code or 0
    except (OSError, ModuleNotFoundError, ValueError, WebArenaGymError) as error:
        if isinstance(error, OSError) and _has_lost_reader():
            return NO_READER if isinstance(error, BrokenPipeError) else _told(program, error, FAILED)
        code = _code(error)
        if code is None or os.environ.get(TRACEBACK):
            raise
        return _told(program, error, code)


def complain(program: str, message: object) -> None:
    """Print a message as one line on the error output."""
    with suppress(OSError):
        print(f"{program}: {' '.join(str(message).split())}", file=sys.stderr)  # noqa: T201


def _code(error: BaseException) -> int | None:
    """Return the exit status of an error, None where it is a fault of the program."""
    if isinstance(error, WebArenaGymError):
        return FAILED if isinstance(error, _FAILURES) else BAD_INPUT
    if isinstance(error, ModuleNotFoundError):
        return None if (error.name or "").partition(".")[0] in _OURS else FAILED
    if isinstance(error, ValueError):
        return BAD_INPUT if _is_ours(error) else None
    return FAILED


def _is_ours(error: BaseException) -> bool:
    """Say whether code of this project raised it: then it tells of what was given, and else of a fault."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0] in (*_OURS, "__main__")


def _told(program: str, error: BaseException, code: int) -> int:
    if isinstance(error, ModuleNotFoundError):
        complain(program, f"the package {error.name} is not installed: pip install {error.name}, or the extra that has it")
    elif isinstance(error, OSError) and error.filename is not None and error.strerror:
        complain(program, f"{error.filename}: {error.strerror}")
    else:
        complain(program, error)
    return code


def _has_lost_reader() -> bool:
    """Say whether what is printed goes nowhere; from then on it goes to the null device, so that the interpreter ends quietly."""
    is_lost = False
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # a stream without a file, or none
            number = stream.fileno()
            if _is_broken(stream, number):
                is_lost = True
                os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    return is_lost


def _is_broken(stream: TextIO, number: int) -> bool:
    """Say whether nothing can be written to a stream: a flush tells it where something is left to write, the system of any pipe."""
    try:
        stream.flush()
    except OSError:
        return True
    if not hasattr(select, "poll"):  # on Windows
        return False
    poll = select.poll()
    poll.register(number, 0)
    return any(events & select.POLLERR for _, events in poll.poll(0))
