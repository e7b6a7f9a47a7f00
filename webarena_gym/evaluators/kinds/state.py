"""The eval kind `state`: an SQL query on the episode's database must return the expected rows."""

import re
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count, pairwise
from threading import Timer
from types import NoneType
from typing import Any

from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators.outcome import Check, EvalKind, Judge, Outcome, Verdict, check_keys, shorten


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Delay SIGINT until the end of the block, as a context manager. Only the main thread receives SIGINT."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    pending: list[tuple[int, Any]] = []
    signal.signal(signal.SIGINT, lambda number, frame: pending.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if pending:
            handler(*pending[-1])


_READ_ACTIONS = frozenset((sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE))
MAX_STEPS = 50_000_000
"""Limit on the virtual machine instructions of a task's queries: some seconds, a hundred times what tasks of this package need."""

_STEPS_PER_CALLBACK = 100_000
# Bytes. A search of one value in another is one instruction, and its time is the product of their lengths.
_MAX_VALUE_BYTES = 200_000
# Time limit of a task's queries, because single instructions on long values can be slow. Beyond it, nothing is judged.
_TIMEOUT_S = 5.0
_INTERRUPTED = "interrupted"  # SQLite's message for a query that was ended at a limit
_MAX_ROWS_IN_VERDICT = 5
_MAX_TABLES = 30  # names in a message
_NUMERAL = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,15})?")
_EXTRA_ROWS = 6  # rows read beyond the expected number, for the verdict

_TOKEN = re.compile(r"'[^']*'|[\w.]+|\S")
_KEYWORDS = frozenset(
    ("and", "as", "case", "column1", "else", "end", "in", "integer", "is", "like", "not", "null", "or", "then", "when")
)


def state(query: str, *parameters: object, expected: list[list[Any]], site: str = "") -> dict[str, Any]:
    """Require that a query on a site's database returns exactly the rows `expected`, in order. "" is the task's first site."""
    check = {"site": site, "query": query, "parameters": list(parameters), "expected": expected}
    return {"eval_types": ["state"], "state": [check]}


def _validate(evaluation: Mapping[str, Any]) -> None:
    types = {"site": str, "query": str, "expected": list, "parameters": list}
    for check in evaluation.get("state") or ():
        check_keys("a check of the state", check, types, optional=("parameters",))
        if not all(isinstance(row, list) for row in check["expected"]):
            raise EvaluationError(
                f"a check of the state has expected {shorten(check['expected'])}; expected a list of rows, such as [[1]]"
            )


def _read(evaluation: Mapping[str, Any]) -> list[Check]:
    _validate(evaluation)
    checks = evaluation.get("state") or ()
    return [partial(_judge_all, checks)] if checks else []


@contextmanager
def _restrict(database: sqlite3.Connection, steps: Iterator[int], end_s: float) -> Iterator[None]:
    """Restrict queries, as a context manager: they are read-only, and raise an error at the limits on values, instructions and time."""
    length_limit = database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
    # No task file may write, attach or export data.
    database.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _READ_ACTIONS else sqlite3.SQLITE_DENY)
    database.set_progress_handler(lambda: next(steps) > MAX_STEPS, _STEPS_PER_CALLBACK)
    timer = Timer(max(0.0, end_s - time.monotonic()), database.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # otherwise it could interrupt a later query
        database.set_progress_handler(None, 0)
        database.set_authorizer(None)
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, length_limit)


def check_queries(evaluation: Mapping[str, Any], open_database: Callable[[str], sqlite3.Connection]) -> None:
    """Raise EvaluationError if a query of an `eval` block is invalid SQL in the initial databases, without running it.

    A missing table is allowed, since an episode may create it.
    """
    steps, end_s = count(_STEPS_PER_CALLBACK, _STEPS_PER_CALLBACK), time.monotonic() + _TIMEOUT_S
    for check in evaluation.get("state") or ():
        try:
            _run_query(open_database, {**check, "query": f"EXPLAIN {check['query']}"}, steps, end_s)
        except EvaluationError as error:
            if not isinstance(error.__cause__, KeyError) and not str(error.__cause__).startswith("no such table"):
                raise EvaluationError(_failure(check["query"], error.__cause__)) from error


def _judge_all(checks: Sequence[Mapping[str, Any]], _: str, outcome: Outcome, __: Judge | None) -> list[Verdict]:
    """Return the verdict of each query. All queries share the limits on instructions and time."""
    steps, end_s = count(_STEPS_PER_CALLBACK, _STEPS_PER_CALLBACK), time.monotonic() + _TIMEOUT_S
    return [_judge(check, outcome, steps, end_s) for check in checks]


def _judge(check: Mapping[str, Any], outcome: Outcome, steps: Iterator[int], end_s: float) -> Verdict:
    """Return the verdict of one query, which must return exactly the expected rows, in order.

    A query that fails only in the final state does not pass: the episode has removed a table, or written a text that is not JSON.
    """
    expected = check["expected"]
    try:
        columns, rows = _run_query(outcome.database, check, steps, end_s)
    except EvaluationError as error:
        if outcome.initial_database is None or str(error.__cause__) == _INTERRUPTED:
            raise  # the limits on instructions and time are no property of the state
        _run_query(outcome.initial_database, check, steps, end_s)
        reason = f"{_failure(check['query'], error.__cause__)}, but not in the initial state"
        return Verdict("state", False, reason, "equal rows", expected[:_MAX_ROWS_IN_VERDICT], [])
    place, expected = ", ".join(columns), _with_numbers(expected, rows)
    if rows == expected:
        return Verdict("state", True, "as expected", "equal rows", place=place)
    if len(rows) < len(expected) + _EXTRA_ROWS:  # otherwise there may be more rows, and none is known to be missing
        extra, missing = _subtract(rows, expected), _subtract(expected, rows)
        rows, expected = (extra, missing) if extra or missing else (rows, expected)
    return Verdict("state", False, "", "equal rows", expected[:_MAX_ROWS_IN_VERDICT], rows[:_MAX_ROWS_IN_VERDICT], place)


def _with_numbers(expected: list[list[Any]], rows: list[list[Any]]) -> list[list[Any]]:
    """Return the expected rows, in which numerals are numbers in columns of numbers.

    >>> _with_numbers([["73", "007"]], [[73, "007"]]), _with_numbers([["1e3"], ["n"]], [[1], [2.5]])
    ([[73, '007']], [['1e3'], ['n']])
    """
    numeric = [all(isinstance(value, int | float | None) for value in column) for column in zip(*rows, strict=False)]
    return [
        [
            (float(value) if "." in value else int(value))
            if index < len(numeric) and numeric[index] and isinstance(value, str) and _NUMERAL.fullmatch(value)
            else value
            for index, value in enumerate(row)
        ]
        for row in expected
    ]


def _run_query(
    open_database: Callable[[str], sqlite3.Connection], check: Mapping[str, Any], steps: Iterator[int], end_s: float
) -> tuple[list[str], list[list[Any]]]:
    """Return the titles of the columns and the first rows of a query. Raises EvaluationError if it fails."""
    query = check["query"]
    try:
        database = open_database(check["site"])
    except KeyError as error:
        raise EvaluationError(f"the state of {check['site']!r} cannot be read here") from error
    try:
        # SQLite would report a KeyboardInterrupt in a callback as an error of the query.
        with defer_interrupts(), _restrict(database, steps, end_s):
            cursor = database.execute(query, check.get("parameters", []))
            columns = [_title(column) for column, *_ in cursor.description or ()]
            rows = [list(row) for row in cursor.fetchmany(len(check["expected"]) + _EXTRA_ROWS)]
            cursor.close()
    except (sqlite3.Error, sqlite3.Warning, OverflowError, ValueError) as error:
        limit = (
            f" (the queries of a task may take {MAX_STEPS:,} steps, and {_TIMEOUT_S:g} s)" if str(error) == _INTERRUPTED else ""
        )
        raise EvaluationError(f"{_failure(query, error)}{limit or _table_names(database, str(error))}") from error
    return columns, rows


def _failure(query: str, error: BaseException | None) -> str:
    return f"the query {query[:500]!r} failed: {error}"


def _table_names(database: sqlite3.Connection, error: str) -> str:
    """Return the names of the tables of a database if an error names an unknown one, otherwise ""."""
    if not error.startswith("no such table"):
        return ""
    rows = database.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name").fetchmany(
        _MAX_TABLES + 1
    )
    names = [name for (name,) in rows]
    return f" (tables: {', '.join([*names[:_MAX_TABLES], *['...'] * (len(names) > _MAX_TABLES)]) or 'none'})"


def _title(column: str) -> str:
    """Return a readable title of a column. SQLite names a column by its name, or by the text of its expression.

    >>> [_title(column) for column in ("due_on", "trim(replace(s.body, char(10), ' '))", "sum(status = 'closed')", "f.name IN (?, ?)")]
    ['due on', 'body', 'number with status closed', 'name as asked for']
    """
    selected, _, rest = column.removeprefix("(SELECT ").partition(" FROM ")
    if "instr(" in rest:
        return f"number of texts found in {_title(rest.partition('instr(')[2].partition(',')[0])}"
    tokens = _TOKEN.findall(selected)
    calls = {name.lower() for name, after in pairwise([*tokens, ""]) if after == "("}
    columns = [
        token.rpartition(".")[2].replace("_cents", " in cents").replace("_", " ")
        for token, after in pairwise([*tokens, ""])
        if after != "(" and token[0].isalpha() and token.lower() not in _KEYWORDS
    ]
    names = " or ".join(dict.fromkeys(columns)) or ("value" if "count" not in calls else "")
    if "count" in calls:
        entries = f"entries in {rest.split()[0].replace('_', ' ')}" if rest else "entries"
        return f"has {entries}" if rest.endswith("> 0") else f"number of {entries}"
    if calls & {"in", "instr"} or "LIKE" in tokens:
        return f"{names} as asked for"
    if "length" in calls:
        names = f"length of {names}"
    if "sum" not in calls:
        return names
    if "=" in tokens:
        return f"number with {names} {tokens[-2].strip(chr(39))}"
    return f"number that are {names[3:]}" if names.startswith("is ") else f"total {names}"


def _subtract(rows: list[list[Any]], others: list[list[Any]]) -> list[list[Any]]:
    """Return the multiset difference of rows, in order."""
    counts = Counter(map(repr, others))
    remaining = []
    for row in rows:
        if counts[repr(row)]:
            counts[repr(row)] -= 1
        else:
            remaining.append(row)
    return remaining


KIND = EvalKind(
    name="state",
    key="state",
    keys={"state": (list, NoneType)},
    readers={"native": _read},
    looks_at="content",
    validate=_validate,
    max_values=20_000,  # rows and parameters; tasks of this package have at most 2,000
)
