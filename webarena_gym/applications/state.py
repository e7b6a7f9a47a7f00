"""The state of an application as files: copies of its folder, what differs between two of them, and the rows of its databases."""

import hashlib
import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from webarena_gym.applications.application import Application
from webarena_gym.changes import Change
from webarena_gym.errors import ApplicationError, TaskError
from webarena_gym.sites.changes import net_changes
from webarena_gym.sites.kit.database import Database

_FICLONE = 0x40049409  # Linux's ioctl that makes a file share the blocks of another until one of them is written
_BESIDE = ("-wal", "-shm", "-journal")  # SQLite's files beside a database

_TRIES = 50
_SECOND = 1_000_000_000

Difference = Mapping[str, bytes | None]
"""Files that differ from a base by their path in the folder, each with its content, None for one that is gone."""


def copy_folder(source: Path, target: Path) -> None:
    """Copy a folder with the times of its files; where the file system can, the copies share their blocks until they are written."""
    shutil.copytree(source, target, symlinks=True, copy_function=_copy_file, dirs_exist_ok=True)


def _copy_file(source: str, target: str) -> None:
    with open(source, "rb") as one, open(target, "wb") as other:
        try:
            if sys.platform != "linux":
                raise OSError  # noqa: TRY301 - as the call does where it cannot
            from fcntl import ioctl  # noqa: PLC0415 - not on all systems

            ioctl(other.fileno(), _FICLONE, one.fileno())
        except OSError:
            shutil.copyfileobj(one, other, 1 << 20)
    shutil.copystat(source, target)


def stop_times(folder: Path, clock: str) -> None:
    """Let files and folders that were changed since the time at which a clock stands show the second before it.

    The system writes them by its own clock. Fractions of the second stay, by which one change is told from another.
    """
    if not clock:
        return
    stopped = int(datetime.fromisoformat(clock).replace(tzinfo=UTC).timestamp())
    for path in (folder, *folder.rglob("*")):
        with suppress(FileNotFoundError):
            told = path.lstat()
            if told.st_mtime_ns >= (stopped + 1) * _SECOND:
                time = (stopped - 1) * _SECOND + told.st_mtime_ns % _SECOND
                os.utime(path, ns=(time, time), follow_symlinks=False)


def difference(base: Path, now: Path) -> Difference:
    """Return what differs between two copies of a folder. A file of the same size and time is the same.

    The second may be in use: it is read until nothing was changed meanwhile. Links that lead out of a folder are no part of it. Raises
    ApplicationError where it never comes to rest.
    """
    before = _stamps(base)
    for _ in range(_TRIES):
        after = _stamps(now)
        try:
            found: dict[str, bytes | None] = {
                name: (now / name).read_bytes() for name, stamp in after.items() if stamp != before.get(name)
            }
        except FileNotFoundError:
            continue
        if _stamps(now) == after:
            found = {
                name: content for name, content in found.items() if name not in before or content != (base / name).read_bytes()
            }
            return dict(sorted((found | dict.fromkeys(before.keys() - after.keys())).items()))
    raise ApplicationError(f"the files in {now} never come to rest")


def apply(changed: Difference, folder: Path) -> None:
    """Bring a copy of the base to the state that a difference tells; a link gives way to what is written in its place."""
    for name, content in changed.items():
        path = folder / name
        for place in (*reversed(path.relative_to(folder).parents), path.relative_to(folder)):
            if (folder / place).is_symlink():
                (folder / place).unlink()
        if content is None:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def changes(site: str, base: Path, now: Path, databases: Mapping[str, str], incidental: tuple[str, ...]) -> list[Change]:
    """Return what was changed: schemas and rows of databases, and other files by their digests, without what is incidental."""
    rows = tuple(line for line in incidental if "/" not in line)
    found = []
    for path in dict.fromkeys(databases.values()):
        before, after = _content(base / path), _content(now / path)
        schemas = _schema(before), _schema(after)
        other = sorted(name for name in schemas[0].keys() | schemas[1].keys() if schemas[0].get(name) != schemas[1].get(name))
        for name in other:
            was, is_now = ({"name": name, "sql": schema[name]} if name in schema else None for schema in schemas)
            found.append(Change(site, "schema", (name,), was, is_now, {}))
        found += net_changes(site, before, after, rows, other)
    for name, content in difference(base, now).items():
        if (
            name in databases.values()
            or name.endswith(_BESIDE)
            or any(fnmatchcase(f"/{name}", pattern) for pattern in incidental)
        ):
            continue
        contents = ((base / name).read_bytes() if (base / name).is_file() else None, content)
        one, another = (
            None if each is None else {"path": name, "digest": hashlib.sha256(each).hexdigest()[:16]} for each in contents
        )
        found.append(Change(site, "file", (name,), one, another, {}))
    return found


@contextmanager
def open_copies(application: Application) -> Iterator[Mapping[str, Database]]:
    """Give copies of an application's databases in memory by their names, the first also by that of the application. Raises TaskError."""
    if not application.databases:
        raise TaskError(f"the templates of {application.name} have nothing to draw from: it names no databases")
    with ExitStack() as stack:
        own = {
            name: stack.enter_context(closing(Database(_content(application.state_folder / path))))
            for name, path in application.databases.items()
        }
        yield {application.name: own[next(iter(own))], **own}


def open_database(path: Path) -> sqlite3.Connection:
    """Open a SQLite file to look at it. Raises ApplicationError."""
    try:
        return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
    except sqlite3.Error as error:
        raise ApplicationError(f"the database {path} cannot be opened: {error}") from error


def _content(path: Path) -> bytes:
    """Return a database as one file, what stands in its write-ahead log included. Raises ApplicationError for none."""
    with suppress(sqlite3.Error), closing(open_database(path)) as connection:
        content = bytearray(connection.serialize())
        content[18:20] = b"\1\1"  # no write-ahead log, which a database in memory cannot have
        return bytes(content)
    raise ApplicationError(f"{path} is no SQLite database")


def _schema(content: bytes) -> dict[str, str | None]:
    """Return the statement that has made each table, index, view and trigger of a database."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(content)
        return dict(connection.execute("SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"))


def _stamps(folder: Path) -> dict[str, tuple[int, int]]:
    """Return the size and the time of each file."""
    found = {}
    within = folder.resolve()
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            is_own = not path.is_symlink() or path.resolve().is_relative_to(within)
            if is_own and path.is_file() and not path.name.endswith("-shm"):
                told = path.stat()
                found[path.relative_to(folder).as_posix()] = (told.st_size, told.st_mtime_ns)
    return found
