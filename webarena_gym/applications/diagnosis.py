"""The log of an application in error messages, and the settings that solve its usual problems."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from webarena_gym.applications.containers import find_engine

if TYPE_CHECKING:
    from webarena_gym.applications.application import Application

_MAX_LOG = 1500  # characters of a log in an error message
_MAX_READ = 1 << 16  # bytes that are read for them
_REQUEST = re.compile(r'"[A-Z]{3,7} [^" ]*(?: HTTP/[0-9.]+)?" [123][0-9][0-9]\b')
"""A request without an error, in the format of most servers."""
_COLOR = re.compile(r"\x1b\[[0-9;]*m")
_TRACEBACK = "Traceback (most recent call last):"
_MIN_SECRET = 4  # characters; shorter values would hide parts of words
_VARIABLE = re.compile(
    r"KeyError: '([A-Z][A-Z0-9_]*)'|[Ee]nvironment variable \W?([A-Z][A-Z0-9_]{2,})|\b([A-Z][A-Z0-9_]{2,}): (?:unbound variable|parameter not set)"
)
_PACKAGE = re.compile(r"No module named '([\w.]+)'|Cannot find module '([^']+)'")
_READ_ONLY = re.compile(r"[Rr]ead-only file ?system(?:: '([^']+)')?|EROFS|readonly database")
_NETWORK = re.compile(
    r"Network is unreachable|ENETUNREACH|Connection refused|ECONNREFUSED|Can't connect to|connection to server .{0,200} failed"
    r"|Temporary failure in name resolution|Name or service not known|EAI_AGAIN|getaddrinfo"
)
_HOST = re.compile(
    r"DisallowedHost|Invalid HTTP_HOST|Host header|host_matching|not allowed.{0,20}host|[Bb]locked [Hh]ost", re.DOTALL
)
_FILE = re.compile(r"unable to open database file|no such table|relation .{0,200} does not exist")
_MEMORY = re.compile(r"MemoryError|Cannot allocate memory|out of memory|std::bad_alloc", re.IGNORECASE)
_PORT = re.compile(r"Address already in use|EADDRINUSE")
_IMAGE = re.compile(r"image not known|No such image|Unable to find image")
_RUN = re.compile(r"the program '([^']+)' cannot be run: (.+)")


def log_tail(log: Path, application: "Application") -> str:
    """Return the last lines of a log, after the last traceback if that is earlier, with the names of the variables of `inherits` in place of their values, which may be secrets.

    An application may replace its log, so links to other files are not followed.
    """
    try:
        with open(log, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _MAX_READ))
            text = file.read(_MAX_READ).decode("utf-8", "replace")
    except OSError:
        return ""
    secrets = {name: os.environ.get(name, "") for name in application.inherits}
    for name, value in sorted(secrets.items(), key=lambda secret: -len(secret[1])):  # one may contain another
        if len(value) >= _MIN_SECRET:
            text = text.replace(value, f"${name}")
    lines = _COLOR.sub("", text).strip().splitlines()
    text = "\n".join([line for line in lines if not _REQUEST.search(line)] or lines).strip()
    start = text.rfind(_TRACEBACK)
    if not 0 <= start < len(text) - _MAX_LOG:
        return _last_lines(text, _MAX_LOG)
    first, *rest = text[start:].splitlines()
    count = next((index for index, line in enumerate(rest) if not line.startswith((" ", "\t"))), len(rest))
    error = _last_lines("\n".join([first, *rest[: count + 1]]), _MAX_LOG // 2)
    return f"{error}\n[...]\n{_last_lines(text, _MAX_LOG // 2)}"


def _last_lines(text: str, limit: int) -> str:
    """Return the last lines of a text of at most `limit` characters, or the end of its last line if that is longer."""
    return text if len(text) <= limit else (text[-limit:].partition("\n")[2] or text[-limit:]).strip()


def advice(application: "Application", text: str) -> str:
    """Return the settings of `webarena-app.toml` that solve the problem in a log or a page, each as a line; "" if none is known.

    Args:
        application: the application.
        text: end of its log, or text of a page with an error status.

    """
    return "".join(f"\n{line}" for line in dict.fromkeys(_lines(application, text)))


def clock_advice(application: "Application") -> str:
    """Return the remedy for an application whose pages or files differ between equal episodes."""
    if application.clock:
        return "the clock is constant: seed random values, and remove measured durations and processor times from its pages"
    return "set clock=, or seed random values"


def _lines(application: "Application", text: str) -> Iterable[str]:
    if match := _RUN.search(text):
        program, reason = match.groups()
        where = (
            f"a file of {application.folder}" if "/" in program else "a program in PATH; write ./NAME for a file of the folder"
        )
        yield f"Is the command right? {program!r}: {reason}; expected {where}" + (
            ", with the right to execute it (chmod +x)" if "ermission" in reason else ""
        )
    if application.image and _IMAGE.search(text):
        engine = Path(find_engine()).name
        yield f"Is the image on this machine? `{engine} images` lists them, and `{engine} pull {application.image}` downloads it."
    if match := _PACKAGE.search(text):
        package = match[1] or match[2]
        install = f": {application.python} -m pip install ..." if match[1] and not application.is_program else ""
        yield f"Is the package of {package!r} installed for the application{install}? python = names another interpreter, PYTHONPATH in [environment] further folders."
    if match := _VARIABLE.search(text):
        name = match[1] or match[2] or match[3]
        yield f'Set the variable in [environment], {name} = "...", or pass that of your shell on: inherits = ["{name}"].'
    if match := _READ_ONLY.search(text):
        what = f" {match[1]!r}" if match[1] else ""
        yield f"It writes{what} outside of its state: lead it to {{state}} by its settings, [environment] or command, or list the folder in shared."
    if not application.network and _NETWORK.search(text):
        yield "It opens a connection to another program, which needs network = true."
    if _HOST.search(text):
        yield f"Allow the host {application.host!r} in its settings; for Django: ALLOWED_HOSTS."
    if _FILE.search(text):
        yield f"Is the path of its database that in {{state}}, whose files are copied from {application.state_folder}?"
    if _MEMORY.search(text) and "memory" in application.limits:
        yield f"Its limit is memory = {application.limits['memory']!r}; expected a larger one."
    if _PORT.search(text):
        yield "It must listen at {port} or {socket}, which differ between episodes."
