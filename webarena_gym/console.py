"""The edge of every command: how options are read, what their values may be, how a command ends, and a progress bar.

A user's mistake is one line on the error output and status 2, a failure one line and status 1; neither is a traceback.
"""

import argparse
import errno
import math
import os
import re
import select
import sys
import time
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from textwrap import fill
from traceback import walk_tb
from typing import Any, NoReturn

from webarena_gym.arguments import nearest, shown, suggestion
from webarena_gym.errors import (
    ApplicationError,
    BrowserError,
    ConformanceError,
    EvaluationError,
    WebArenaGymError,
    WorkerError,
    WorldError,
)

FAILED, BAD_INPUT, INTERRUPTED, NO_READER = 1, 2, 130, 141
TRACEBACK = "WEBARENA_GYM_TRACEBACK"
"""The variable that, where it is set, lets errors through with their tracebacks."""

_OURS = ("agents", "benchmarks", "webarena_gym")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
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


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name a file in the OSErrors of writing it: Python names it only where it cannot be opened, and not where the disk is full."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def complain(program: str, message: object) -> None:
    """Print a message on the error output: as one line, but what an application has said for itself as it stands."""
    text = str(message).strip() if isinstance(message, ApplicationError) else " ".join(str(message).split())
    with suppress(OSError):
        print(f"{program}: {text}", file=sys.stderr)  # noqa: T201


def _code(error: BaseException) -> int | None:
    """Return the exit status of an error, None where it is a fault of the program."""
    if isinstance(error, WebArenaGymError):
        return FAILED if isinstance(error, _FAILURES) else BAD_INPUT
    if isinstance(error, ModuleNotFoundError):
        return None if (error.name or "").partition(".")[0] in _OURS else FAILED
    if isinstance(error, ValueError):  # one that code of this project raised tells of what was given, others of a fault
        *_, (frame, _) = walk_tb(error.__traceback__)
        module = str(frame.f_globals.get("__name__", ""))
        return BAD_INPUT if module.partition(".")[0] in (*_OURS, "__main__") else None
    return FAILED


def _told(program: str, error: BaseException, code: int) -> int:
    if isinstance(error, ModuleNotFoundError):
        complain(
            program, f"the package {error.name} is not installed: {_install_command((error.name or '').partition('.')[0])}"
        )
    elif isinstance(error, OSError) and error.filename is not None and error.strerror:
        way_out = "; make room there, or write elsewhere, and run the command again" if error.errno in _FULL else ""
        complain(program, f"{error.filename}: {error.strerror}{way_out}")
    else:
        complain(program, error)
    return code


def _install_command(module: str) -> str:
    """Return the command that installs a missing module: by the extra of this package that requires it, if there is one."""
    name = module.replace("_", "-").lower()
    with suppress(PackageNotFoundError):
        for requirement in requires("webarena-gym") or ():
            distribution, _, marker = requirement.partition(";")
            extra = re.search(r"extra == [\"']([\w-]+)", marker)
            if extra and re.split(r"[^\w.-]", distribution)[0].replace("_", "-").lower() == name:
                return f"pip install 'webarena-gym[{extra[1]}]'"
    return f"pip install {name}"


def _has_lost_reader() -> bool:
    """Say whether what is printed goes nowhere; from then on it goes to the null device, so that the interpreter ends quietly."""
    is_lost = False
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # a stream without a file, or none
            number = stream.fileno()
            try:
                stream.flush()  # tells it where something is left to write; the system tells it of any pipe
                is_broken = False
            except OSError:
                is_broken = True
            if not is_broken and hasattr(select, "poll"):  # not on Windows
                poll = select.poll()
                poll.register(number, 0)
                is_broken = any(events & select.POLLERR for _, events in poll.poll(0))
            if is_broken:
                is_lost = True
                os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    return is_lost


LARGEST = 2**63 - 1
"""The largest whole number of an option that has no limit of its own."""


def whole(least: int = -LARGEST, most: int = LARGEST) -> Callable[[str], int]:
    """Return what reads whole numbers in a range.

    >>> whole(1)("12")
    12
    """
    limits = f" from {least} to {most}" if most != LARGEST else f" of {least} or more" if least != -LARGEST else ""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError as error:
            raise _refused(text, f"a whole number{limits}") from error
        if not least <= number <= most:
            raise _refused(text, f"a whole number{limits or ' of at most 63 bits'}")
        return number

    return read


def decimal(least: float = -math.inf, *, above: float = -math.inf) -> Callable[[str], float]:
    """Return what reads finite numbers of `least` or more, and above `above`.

    >>> decimal(0)("1e3")
    1000.0
    """
    limits = f" of {least:g} or more" if least > -math.inf else f" above {above:g}" if above > -math.inf else ""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and number >= least and number > above):
            raise _refused(text, f"a number{limits}")
        return number

    return read


def accepted_by(look: Callable[[str], object]) -> Callable[[str], str]:
    """Return what reads texts that a function accepts: it raises a WebArenaGymError for others, whose message is told."""

    def read(text: str) -> str:
        try:
            look(text)
        except WebArenaGymError as error:
            raise ArgumentTypeError(str(error)) from error
        return text

    return read


def present(kind: str = "file") -> Callable[[str], Path]:
    """Return what reads the path of a file or folder that is there; `kind` is "file", "folder" or "file or folder"."""

    def read(text: str) -> Path:
        path = Path(text)
        is_there = path.is_file() if kind == "file" else path.is_dir() if kind == "folder" else path.exists()
        if not is_there:
            if path.exists():
                raise _refused(text, f"a {kind}")
            others: list[Path] = []
            with suppress(OSError):
                others = sorted(path.parent.iterdir())
            close = nearest(path.name, [each.name for each in others])
            hint = f"; did you mean {' or '.join(repr(str(path.parent / name)) for name in close)}?" if close else ""
            raise ArgumentTypeError(f"is {shown(text)}, which is not there{hint}")
        return path

    return read


def writable(kind: str = "file") -> Callable[[str], Path]:
    """Return what reads the path of a file or folder that can be written; folders on the way may have to be made."""

    def read(text: str) -> Path:
        path = place = Path(text)
        try:
            if not text or (path.is_dir() if kind == "file" else path.exists() and not path.is_dir()):
                raise _refused(text, f"the name of a {kind}")
            while not place.exists() and place != place.parent:
                place = place.parent
        except OSError as error:  # such as a name that is too long
            raise ArgumentTypeError(f"is {shown(text)}: {error.strerror}") from error
        is_open = os.access(place, os.W_OK | os.X_OK if place.is_dir() else os.W_OK)
        if not is_open or not (place.is_dir() or place == path):
            raise ArgumentTypeError(f"is {shown(text)}, but nothing can be written in {place}; expected a {kind} elsewhere")
        return path

    return read


def _refused(text: str, expected: str) -> ArgumentTypeError:
    return ArgumentTypeError(f"is {shown(text)}; expected {expected}")


class Help(argparse.RawDescriptionHelpFormatter):
    """Help whose options say their defaults once, and whose required ones say that they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        is_arranged = "\n" in text
        return super()._fill_text(text, width, indent) if is_arranged else fill(text, width, initial_indent=indent)

    def _get_help_string(self, action: argparse.Action) -> str | None:
        text = action.help or ""
        if not action.option_strings or "(default" in text or action.nargs == 0:
            return text
        if action.required:
            return f"{text} (required)".lstrip()
        if action.default in (None, "", argparse.SUPPRESS) or action.default == []:
            return text
        default = " ".join(map(_plain, action.default)) if isinstance(action.default, list | tuple) else _plain(action.default)
        return f"{text} (default: {default})".replace("%", "%%").replace("%%%%", "%%").lstrip() if default != "" else text


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line; its subparsers are of the same class.

    The help ends with `examples`: the arguments of each, without the name of the program. By default they are the commands in
    backquotes at the beginning of the description.
    """

    def __init__(self, *, formatter_class: Any = Help, examples: Sequence[str] = (), **options: Any) -> None:
        super().__init__(formatter_class=formatter_class, **options)
        commands = [f"{self.prog} {each}".rstrip() for each in examples]
        if not commands:
            written = re.findall(r"`(python -m [^`]+)`", self.description or "")
            commands = [re.sub(r" \[[^\[\]]*\]", "", each) for each in written[:2]]  # without what is optional
        if commands and not self.epilog:
            self.epilog = "\n  ".join(["examples:", *commands])
        self.register("type", int, whole())
        self.register("type", float, decimal())

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse all arguments, or complete them where the shell asks for that."""
        if "_ARGCOMPLETE" in os.environ:
            with suppress(ImportError):
                import argcomplete  # noqa: PLC0415 - an extra

                argcomplete.autocomplete(self)
        return super().parse_args(args, namespace)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse all arguments. What is unknown is refused here, where the options of a subcommand are known."""
        given = sys.argv[1:] if args is None else list(args)
        if self._subparsers is None:  # a misspelled option is told of first, as it may be one that is required
            options = given[: given.index("--")] if "--" in given else given
            for option in (each for each in options if each.startswith("--")):
                name = option.partition("=")[0]
                if not any(known.startswith(name) for known in self._option_string_actions):
                    self._refuse(option)
        namespace, rest = super().parse_known_args(given, namespace)
        if rest:
            self._refuse(rest[0])
        return namespace, rest

    def _refuse(self, argument: str) -> NoReturn:
        name = argument.partition("=")[0]
        known = [each for each in self._option_string_actions if each.startswith("--")]
        hint = suggestion(name, known, tell_all=False) if name.startswith("-") else ""
        self.error(f"{shown(argument)} is not understood; {hint or f'see {self.prog} --help'}")

    def error(self, message: str) -> NoReturn:
        names, is_of_argument, rest = message.removeprefix("argument ").partition(": ")
        if message.startswith("argument ") and is_of_argument:
            name = next((each for each in names.split("/") if each.startswith("--")), names)
            message = rest if rest.startswith(name) else f"{name} {rest}" if rest.startswith("is ") else f"{name}: {rest}"
        elif "required" in message:
            message = f"{message}; see {self.prog} --help"
        complain(self.prog, message)
        raise SystemExit(BAD_INPUT)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(
                action, f"is {shown(str(value))}; {suggestion(str(value), list(map(str, action.choices)))}"
            )


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


# Progress on the error output: a bar with the time that is left on a terminal, and elsewhere a line now and then.

_BAR_WIDTH = 30  # characters of the bar
_TOLD_EVERY_S = 15.0  # between two lines where the error output is no terminal


class Progress:
    """A progress bar over the parts of some work; `what` is done with them, such as "tasks audited"."""

    def __init__(self, total: int, what: str) -> None:
        self._total = total
        self._what = what
        self._began_s = self._told_s = time.perf_counter()
        self._first: int | None = None  # what was done before, in an earlier run

    def show(self, done: int, text: str = "") -> None:
        """Tell that so many parts are done, with a text behind it: at once on a terminal, every 15 s elsewhere."""
        now_s = time.perf_counter()
        first = self._first = done if self._first is None else self._first
        left = _left(now_s - self._began_s, done - first, self._total - done)
        told = f"{done}/{self._total} {self._what}{left}{text and ', '}{text}"
        if sys.stderr.isatty():
            filled = _BAR_WIDTH * done // max(self._total, 1)
            sys.stderr.write(f"\r\033[K[{'#' * filled}{'.' * (_BAR_WIDTH - filled)}] {told}")
            sys.stderr.flush()
        elif now_s - self._told_s >= _TOLD_EVERY_S:
            self._told_s = now_s
            sys.stderr.write(f"{told}\n")
            sys.stderr.flush()

    def clear(self) -> None:
        if sys.stderr.isatty():
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def _left(elapsed_s: float, done: int, to_do: int) -> str:
    """Return how long the rest will take at the pace so far; nothing before there is a pace.

    >>> _left(60, 10, 25)
    ', 2:30 left'
    """
    if done < 1 or to_do < 1:
        return ""
    minutes, seconds = divmod(round(elapsed_s / done * to_do), 60)
    hours, minutes = divmod(minutes, 60)
    return f", {hours}:{minutes:02}:{seconds:02} left" if hours else f", {minutes}:{seconds:02} left"
