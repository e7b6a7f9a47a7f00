"""Trust in applications of other people: what an archive or a suite may do outside of the isolation must be allowed once."""

import hashlib
import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from webarena_gym.arguments import reason_of
from webarena_gym.errors import ApplicationError

if TYPE_CHECKING:
    from webarena_gym.applications.application import Application


def data_folder() -> Path:
    """Return the folder of this package in the user's data folder."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "webarena_gym"


def grants_of(application: "Application", folder: Path) -> list[str]:
    """Return what an application, described in a folder, may do outside of its isolation, one line each."""
    grants = []
    if is_inside(application.python, folder):
        grants.append(f"python = {application.python!r} starts with your rights")
    if application.image:
        grants.append(f"image = {application.image!r} starts in a container, by your container engine and with its rights")
    if application.network:
        grants.append("network = true reaches other hosts and services of this machine")
    if application.inherits:
        grants.append(f"inherits = {list(application.inherits)} reads environment variables")
    paths = {
        "folder": [application.folder],
        "state": [application.state],
        "uploads": [application.uploads],
        "shared": application.shared,
        "readable": application.readable,
    }
    for key, values in paths.items():
        for value in filter(None, values):
            if not (Path(application.folder) / Path(value).expanduser()).resolve().is_relative_to(folder.resolve()):
                verb = "writes" if key == "shared" else "reads"
                grants.append(f"{key} = {value!r} {verb} a folder outside of its own")
    return [grant.replace(f"{folder}/", "") for grant in grants]  # equal wherever it is


def is_inside(python: str, folder: Path) -> bool:
    """Return True if an interpreter is a file of a folder rather than of this machine."""
    path = os.path.abspath(folder / python)
    return "/" in python and python != sys.executable and Path(path).is_relative_to(os.path.abspath(folder))


def lacks_interpreter(application: "Application", folder: Path) -> bool:
    """Return True if the interpreter of an application is a file of its folder that is not installed yet."""
    return is_inside(application.python, folder) and not os.path.exists(folder / application.python)


def expect_trust(source: str, content: bytes, grants: Sequence[str], remedy: Sequence[str | Path]) -> None:
    """Raise ApplicationError if there are grants that the user has not allowed.

    Args:
        source: name of the archive or suite, for the error message.
        content: what the user's decision is valid for: the bytes of the archive, or the path of the suite's folder, whatever that contains later.
        grants: the lines of `grants_of`.
        remedy: arguments of the command that allows them.

    """
    if grants and not os.path.isfile(_trust_file(content, grants)):
        command = shlex.join(("webarena-gym", *map(str, remedy)))
        raise ApplicationError(f"{source} is not trusted: {'; '.join(grants)}. If you trust its authors, run `{command}` once")


def expect_trusted_archive(archive: Path, application: "Application", folder: Path, *, installs: bool = False) -> None:
    """Raise ApplicationError if an archive is not trusted, or the interpreter of its application is not installed.

    The message contains one command that solves both.

    Args:
        archive: the archive.
        application: its application.
        folder: the folder to which it was unpacked.
        installs: True if the caller installs a missing interpreter.

    """
    is_missing = lacks_interpreter(application, folder)
    remedy: list[str | Path] = ["app", "verify", archive, "--trust", *["--install"] * (is_missing or installs)]
    expect_trust(str(archive), archive.read_bytes(), grants_of(application, folder), remedy)
    if is_missing and not installs:
        command = shlex.join(("webarena-gym", *map(str, remedy)))
        raise ApplicationError(
            f"{archive}: the interpreter {os.path.relpath(application.python, folder)} is not installed. Run `{command}` once"
        )


def add_trust(content: bytes, grants: Sequence[str]) -> None:
    """Record that the user allows these grants. Raises ApplicationError if the data folder cannot be written."""
    file = _trust_file(content, grants)
    if grants:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
        except OSError as error:
            raise ApplicationError(f"the decision of --trust cannot be written to {file}: {reason_of(error)}") from error


def _trust_file(content: bytes, grants: Sequence[str]) -> Path:
    """Return the path of the file that exists if the user has allowed these grants."""
    return data_folder() / "trusted" / hashlib.sha256(content + json.dumps(grants).encode()).hexdigest()
