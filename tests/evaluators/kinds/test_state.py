"""Queries of checks only read, and end in time."""

import sqlite3
import time
from contextlib import suppress
from itertools import count as counting

import pytest

from tests.errors import expect_error
from tests.evaluators.kinds.blocks import outcome, rows
from webarena_gym.errors import EvaluationError
from webarena_gym.evaluators import evaluate
from webarena_gym.evaluators.kinds import state as state_kind


def test_a_query_may_only_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = outcome()
    writes = "DELETE FROM cart; DROP TABLE cart; ATTACH DATABASE 'o.db' AS o; VACUUM INTO 'o.db'; PRAGMA user_version = 3"
    for query in writes.split("; "):
        with expect_error(EvaluationError, repr(query)):
            evaluate(rows(query, []), "", ended)
    assert list(tmp_path.iterdir()) == []
    ended.database("shopping").execute("DELETE FROM cart")  # the episode itself may write again


LONG_VALUES = """SELECT instr(zeroblob(9000000), CAST(zeroblob(4000000) AS BLOB)||x'01');
SELECT printf('%*d', 900000000, 1) || 'x';
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
SELECT sum(length(replace(printf('%.*c', 190000, 'a'), printf('%.*c', 90000 + i % 3, 'a') || 'b', 'c'))) FROM n;
SELECT group_concat(a.name || printf('%.*c', 9000, 'x')) FROM pragma_function_list a, pragma_function_list b"""


@pytest.mark.parametrize("query", LONG_VALUES.split(";\n"))
def test_a_query_of_long_values_ends_with_an_error_or_soon(opened, query):
    database = opened(sqlite3.connect(":memory:", check_same_thread=False))
    begun = time.process_time()
    with suppress(sqlite3.Error), state_kind._restrict(database, counting(100_000, 100_000), time.monotonic() + 0.5):
        database.execute(query).fetchone()
    assert time.process_time() - begun < 10
    assert database.execute("SELECT length(zeroblob(500000))").fetchone() == (500000,)


@pytest.mark.parametrize(
    ("query", "expected", "is_equal"),
    [
        ("SELECT 73", [["73"]], True),
        ("SELECT 73", [["74"]], False),
        ("SELECT 2.5", [["2.50"]], True),
        ("SELECT '73'", [["73"]], True),
        ("SELECT '073'", [["73"]], False),
        ("SELECT '73'", [[73]], False),
        ("SELECT 1 UNION ALL SELECT 'x'", [["1"], ["x"]], False),
        ("SELECT 1, 'a' UNION ALL SELECT 2, '2'", [["1", "a"], ["2", "2"]], True),
        ("SELECT NULL UNION ALL SELECT 5", [[None], ["5"]], True),
        ("SELECT 1000", [["1e3"]], False),
        ("SELECT 1", [["1", "2"]], False),
        ("SELECT 1 WHERE 0", [["1"]], False),
    ],
)
def test_a_numeral_equals_a_number_of_its_column(query, expected, is_equal):
    """Templates fill texts in, `"expected": [["{stock}"]]`."""
    (verdict,) = evaluate(rows(query, expected), "", outcome())
    assert verdict.passed is is_equal
