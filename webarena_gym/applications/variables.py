"""The environment variables of an application, with those of a constant time."""

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from webarena_gym.applications.application import Application
from webarena_gym.errors import ApplicationError

_VARIABLES = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "LANG", "LANGUAGE", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY",
    "LC_NUMERIC", "LC_TIME", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "SSL_CERT_FILE", "SSL_CERT_DIR", "JAVA_HOME", "NODE_PATH", "GEM_HOME",
    "GEM_PATH", "RUBYLIB", "PERL5LIB", "PHPRC", "PHP_INI_SCAN_DIR", "PYTHONDONTWRITEBYTECODE", "PYTHONWARNINGS",
)  # fmt: skip
"""Environment variables that every application sees."""


def inherited_variables(application: Application) -> dict[str, str]:
    """Return the variables of this process that an application sees."""
    return {name: os.environ[name] for name in (*_VARIABLES, *application.inherits) if name in os.environ}


def fill_placeholders(variables: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    """Return variables with the values of their placeholders; "{port}" and "{socket}" are empty by default."""
    placeholders = {"port": "", "socket": "", **values}
    return {name: text.format(**placeholders) for name, text in variables.items()}


def clock_variables(application: Application, folder: Path) -> dict[str, str]:
    """Return environment variables that give an application a constant time, and copy libfaketime to the folder.

    There are none for an application whose state is in its pages: its server does not use the time.

    Raises ApplicationError if libfaketime is not installed.
    """
    if not application.clock or application.client_state:
        return {}
    library = folder / "libfaketime.so"
    library.write_bytes(_faketime())
    # With libfaketime's fix of monotonic time, threads that wait for Python's global lock spin.
    monotonic = {"FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_FORCE_MONOTONIC_FIX": "0"}
    return {"LD_PRELOAD": str(library), "FAKETIME": application.clock, "TZ": "UTC", **monotonic}


@cache
def _faketime() -> bytes:
    """Return the bytes of libfaketime without its `clock_nanosleep`. Raises ApplicationError if it is not installed.

    That function subtracts the fake time from the real monotonic time until which Python's `sleep` waits, and no variable prevents it.
    Under another name it does not replace the function of the system. The result is cached, because the search takes longer than a reset.
    """
    for folder in ("/usr/lib", "/usr/local/lib", "/opt/homebrew/lib"):
        for path in sorted(Path(folder).glob("**/faketime/libfaketime.so.1")):
            return path.read_bytes().replace(b"\0clock_nanosleep\0", b"\0-lock_nanosleep\0")
    raise ApplicationError("an application with a clock needs libfaketime: apt-get install libfaketime")
