"""The state of an application as files: copies of its folder, differences between copies, and changed rows of its databases."""

import hashlib
import json
import os
import shutil
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from webarena_gym.applications.application import Application
from webarena_gym.applications.dumps import SUFFIX, read_dump
from webarena_gym.changes import Change
from webarena_gym.errors import ApplicationError, TaskError
from webarena_gym.sites.changes import incidental, net_changes
from webarena_gym.sites.kit.database import Database

_FICLONE = 0x40049409  # Linux's ioctl that clones a file: both share their blocks until one is written
_SIDE_FILES = ("-wal", "-shm", "-journal")  # suffixes of SQLite's files next to a database

_MAX_TRIES = 50
_SECOND_NS = 1_000_000_000

Difference = Mapping[str, bytes | None]
"""The content of files that differ from the base state, by their path in the folder; None for a deleted file."""


def inaccessible_file(folder: Path) -> str:
    """Return the path, relative to a folder, of a file that this user cannot read or a folder that this user cannot change, or ""."""
    for path, _, files in os.walk(folder):
        if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
            return os.path.relpath(path, folder)
        for name in files:
            file = os.path.join(path, name)
            if not (os.path.islink(file) or os.access(file, os.R_OK)):
                return os.path.relpath(file, folder)
    return ""


def copy_folder(source: Path, target: Path) -> None:
    """Copy a folder with the modification times of its files, by cloning files (copy on write) if the file system supports it."""
    shutil.copytree(source, target, symlinks=True, copy_function=_copy_file, dirs_exist_ok=True)


def _copy_file(source: str, target: str) -> None:
    with open(source, "rb") as source_file, open(target, "wb") as target_file:
        try:
            if sys.platform != "linux":
                raise OSError  # noqa: TRY301 - as `ioctl` does on file systems without clones
            from fcntl import ioctl  # noqa: PLC0415 - not on all systems

            ioctl(target_file.fileno(), _FICLONE, source_file.fileno())
        except OSError:
            shutil.copyfileobj(source_file, target_file, 1 << 20)
    shutil.copystat(source, target)


def clamp_times(folder: Path, clock: str) -> None:
    """Set modification times that are later than the application's constant time to the second before it.

    The system sets modification times by its own clock, and not by the application's. The fractions of a second remain, because they
    distinguish changes.

    Args:
        folder: the folder, which is processed with all its files and folders.
        clock: constant time of the application in ISO format; "" does nothing.

    """
    if not clock:
        return
    constant_s = int(datetime.fromisoformat(clock).replace(tzinfo=UTC).timestamp())
    for path in (folder, *folder.rglob("*")):
        with suppress(FileNotFoundError):
            status = path.lstat()
            if status.st_mtime_ns >= (constant_s + 1) * _SECOND_NS:
                time = (constant_s - 1) * _SECOND_NS + status.st_mtime_ns % _SECOND_NS
                os.utime(path, ns=(time, time), follow_symlinks=False)


def difference(base: Path, now: Path) -> Difference:
    """Return the files that differ between two copies of a folder. Files of equal size and modification time count as equal.

    Folders that were added or removed are included, with a slash at the end of the name.

    Links to targets outside of a folder are ignored.

    Args:
        base: the first copy.
        now: the second copy. The application may write to it, so it is read again until no file changes during a read.

    Raises:
        ApplicationError: if the second copy changes at every attempt.

    """
    before = _stamps(base)
    for _ in range(_MAX_TRIES):
        after = _stamps(now)
        try:
            contents: dict[str, bytes | None] = {
                name: b"" if name.endswith("/") else (now / name).read_bytes()
                for name, stamp in after.items()
                if stamp != before.get(name)
            }
        except FileNotFoundError:
            continue
        if _stamps(now) == after:
            contents = {
                name: content
                for name, content in contents.items()
                if name not in before or name.endswith("/") or content != (base / name).read_bytes()
            }
            return dict(sorted((contents | dict.fromkeys(before.keys() - after.keys())).items()))
    raise ApplicationError(f"the files in {now} changed during each attempt to read them; stop the writes and try again")


def apply(files: Difference, folder: Path) -> None:
    """Apply a difference to a copy of the base state. Links on the paths of files are replaced."""
    for name in files:
        path = PurePosixPath(name)
        for part in (*reversed(path.parents), path):
            if (folder / part).is_symlink():
                (folder / part).unlink()
    for name in sorted((name for name, content in files.items() if content is None), reverse=True):  # a folder after its files
        with suppress(OSError):  # a folder with ignored files, such as links out of the state
            (folder / name).rmdir() if name.endswith("/") else (folder / name).unlink(missing_ok=True)
    for name, content in files.items():
        if name.endswith("/") and content is not None:
            (folder / name).mkdir(parents=True, exist_ok=True)
        elif content is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)


def changes(
    site: str,
    base: Path,
    now: Path,
    databases: Mapping[str, str],
    declared: tuple[str, ...],
    own_names: tuple[str, str] = ("", ""),
) -> list[Change]:
    """Return the changes between two copies of the state: schemas and rows of databases, lines of text files, and other files.

    A changed line of a text file is a removed and an added row of the table "/PATH"; moved lines are no change. A file that was added,
    removed, or is not text is a row of the table "file", with its digest.

    Args:
        site: name of the site.
        base: folder of the base state.
        now: folder of the current state.
        databases: paths of the SQLite files and dumps in the folder, by name.
        declared: changes that are ignored (see `Application.incidental`).
        own_names: the environment's name in each copy. Files may contain it; it is replaced by `{env}` before the comparison.

    """
    result = []
    for path in dict.fromkeys(databases.values()):
        result += database_changes(site, base / path, database_file(now, path), declared)
    for name, before, after in changed_files(base, now, databases, declared, own_names):
        result += file_changes(site, name, before, after)
    return result


def database_changes(site: str, base: Path, now: Path, declared: tuple[str, ...]) -> list[Change]:
    """Return the changes between two copies of a database: of its schema, and of the rows of tables with an unchanged schema."""
    before, after = content_of(base), content_of(now)
    schemas = _schema(before), _schema(after)
    altered = sorted(name for name in schemas[0].keys() | schemas[1].keys() if schemas[0].get(name) != schemas[1].get(name))
    result = []
    for name in altered:
        old, new = ({"name": name, "sql": schema[name]} if name in schema else None for schema in schemas)
        result.append(Change(site, "schema", (name,), old, new, {}))
    return result + net_changes(site, before, after, tuple(line for line in declared if "/" not in line), altered)


def changed_files(
    base: Path, now: Path, databases: Mapping[str, str], declared: tuple[str, ...], own_names: tuple[str, str] = ("", "")
) -> Iterator[tuple[str, bytes | None, bytes | None]]:
    """Yield the path and both contents of each file that differs and is neither a database nor declared; see `changes`."""
    changed = difference(base, now)
    for name, content in changed.items():
        if name.endswith("/") and any(other.startswith(name) for other in changed if other != name):
            continue  # the changes of its files imply it
        if (
            name in databases.values()
            or name.endswith(_SIDE_FILES)
            or any(fnmatchcase(f"/{name}", pattern) for pattern in declared)
        ):
            continue
        old_content = (base / name).read_bytes() if (base / name).is_file() else None
        if name.endswith("/") and content is None:
            old_content = b""
        yield name, _mask_name(old_content, own_names[0]), _mask_name(content, own_names[1])


def _mask_name(content: bytes | None, own_name: str) -> bytes | None:
    """Return the content of a file with `{env}` in the place of the environment's name."""
    return content.replace(own_name.encode(), b"{env}") if content and own_name else content


def file_changes(site: str, name: str, before: bytes | None, after: bytes | None) -> list[Change]:
    """Return the changes of the lines of a text file, or the change of another file; none if only blank lines differ."""
    if before is not None and after is not None:
        try:
            lines = [Counter(_lines(name, content.decode())) for content in (before, after)]
        except UnicodeDecodeError:
            pass
        else:
            removed, added = lines[0] - lines[1], lines[1] - lines[0]
            return [
                *(
                    Change(site, f"/{name}", (line, number), {"line": line}, None, {})
                    for line in removed
                    for number in range(removed[line])
                ),
                *(
                    Change(site, f"/{name}", (line, number), None, {"line": line}, {})
                    for line in added
                    for number in range(added[line])
                ),
            ]
    digests = [
        None if content is None else {"path": name, "digest": hashlib.sha256(content).hexdigest()[:16]}
        for content in (before, after)
    ]
    return [Change(site, "file", (name,), digests[0], digests[1], {})]


def _lines(name: str, text: str) -> list[str]:
    """Return the lines of a text file that are not blank. JSON is first written with one value a line."""
    if name.endswith(".json"):
        with suppress(ValueError, RecursionError):
            text = json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    return [line for line in text.splitlines() if line.strip()]


def json_changes(
    site: str, before: Mapping[str, Any], after: Mapping[str, Any], declared: tuple[str, ...] = ()
) -> list[Change]:
    """Return the changes between two JSON objects, such as the state of a page (see `Application.client_state`).

    A list of objects with unique values of "id" is a table, and each of them is a row. The plain values of an object, such as settings, are
    one row. Other lists are compared as sets of values, so that an element that was moved is no change. Tables have the path in the object
    as their name, such as "settings_mail".

    Args:
        site: name of the site.
        before: the first object.
        after: the second object.
        declared: changes that are ignored: tables, columns, and added rows without conditions (see `sites.changes`).

    """
    ignored, result = incidental(declared), []
    for change in _object_changes(site, (), before, after):
        if change.table in ignored.tables or (change.before is None and change.table in ignored.added):
            continue
        if change.before is not None and change.after is not None:
            columns = [column for column in change.columns if not ignored.covers(change.table, column)]
            compared = {column: value for column, value in change.after.items() if column in columns}
            change = change._replace(after={**change.before, **compared})  # noqa: PLW2901 - without the ignored columns
            if not columns:
                continue
        result.append(change)
    return result


def _object_changes(site: str, path: tuple[str, ...], before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the changes of an object and of the objects and lists in it."""
    rows: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key), after.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _object_changes(site, (*path, key), old, new)
        elif isinstance(old, list) and isinstance(new, list):
            yield from _list_changes(site, "_".join((*path, key)), old, new)
        elif old != new:
            for row, value in zip(rows, (old, new), strict=True):
                row[key] = _json_value(value)
    if rows[0]:
        yield Change(site, "_".join(path) or "state", ("_".join(path),), *rows, {})


def _list_changes(site: str, table: str, before: list[Any], after: list[Any]) -> Iterator[Change]:
    """Yield the changes of a list: of rows by their id, or of values."""
    rows = [_rows_by_id(items) for items in (before, after)]
    if rows[0] is not None and rows[1] is not None:
        for key in dict.fromkeys((*rows[0], *rows[1])):
            old, new = rows[0].get(key), rows[1].get(key)
            if old is not None and new is not None:
                columns = dict.fromkeys((*old, *new))
                old, new = ({column: row.get(column) for column in columns} for row in (old, new))
            if old != new:
                yield Change(site, table, (key,), old, new, {})
        return
    counts = [Counter(_json_value(item) for item in items) for items in (before, after)]
    for values, is_new in ((counts[0] - counts[1], False), (counts[1] - counts[0], True)):
        for value in values.elements():
            row = {"value": value}
            yield Change(site, table, (value,), None if is_new else row, row if is_new else None, {})


def _rows_by_id(items: list[Any]) -> dict[Any, dict[str, Any]] | None:
    """Return the objects of a list by "id", with their values as they are compared; None if they have no unique ids."""
    if not all(isinstance(item, dict) and isinstance(item.get("id"), str | int) for item in items):
        return None
    rows = {item["id"]: {key: _json_value(value) for key, value in item.items()} for item in items}
    return rows if len(rows) == len(items) else None


def _json_value(value: object) -> Any:
    """Return a JSON value as a plain one: an object or a list as its text."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False) if isinstance(value, dict | list) else value


@contextmanager
def open_copies(application: Application) -> Iterator[Mapping[str, Database]]:
    """Open in-memory copies of an application's databases, by name; the first also has the name of the application.

    Raises TaskError if the application has none.
    """
    if not application.databases:
        raise TaskError(
            f"the templates of {application.name} need a database, and the application declares none in [databases]"
        )
    with ExitStack() as stack:
        copies = {
            name: stack.enter_context(closing(Database(content_of(application.state_folder / path))))
            for name, path in application.databases.items()
        }
        yield {application.name: copies[next(iter(copies))], **copies}


def database_file(folder: Path, path: str) -> Path:
    """Return the path of a database in a copy of the state.

    Raises:
        ApplicationError: if the application has replaced it, or a folder above it, by a link to another place, which is not its state.

    """
    file = folder / path
    if not file.resolve().is_relative_to(folder.resolve()):
        raise ApplicationError(f"the database {path} was replaced by a link to {file.resolve()}; expected a file in the state")
    return file


def open_database(path: Path) -> sqlite3.Connection:
    """Open a SQLite file read-only, or a copy of the database in a dump. Raises ApplicationError."""
    try:
        if path.suffix == SUFFIX:
            connection = sqlite3.connect(":memory:", check_same_thread=False)
            connection.deserialize(content_of(path))
            return connection
        return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
    except sqlite3.Error as error:
        raise ApplicationError(f"the database {path} cannot be opened: {error}") from error


def content_of(path: Path) -> bytes:
    """Return a database as the bytes of one SQLite file, including its write-ahead log; also one in a dump. Raises ApplicationError."""
    if path.suffix == SUFFIX:
        try:
            return read_dump(path.read_bytes())
        except OSError as error:
            raise ApplicationError(f"the dump {path} cannot be read: {error.strerror}") from error
    with suppress(sqlite3.Error), closing(open_database(path)) as connection:
        content = bytearray(connection.serialize())
        content[18:20] = b"\1\1"  # switch off the write-ahead log, which databases in memory do not support
        return bytes(content)
    raise ApplicationError(f"{path} is not a SQLite database")


def _schema(content: bytes) -> dict[str, str | None]:
    """Return the CREATE statement of each table, index, view and trigger of a database, by name."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(content)
        return dict(connection.execute("SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"))


def _stamps(folder: Path) -> dict[str, tuple[int, int]]:
    """Return the size in bytes and the modification time in ns of each file, by its path in the folder; (0, 0) of each folder."""
    stamps = {}
    root = folder.resolve()
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            is_inside = not path.is_symlink() or path.resolve().is_relative_to(root)
            if is_inside and path.is_file() and not path.name.endswith("-shm"):
                status = path.stat()
                stamps[path.relative_to(folder).as_posix()] = (status.st_size, status.st_mtime_ns)
            elif path.is_dir() and not path.is_symlink():
                stamps[f"{path.relative_to(folder).as_posix()}/"] = (0, 0)
    return stamps
