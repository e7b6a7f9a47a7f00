"""The changes that the checks of a task need, for tasks on applications that have no reference solution.

A change is needed if a check fails once this change is undone. Changes of rows and of lines of files are undone one by one, on copies of the
databases and files, so that a smallest set of changes with which all checks pass remains; all others are side effects. A row is undone as a
whole: one that the checks need may change in all its columns, such as `updated_at`. Only checks of the kinds "state" and "file" can be
repeated on copies.
"""

import json
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from itertools import chain, zip_longest
from pathlib import Path, PurePosixPath
from typing import Any

from webarena_gym.applications import state
from webarena_gym.applications.application import Application
from webarena_gym.changes import Change
from webarena_gym.errors import EvaluationError, WebArenaGymError
from webarena_gym.evaluators import evaluate
from webarena_gym.evaluators.kinds import eval_kinds
from webarena_gym.evaluators.outcome import Outcome, answer_outcome
from webarena_gym.tasks import Task

_REPEATABLE = frozenset(("state", "file"))
_TIMEOUT_S = 20.0
"""Time limit of undoing. It is checked before each repetition of the checks, which have a time limit of their own."""


class _DeadlineError(WebArenaGymError):
    """The time limit has passed."""


def unneeded_changes(
    task: Task, application: Application, base: Path, now: Path, own_names: tuple[str, str] = ("", "")
) -> list[Change] | str:
    """Return the changes without which the checks of a task pass too, or the reason why they are not known.

    At the time limit, the changes are returned that are side effects so far, or the reason if there are none.

    Args:
        task: a task whose checks pass.
        application: its application.
        base: folder of the base state.
        now: folder of the state at the end of the episode.
        own_names: the environment's name in both folders (see `state.changes`).

    """
    content_kinds = {name for name in task.eval_types if eval_kinds()[name].looks_at == "content"}
    if not content_kinds or not content_kinds <= _REPEATABLE:
        return "the task has no reference solution, so what it may change is not known"
    result = []
    end_s = time.monotonic() + _TIMEOUT_S
    with ExitStack() as stack:
        connections = {
            path: stack.enter_context(closing(_open(base / path, state.database_file(now, path))))
            for path in dict.fromkeys(application.databases.values())
        }
        by_site = {name: connections[path] for name, path in application.databases.items()}
        first = next(iter(connections.values()), None)
        if first is not None:
            by_site = {"": first, application.name: first, **by_site}
        files = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="webarena-gym-")))
        outcome = replace(
            answer_outcome(""),
            database=by_site.__getitem__,
            files=files,
            urls={f"__{application.name.upper()}__": application.url},
        )
        rows = _unneeded_rows(application, base, now, connections, _judge_of(task, "state", outcome, end_s))
        checked = {
            f"{PurePosixPath(check['path'])}{'/' * check['path'].endswith('/')}" for check in task.eval.get("file") or ()
        }
        lines = _unneeded_lines(application, base, now, own_names, files, checked, _judge_of(task, "file", outcome, end_s))
        try:
            for change in chain(rows, lines):
                result.append(change)  # noqa: PERF402 - those before the time limit remain
        except _DeadlineError:
            if not result:
                return f"the task has no reference solution, and its changes cannot be undone one by one in {_TIMEOUT_S:g} s"
    return result


def _judge_of(task: Task, kind: str, outcome: Outcome, end_s: float) -> Callable[[], bool] | None:
    """Return a function that repeats the checks of one kind, None if there are none. It raises _DeadlineError after `end_s`."""
    if kind not in task.eval_types:
        return None
    evaluation = {"eval_types": [kind], kind: task.eval[kind]}

    def passes() -> bool:
        if time.monotonic() > end_s:
            raise _DeadlineError
        try:
            return all(verdict.passed for verdict in evaluate(evaluation, task.intent, outcome))
        except EvaluationError:  # a query fails on the old rows, as json_extract does on a text that is not JSON
            return False

    return passes


def _unneeded_rows(
    application: Application,
    base: Path,
    now: Path,
    connections: Mapping[str, sqlite3.Connection],
    passes: Callable[[], bool] | None,
) -> Iterator[Change]:
    """Undo the changes of rows that the checks do not need, and yield them."""
    for path, connection in connections.items():
        for change in state.database_changes(
            application.name, base / path, state.database_file(now, path), application.incidental
        ):
            # the checks cannot need the definition of a table
            if passes is None or change.table == "schema" or _undo(connection, change, passes):
                yield change


def _unneeded_lines(
    application: Application,
    base: Path,
    now: Path,
    own_names: tuple[str, str],
    files: Path,
    checked: Collection[str],
    passes: Callable[[], bool] | None,
) -> Iterator[Change]:
    """Yield the changes of files that the checks do not need. The files `checked` are copied to the folder `files`, and undone there."""
    for name in checked:
        if name.endswith("/"):
            continue
        _write(files / name, (now / name).read_bytes() if (now / name).is_file() else None)
    for name, old, new in state.changed_files(base, now, application.databases, application.incidental, own_names):
        if name.endswith("/") and name in checked:
            continue  # a folder is there or not, so its change is needed
        content = _needed_content(files / name, old, new, passes) if passes and name in checked else old
        if content != new:
            yield from state.file_changes(application.name, name, content, new)


def _open(base: Path, now: Path) -> sqlite3.Connection:
    """Open copies of both states of a database, as the schemas `base` and `main`, without the triggers and CHECK constraints of `main`."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("PRAGMA ignore_check_constraints = ON")  # they may call functions of the application
    connection.execute("ATTACH ':memory:' AS base")
    connection.deserialize(state.content_of(now))
    connection.deserialize(state.content_of(base), name="base")
    for (name,) in connection.execute("SELECT name FROM main.sqlite_schema WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER main.{_quote(name)}")
    return connection


def _undo(connection: sqlite3.Connection, change: Change, passes: Callable[[], bool]) -> bool:
    """Undo the change of a row, and revert that if the checks then fail. Return True if they pass.

    If a row cannot be written, for example because an index calls a function of the application, its change counts as needed.
    """
    table = _quote(change.table)
    try:
        info = connection.execute("SELECT name, pk FROM pragma_table_info(?) ORDER BY cid", (change.table,)).fetchall()
        keys = [name for _, name in sorted((place, name) for name, place in info if place)] or ["rowid"]
        columns = ", ".join(map(_quote, dict.fromkeys((*keys, *(name for name, _ in info)))))
        row = " AND ".join(f"{_quote(key)} IS ?" for key in keys)
        connection.execute("BEGIN")
        connection.execute(f"DELETE FROM main.{table} WHERE {row}", change.key)
        connection.execute(
            f"INSERT OR REPLACE INTO main.{table} ({columns}) SELECT {columns} FROM base.{table} WHERE {row}", change.key
        )
        undone = passes()
    except sqlite3.Error:
        undone = False
    if undone:
        connection.commit()
    else:
        connection.rollback()
    return undone


def _needed_content(path: Path, old: bytes | None, new: bytes | None, passes: Callable[[], bool]) -> bytes | None:
    """Return the content of a file in which everything is undone that the checks do not need.

    Of a text file, lines are undone; a removed and an added line are a replaced line. Of a JSON file, values are undone, unless the checks
    need its text as it is. Other files are undone as a whole.
    """
    _write(path, old)
    if passes():
        return old
    _write(path, new)
    try:
        before, content = (part.decode().splitlines() for part in (old, new) if part is not None)
    except ValueError:  # the file was added or removed, or is not text
        return new
    if path.suffix == ".json":
        with suppress(ValueError, RecursionError):  # it is not JSON
            if _undo_document(path, json.loads("\n".join(before)), json.loads("\n".join(content)), passes):
                return path.read_bytes()
        _write(path, new)
    counts = Counter(before), Counter(content)
    for removed, added in zip_longest((counts[0] - counts[1]).elements(), (counts[1] - counts[0]).elements()):
        undone = list(content)
        index = len(undone) if added is None else undone.index(added)
        undone[index : index + 1] = [] if removed is None else [removed]
        _write(path, "\n".join(undone).encode())
        if passes():
            content = undone
    _write(path, "\n".join(content).encode())
    return path.read_bytes()


def _undo_document(path: Path, old: object, new: object, passes: Callable[[], bool]) -> bool:
    """Write a JSON value to a file, and undo all changes in it that the checks do not need. Return False if they need another text."""

    def write() -> bool:
        _write(path, json.dumps(new, ensure_ascii=False, indent=1).encode())
        return passes()

    if not write():
        return False
    _undo_values(old, new, write)
    return write()


def _undo_values(before: object, after: object, write: Callable[[], bool]) -> None:
    """Undo the changes of the values of an object, and of the elements of a list, which are undone as a whole, as rows are.

    `write` writes the file and returns True if the checks pass.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        for key in {**before, **after}:
            without = {name: value for name, value in after.items() if name != key}
            old = {name: value for name, value in before.items() if name == key}
            if after != without | old and not _set_content(after, without | old, write):
                _undo_values(before.get(key), after.get(key), write)
    elif isinstance(before, list) and isinstance(after, list):
        for index, (old, new) in enumerate(zip(before, list(after), strict=False)):
            if old not in after and new not in before:
                _set_content(after, [*after[:index], old, *after[index + 1 :]], write)
        for new in [new for new in after if new not in before]:
            _set_content(after, [value for value in after if value is not new], write)
        for index, old in enumerate(before):
            for place in (index, index + 1 + len(after) - len(before)):  # from the start, and from the end
                if old not in after:
                    _set_content(after, [*after[:place], old, *after[place:]], write)


def _set_content(values: Any, content: Any, write: Callable[[], bool]) -> bool:
    """Replace the content of an object or list, and revert that if the checks then fail. Return True if they pass."""
    saved = values.copy()
    for contents in (content, saved):
        values.clear()
        values.extend(contents) if isinstance(values, list) else values.update(contents)
        if contents is content and write():
            return True
    return False


def _write(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink(missing_ok=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
