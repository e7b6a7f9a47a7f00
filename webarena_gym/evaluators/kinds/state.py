"""The eval kind `state`: a query over the episode's own database must return the expected rows."""

import re
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count, pairwise
from threading import Timer
from types import NoneType
from typing import Any

from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators.outcome import Check, EvalKind, Judge, Outcome, Verdict, check_parts


@contextmanager
def deferred() -> Iterator[None]:
    """Let an interrupt that comes meanwhile take effect at the end. Other threads than the main one get none anyway."""
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield
        return
    held: list[tuple[int, Any]] = []
    signal.signal(signal.SIGINT, lambda number, frame: held.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if held:
            usual(*held[-1])


_READING = frozenset((sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE))
MOST_STEPS = 50_000_000
"""Instructions of SQLite's machine that the queries of a task may take: some seconds, and a hundred times what any of this package needs."""

_STEPS_AT_A_TIME = 100_000
_LONGEST_VALUE = (
    200_000  # bytes; to look for one value in another is one step of SQLite's, and takes the product of their lengths
)
_LONGEST_S = (
    5.0  # of a task's queries, which steps of long values may take in spite of their number; beyond it nothing is judged
)
_MOST_TOLD = 5  # rows
_MORE = 6  # rows that are read beyond those that are expected, so that the reason can tell them

_TOKEN = re.compile(r"'[^']*'|[\w.]+|\S")
_KEYWORDS = frozenset(
    ("and", "as", "case", "column1", "else", "end", "in", "integer", "is", "like", "not", "null", "or", "then", "when")
)


def state(query: str, *parameters: Any, expected: list[list[Any]], site: str = "") -> dict[str, Any]:
    """The query over a site's database, by default the task's first site, must return exactly `expected`, in order."""
    check = {"site": site, "query": query, "parameters": list(parameters), "expected": expected}
    return {"eval_types": ["state"], "state": [check]}


def _read(evaluation: Mapping[str, Any]) -> list[Check]:
    known = {"site": str, "query": str, "expected": list, "parameters": list}
    checks = evaluation.get("state") or ()
    for check in checks:
        check_parts("a check of the state", check, known, optional="parameters")
    return [partial(_judge_all, checks)] if checks else []


@contextmanager
def _bounded(database: sqlite3.Connection, steps: Iterator[int], end_s: float) -> Iterator[None]:
    """Bound what queries do: they read, make no long values, and end with an error when the steps or the time are used up."""
    longest = database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
    # So that no task file can write, attach or export anything.
    database.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY)
    database.set_progress_handler(lambda: next(steps) > MOST_STEPS, _STEPS_AT_A_TIME)
    timer = Timer(max(0.0, end_s - time.monotonic()), database.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # so that it interrupts no later query
        database.set_progress_handler(None, 0)
        database.set_authorizer(None)
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)


def _judge_all(checks: Sequence[Mapping[str, Any]], _: str, outcome: Outcome, __: Judge | None) -> list[Verdict]:
    """Return the verdict of each query. All queries share the limits on steps and time."""
    steps, end_s = count(_STEPS_AT_A_TIME, _STEPS_AT_A_TIME), time.monotonic() + _LONGEST_S
    return [_judge(check, outcome, steps, end_s) for check in checks]


def _judge(check: Mapping[str, Any], outcome: Outcome, steps: Iterator[int], end_s: float) -> Verdict:
    """A query over the episode's own database must return exactly the expected rows, in order."""
    query, expected = check["query"], check["expected"]
    try:
        database = outcome.database(check["site"])
    except KeyError as error:
        raise EvaluationError(f"the state of {check['site']!r} cannot be read here") from error
    try:
        with (
            deferred(),
            _bounded(database, steps, end_s),
        ):  # SQLite would take an interrupt in a callback for a fault of the query
            cursor = database.execute(query, check.get("parameters", []))
            columns = [_title(column) for column, *_ in cursor.description or ()]
            found = [list(row) for row in cursor.fetchmany(len(expected) + _MORE)]
            cursor.close()
    except (sqlite3.Error, sqlite3.Warning, OverflowError, ValueError) as error:
        limit = (
            f" (the queries of a task may take {MOST_STEPS:,} steps, and {_LONGEST_S:g} s)"
            if str(error) == "interrupted"
            else ""
        )
        raise EvaluationError(f"the query {query[:500]!r} failed: {error}{limit}") from error
    place = ", ".join(columns)
    if found == expected:
        return Verdict("state", True, "as expected", "equal rows", place=place)
    if len(found) < len(expected) + _MORE:  # all rows are known, so what is not among them is nowhere
        extra, missing = _less(found, expected), _less(expected, found)
        found, expected = (extra, missing) if extra or missing else (found, expected)
    return Verdict("state", False, "", "equal rows", expected[:_MOST_TOLD], found[:_MOST_TOLD], place)


def _title(column: str) -> str:
    """Return a title for people of a column, which SQLite calls by its name or by the expression that it is.

    >>> [_title(column) for column in ("due_on", "trim(replace(s.body, char(10), ' '))", "sum(status = 'closed')", "f.name IN (?, ?)")]
    ['due on', 'body', 'number with status closed', 'name as asked for']
    """
    shown, _, rest = column.removeprefix("(SELECT ").partition(" FROM ")
    if "instr(" in rest:
        return f"number of texts found in {_title(rest.partition('instr(')[2].partition(',')[0])}"
    tokens = _TOKEN.findall(shown)
    calls = {name.lower() for name, after in pairwise([*tokens, ""]) if after == "("}
    read = [
        token.rpartition(".")[2].replace("_cents", " in cents").replace("_", " ")
        for token, after in pairwise([*tokens, ""])
        if after != "(" and token[0].isalpha() and token.lower() not in _KEYWORDS
    ]
    names = " or ".join(dict.fromkeys(read)) or ("value" if "count" not in calls else "")
    if "count" in calls:
        what = f"entries in {rest.split()[0].replace('_', ' ')}" if rest else "entries"
        return f"has {what}" if rest.endswith("> 0") else f"number of {what}"
    if calls & {"in", "instr"} or "LIKE" in tokens:
        return f"{names} as asked for"
    if "length" in calls:
        names = f"length of {names}"
    if "sum" not in calls:
        return names
    if "=" in tokens:
        return f"number with {names} {tokens[-2].strip(chr(39))}"
    return f"number that are {names[3:]}" if names.startswith("is ") else f"total {names}"


def _less(rows: list[list[Any]], others: list[list[Any]]) -> list[list[Any]]:
    """Return the rows without those of the others, each taken away as often as it is there."""
    times = Counter(map(repr, others))
    left = []
    for row in rows:
        if times[repr(row)]:
            times[repr(row)] -= 1
        else:
            left.append(row)
    return left


KIND = EvalKind(
    name="state",
    key="state",
    keys={"state": (list, NoneType)},
    readers={"native": _read},
    looks_at="content",
    most_values=20_000,  # rows and parameters; this package's own tasks have at most 2,000
)
