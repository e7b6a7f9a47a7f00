"""The changes that the checks of a task need, for tasks on applications that have no reference solution.

A change is needed if a check fails once this change is undone. Changes are undone one by one, on copies of the databases and files, so that
a smallest set of changes with which all checks pass remains; all others are side effects. Only checks of the kinds "state" and "file" can be
repeated on copies.
"""

import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path, PurePosixPath

from webarena_gym.applications import state
from webarena_gym.applications.application import Application
from webarena_gym.changes import Change
from webarena_gym.evaluators import evaluate
from webarena_gym.evaluators.kinds import eval_kinds
from webarena_gym.evaluators.outcome import Outcome, answer_outcome
from webarena_gym.tasks import Task

_REPEATABLE = frozenset(("state", "file"))
_MAX_CHANGES = 1_000
"""Largest number of changes that are undone; each repeats the checks."""


def unneeded_changes(
    task: Task, application: Application, base: Path, now: Path, own_names: tuple[str, str] = ("", "")
) -> list[Change] | str:
    """Return the changes without which the checks of a task pass too, or the reason why they are not known.

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
    changes = state.changes(application.name, base, now, application.databases, application.incidental, own_names)
    if len(changes) > _MAX_CHANGES:
        return f"the task has no reference solution, and {len(changes):,} changes are too many to be undone one by one"
    with ExitStack() as stack:
        connections = {
            path: stack.enter_context(closing(_open(base / path, now / path)))
            for path in dict.fromkeys(application.databases.values())
        }
        by_site = {name: connections[path] for name, path in application.databases.items()}
        first = next(iter(connections.values()), None)
        if first is not None:
            by_site = {"": first, application.name: first, **by_site}
        checked = {str(PurePosixPath(check["path"])) for check in task.eval.get("file") or ()}
        files = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="webarena-gym-")))
        for name in checked:
            _write(files / name, (now / name).read_bytes() if (now / name).is_file() else None)
        outcome = replace(
            answer_outcome(""),
            database=by_site.__getitem__,
            files=files,
            urls={f"__{application.name.upper()}__": application.url},
        )
        result = []
        for path, connection in connections.items():
            passes = _judge_of(task, "state", outcome)
            result += [
                needless
                for change in state.database_changes(application.name, base / path, now / path, application.incidental)
                if (needless := _needless_part(connection, change, passes))
            ]
        for name, old, new in state.changed_files(base, now, application.databases, application.incidental, own_names):
            if name not in checked:
                result += state.file_changes(application.name, name, old, new)
            else:
                content = _needed_content(files / name, old, new, _judge_of(task, "file", outcome))
                result += state.file_changes(application.name, name, content, new) if content != new else []
    return result


def _judge_of(task: Task, kind: str, outcome: Outcome) -> Callable[[], bool]:
    """Return a function that repeats the checks of one kind."""
    evaluation = {"eval_types": [kind], kind: task.eval.get(kind)}
    if kind not in task.eval_types:
        return lambda: True
    return lambda: all(verdict.passed for verdict in evaluate(evaluation, task.intent, outcome))


def _open(base: Path, now: Path) -> sqlite3.Connection:
    """Open copies of both states of a database, as the schemas `base` and `main`, without the triggers of `main`."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("ATTACH ':memory:' AS base")
    connection.deserialize(state.content_of(now))
    connection.deserialize(state.content_of(base), name="base")
    for (name,) in connection.execute("SELECT name FROM main.sqlite_schema WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER main.{_quote(name)}")
    return connection


def _needless_part(connection: sqlite3.Connection, change: Change, passes: Callable[[], bool]) -> Change | None:
    """Undo a change, or each changed column of a row, where the checks still pass. Return what was undone; None for nothing."""
    if change.table == "schema":
        return change  # the checks cannot need the definition of a table
    table = _quote(change.table)
    info = connection.execute("SELECT name, pk FROM pragma_table_info(?) ORDER BY cid", (change.table,)).fetchall()
    keys = [name for _, name in sorted((place, name) for name, place in info if place)] or ["rowid"]
    columns = ", ".join(map(_quote, dict.fromkeys((*keys, *(name for name, _ in info)))))
    row = " AND ".join(f"{_quote(key)} IS ?" for key in keys)
    if change.before is None:
        return change if _undo(connection, f"DELETE FROM main.{table} WHERE {row}", change.key, passes) else None
    if change.after is None:
        insert = f"INSERT OR REPLACE INTO main.{table} ({columns}) SELECT {columns} FROM base.{table} WHERE {row}"
        return change if _undo(connection, insert, change.key, passes) else None
    needless = {}
    for column in change.columns:
        old = f"(SELECT {_quote(column)} FROM base.{table} WHERE {row})"
        update = f"UPDATE OR REPLACE main.{table} SET {_quote(column)} = {old} WHERE {row}"
        if _undo(connection, update, change.key * 2, passes):
            needless[column] = change.after[column]
    return change._replace(after={**change.before, **needless}) if needless else None


def _undo(connection: sqlite3.Connection, statement: str, key: Sequence[object], passes: Callable[[], bool]) -> bool:
    """Run a statement, and revert it if the checks then fail. Return True if they pass."""
    connection.execute("SAVEPOINT undone")
    connection.execute(statement, key)
    if passes():
        connection.execute("RELEASE undone")
        return True
    connection.execute("ROLLBACK TO undone")
    connection.execute("RELEASE undone")
    return False


def _needed_content(path: Path, old: bytes | None, new: bytes | None, passes: Callable[[], bool]) -> bytes | None:
    """Return the content of a file in which everything is undone that the checks do not need.

    Of a text file, lines are undone; a removed and an added line are a replaced line. Other files are undone as a whole.
    """
    _write(path, old)
    if passes():
        return old
    _write(path, new)
    try:
        before, content = (part.decode().splitlines() for part in (old, new) if part is not None)
    except ValueError:  # the file was added or removed, or is not text
        return new
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


def _write(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink(missing_ok=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
