"""Command-line support shared by all commands: option types, the parser, exit statuses, error messages and locks of output folders.

A user's mistake prints one line on standard error and exits with status 2. A failure prints one line and exits with status 1. Neither
prints a traceback.
"""

import argparse
import errno
import json
import math
import os
import re
import select
import shlex
import socket
import sys
import time
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from textwrap import fill, wrap
from traceback import walk_tb
from typing import Any, NoReturn, Protocol

from webarena_gym.arguments import closest_names, quote_value, suggestion
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
"""Environment variable that enables tracebacks of errors."""

_LOCK_FILE = ".lock"
_OWN_PACKAGES = ("agents", "benchmarks", "webarena_gym")
DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FAILURES = (BrowserError, ConformanceError, EvaluationError, WorkerError, WorldError)


def run(program: str, main: Callable[[Sequence[str]], int | None]) -> NoReturn:
    """Run a command with the arguments of this process, and exit with its status."""
    sys.exit(status(program, lambda: main(sys.argv[1:])))


def status(program: str, work: Callable[[], int | None]) -> int:
    """Run a command and return its exit status. Expected errors are printed as one line; other exceptions propagate.

    Args:
        program: name of the program in error messages.
        work: the command, which returns an exit status or None for 0.

    """
    try:
        try:
            return work() or 0
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # now, because the error message for a closed pipe at interpreter exit cannot be suppressed
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as error:  # of a parser
        if isinstance(error.code, str):
            print_error(program, error.code)
            return FAILED
        return error.code or 0
    except (OSError, ModuleNotFoundError, ValueError, WebArenaGymError) as error:
        if isinstance(error, OSError) and _has_lost_reader():
            return NO_READER if isinstance(error, BrokenPipeError) else _report_error(program, error, FAILED)
        code = _exit_status(error)
        if code is None or os.environ.get(TRACEBACK):
            raise
        return _report_error(program, error, code)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Add the name of a file to OSErrors while it is written. Python adds it if opening fails, but not if the disk is full."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def lock_folder(folder: Path) -> None:
    """Lock a folder against other processes that write to it, until this process ends. Locking it again has no effect.

    The lock is the operating system's (flock), which releases it whenever the process ends. It is advisory: only `lock_folder` checks it.
    On Windows this does nothing; on a file system without locks it prints a warning.

    Raises:
        ValueError: Another process holds the lock. The message names it.

    """
    try:
        import fcntl  # noqa: PLC0415 - not on Windows
    except ModuleNotFoundError:
        return
    folder.mkdir(parents=True, exist_ok=True)
    # This process never closes the descriptor, because closing it would release the lock.
    descriptor = os.open(folder / _LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
    identity = {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "command": shlex.join(sys.orig_argv),
        "first_lock_ns": _first_lock_ns(),
    }
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        holder: dict[str, object] = {}
        with suppress(ValueError):  # the other process has not yet written its record
            record = json.loads((folder / _LOCK_FILE).read_text(encoding="utf-8"))
            holder = record if isinstance(record, dict) else {}
        is_complete = {*identity, "since"} <= holder.keys()
        if is_complete and identity.items() <= holder.items():
            return
        holder_name = "process {pid} on {host}, since {since}: {command}".format(**holder) if is_complete else "another process"
        raise ValueError(f"{folder} is in use by {holder_name}; wait until it ends, end it, or choose another --out") from None
    except OSError as error:
        os.close(descriptor)
        print(f"{folder} cannot be locked ({error.strerror}): make sure that no other command writes to it", file=sys.stderr)  # noqa: T201
        return
    with writing(folder / _LOCK_FILE):
        os.truncate(descriptor, 0)
        os.utime(descriptor)  # truncating an empty file need not change its time
        since = datetime.fromtimestamp(os.fstat(descriptor).st_mtime, UTC).isoformat(timespec="seconds")
        os.write(descriptor, json.dumps(identity | {"since": since}).encode())


@cache
def _first_lock_ns() -> int:
    """Return the monotonic time at which this process first locked a folder. With process id and host, it identifies the process."""
    return time.monotonic_ns()


def print_error(program: str, message: object) -> None:
    """Print a message on standard error, as one line; an ApplicationError keeps its lines, which include the application's output."""
    text = str(message).strip() if isinstance(message, ApplicationError) else " ".join(str(message).split())
    with suppress(OSError):
        print(f"{program}: {text}", file=sys.stderr)  # noqa: T201


def _exit_status(error: BaseException) -> int | None:
    """Return the exit status for an error, None for a bug in the program."""
    if isinstance(error, WebArenaGymError):
        return FAILED if isinstance(error, _FAILURES) else BAD_INPUT
    if isinstance(error, ModuleNotFoundError):
        return None if (error.name or "").partition(".")[0] in _OWN_PACKAGES else FAILED
    if isinstance(error, ValueError):  # raised by code of this project for an invalid argument; by other code because of a bug
        *_, (frame, _) = walk_tb(error.__traceback__)
        module = str(frame.f_globals.get("__name__", ""))
        return BAD_INPUT if module.partition(".")[0] in (*_OWN_PACKAGES, "__main__") else None
    return FAILED


def _report_error(program: str, error: BaseException, code: int) -> int:
    """Print an error with its remedy, and return the exit status."""
    if isinstance(error, ModuleNotFoundError):
        print_error(
            program, f"the package {error.name} is not installed: {_install_command((error.name or '').partition('.')[0])}"
        )
    elif isinstance(error, OSError) and error.filename is not None and error.strerror:
        remedy = "; free some space, or write to another path, and run the command again" if error.errno in DISK_FULL else ""
        print_error(program, f"{error.filename}: {error.strerror}{remedy}")
    else:
        print_error(program, error)
    return code


def _install_command(module: str) -> str:
    """Return the command that installs a missing module: with the extra of this package that requires it, if there is one."""
    name = module.replace("_", "-").lower()
    with suppress(PackageNotFoundError):
        for requirement in requires("webarena-gym") or ():
            distribution, _, marker = requirement.partition(";")
            extra = re.search(r"extra == [\"']([\w-]+)", marker)
            if extra and re.split(r"[^\w.-]", distribution)[0].replace("_", "-").lower() == name:
                return f"pip install 'webarena-gym[{extra[1]}]'"
    return f"pip install {name}"


def _has_lost_reader() -> bool:
    """Return True if nobody reads the output any more. Redirects it to the null device, so that the interpreter exits without an error."""
    is_lost = False
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # a stream without a file descriptor, or None
            number = stream.fileno()
            try:
                stream.flush()  # fails if there is buffered output; for an empty buffer, `poll` below detects the closed pipe
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
"""The largest value of an integer option without another limit."""


def integer(minimum: int = -LARGEST, maximum: int = LARGEST) -> Callable[[str], int]:
    """Return an option type for integers in a range.

    >>> integer(1)("12")
    12
    """
    limits = f" from {minimum} to {maximum}" if maximum != LARGEST else f" of {minimum} or more" if minimum != -LARGEST else ""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError as error:
            raise _invalid_value(text, f"a whole number{limits}") from error
        if not minimum <= number <= maximum:
            raise _invalid_value(text, f"a whole number{limits or ' of at most 63 bits'}")
        return number

    return read


def decimal(minimum: float = -math.inf, *, above: float = -math.inf) -> Callable[[str], float]:
    """Return an option type for finite numbers of `minimum` or more, and greater than `above`.

    >>> decimal(0)("1e3")
    1000.0
    """
    limits = f" of {minimum:g} or more" if minimum > -math.inf else f" above {above:g}" if above > -math.inf else ""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and number >= minimum and number > above):
            raise _invalid_value(text, f"a number{limits}")
        return number

    return read


def validated_by(validate: Callable[[str], object]) -> Callable[[str], str]:
    """Return an option type for texts for which a function raises no WebArenaGymError; its message is printed for others."""

    def read(text: str) -> str:
        try:
            validate(text)
        except WebArenaGymError as error:
            raise ArgumentTypeError(str(error)) from error
        return text

    return read


def existing_path(kind: str = "file") -> Callable[[str], Path]:
    """Return an option type for the path of an existing file or folder; `kind` is "file", "folder" or "file or folder"."""

    def read(text: str) -> Path:
        path = Path(text)
        is_valid = path.is_file() if kind == "file" else path.is_dir() if kind == "folder" else path.exists()
        if not is_valid:
            if path.exists():
                raise _invalid_value(text, f"a {kind}")
            siblings: list[Path] = []
            with suppress(OSError):
                siblings = sorted(path.parent.iterdir())
            close = closest_names(path.name, [sibling.name for sibling in siblings])
            hint = f"; did you mean {' or '.join(repr(str(path.parent / name)) for name in close)}?" if close else ""
            raise ArgumentTypeError(f"is {quote_value(text)}, which does not exist{hint}")
        return path

    return read


def writable_path(kind: str = "file") -> Callable[[str], Path]:
    """Return an option type for the path of a file or folder that can be written, also if its parent folders do not exist yet."""

    def read(text: str) -> Path:
        path = ancestor = Path(text)
        try:
            if not text or (path.is_dir() if kind == "file" else path.exists() and not path.is_dir()):
                raise _invalid_value(text, f"the name of a {kind}")
            while not ancestor.exists() and ancestor != ancestor.parent:
                ancestor = ancestor.parent
        except OSError as error:  # for example a name that is too long
            raise ArgumentTypeError(f"is {quote_value(text)}: {error.strerror}") from error
        has_permission = os.access(ancestor, os.W_OK | os.X_OK if ancestor.is_dir() else os.W_OK)
        if not has_permission or not (ancestor.is_dir() or ancestor == path):
            raise ArgumentTypeError(
                f"is {quote_value(text)}, but {ancestor} is not writable; expected a {kind} in a writable folder"
            )
        return path

    return read


def _invalid_value(text: str, expected: str) -> ArgumentTypeError:
    return ArgumentTypeError(f"is {quote_value(text)}; expected {expected}")


class Help(argparse.RawDescriptionHelpFormatter):
    """Help formatter that adds "(default: ...)" and "(required)" to options."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Wrap paragraphs of one line, and keep those of several lines, such as lists of examples."""
        keep = super()._fill_text
        return "\n\n".join(
            keep(part, width, indent) if "\n" in part else fill(part, width, break_on_hyphens=False)
            for part in text.split("\n\n")
        )

    def _split_lines(self, text: str, width: int) -> list[str]:
        """Wrap the text of an option, without breaks in words such as --max-steps."""
        return wrap(" ".join(text.split()), width, break_on_hyphens=False)

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


class Commands(Protocol):
    """Commands of a parser, as `add_subparsers` returns them."""

    def add_parser(self, name: str, **options: Any) -> "Parser":
        """Return the parser of a new command. `options` are those of `Parser`, and `help`."""


_NEGATIVE_NUMBER = re.compile(r"-(?:\d+\.|(?:\d+(?:\.\d*)?|\.\d+)e[+-]?\d{1,3})", re.IGNORECASE)
"""Negative numbers that argparse takes for options, such as -1e-6. It reads -1 and -0.5 as values."""


class Parser(argparse.ArgumentParser):
    """Argument parser with one-line errors. Its subparsers are of the same class.

    Args:
        formatter_class: formatter of the help.
        examples: command lines at the end of the help, without the name of the program. By default they are the commands in backquotes in
            the description.
        refused: ends of the error messages for some options that the command does not have, by option, such as "is for training only".
        options: options of `argparse.ArgumentParser`.

    """

    def __init__(
        self,
        *,
        formatter_class: Any = Help,
        examples: Sequence[str] = (),
        refused: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(formatter_class=formatter_class, **{"allow_abbrev": False, **options})
        self._refused = refused or {}
        commands = [f"{self.prog} {example}".rstrip() for example in examples]
        if not commands:
            described = re.findall(r"`(python -m [^`]+)`", self.description or "")
            commands = [re.sub(r" \[[^\[\]]*\]", "", command) for command in described[:2]]  # without optional parts
        if commands and not self.epilog:
            self.epilog = "\n  ".join(["examples:", *commands])
        self.register("type", int, integer())
        self.register("type", float, decimal())

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse all arguments, or complete them if the shell requests that."""
        if "_ARGCOMPLETE" in os.environ:
            with suppress(ImportError):
                import argcomplete  # noqa: PLC0415 - an extra

                argcomplete.autocomplete(self)
        return super().parse_args(args, namespace)

    def parse_known_args(self, args: Any = None, namespace: object = None) -> tuple[Any, list[str]]:
        """Parse all arguments. Unknown arguments are rejected here, where the options of a subcommand are known for the hint.

        Without arguments, a parser of commands prints its help on standard error. Numbers such as -1e-6, which argparse takes for
        options, are written without exponents; all other arguments stay as they are.
        """
        arguments = sys.argv[1:] if args is None else list(args)
        arguments = [f"{Decimal(word):f}" if _NEGATIVE_NUMBER.fullmatch(word) else word for word in arguments]
        if self._subparsers is not None and not arguments:
            self.print_help(sys.stderr)
            raise SystemExit(BAD_INPUT)
        if self._subparsers is None:  # check for misspelled options first, because one may be a required option
            words = arguments[: arguments.index("--")] if "--" in arguments else arguments
            for option in (word for word in words if word.startswith("--")):
                name = option.partition("=")[0]
                if name not in self._option_string_actions:
                    self._reject(option)
        namespace, unknown = super().parse_known_args(arguments, namespace)
        if unknown:
            self._reject(unknown[0])
        return namespace, unknown

    def _reject(self, argument: str) -> NoReturn:
        name = argument.partition("=")[0]
        if name in self._refused:
            self.error(f"{name} {self._refused[name]}")
        known = [option for option in self._option_string_actions if option.startswith("--")]
        hint = suggestion(name, known, list_all=False) if name.startswith("-") else ""
        self.error(f"unknown argument {quote_value(argument)}; {hint or f'see {self.prog} --help'}")

    def error(self, message: str) -> NoReturn:
        names, separator, text = message.removeprefix("argument ").partition(": ")
        if message.startswith("argument ") and separator:
            name = next((option for option in names.split("/") if option.startswith("--")), names)
            text = text.replace("expected one argument", "has no value; expected one")
            text = re.sub(r"^ignored explicit argument (.*)", r"is \1; expected no value", text)
            message = (
                text if text.startswith(name) else f"{name} {text}" if text.startswith(("is ", "has ")) else f"{name}: {text}"
            )
        elif "required" in message:
            message = f"{message}; see {self.prog} --help"
        print_error(self.prog, message)
        raise SystemExit(BAD_INPUT)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(
                action, f"is {quote_value(str(value))}; {suggestion(str(value), list(map(str, action.choices)))}"
            )


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
