"""SQL over the tables of visited pages: what is a table and a number, and what a query may do."""

import gc
import sqlite3

import pytest

from tests.pages import page
from webarena_gym.toolbox.page_tables import PageTables

ORDERS = """<title>Orders</title><table><tr><th>Order #<th>Total<th>Since
<tr><td>0012<td>$1,204.50<td>2 days<tr><td>0013<td>-$3<td>10 days<tr><td colspan=2>none<td></table>"""
COUNTS = "<title>Counts</title><table><tr><th>Name<th>Count<tr><td>a<td>1,200<tr><td>b<td>-3<tr><td>c<td></table>"


def tables_of(*pages):
    tables = PageTables()
    for index, html in enumerate(pages):
        tables.visit_page(page(html, url=f"http://a.test/{index}"))
    return tables


def test_columns_of_numbers_of_one_unit_are_numbers():
    tables = tables_of(COUNTS)
    assert (
        tables.table_sql("SELECT sum(count), count(*), max(name) FROM t1") == "sum(count) | count(*) | max(name)\n1197 | 3 | c"
    )
    assert tables.table_sql("SELECT name FROM t1 WHERE count IS NULL") == "name\nc"


def test_texts_stay_texts_and_a_wide_cell_fills_its_columns():
    answer = tables_of(ORDERS).table_sql('SELECT "order", total, since FROM t1')
    assert answer.splitlines() == [
        "order | total | since",
        "0012 | $1,204.50 | 2",
        "0013 | -$3 | 10",
        "none | none | ",
    ]


def test_tables_are_listed_with_their_pages_in_the_order_of_visits():
    listed = tables_of(COUNTS, "<p>no table", ORDERS).table_sql("SELECT name, title, url, columns, rows FROM tables")
    assert listed.splitlines()[1:] == [
        "t1 | Counts | http://a.test/0 | name, count | 3",
        "t2 | Orders | http://a.test/2 | order, total, since | 3",
    ]


def test_a_later_visit_replaces_the_tables_of_the_page():
    tables = tables_of(COUNTS)
    tables.visit_page(page(COUNTS.replace("1,200", "7"), url="http://a.test/0"))
    assert tables.table_sql("SELECT count FROM t1 LIMIT 1") == "count\n7"
    saved = tables.snapshot()
    tables.visit_page(page(ORDERS, url="http://a.test/9"))
    tables.restore(saved)
    assert tables.table_sql("SELECT count(*) FROM tables") == "count(*)\n1"


def test_databases_of_earlier_visits_are_freed():
    def connections():
        gc.collect()
        return sum(type(item) is sqlite3.Connection for item in gc.get_objects())

    tables = tables_of(COUNTS)
    tables.table_sql("SELECT count FROM t1")
    before = connections()
    for number in range(3):
        tables.visit_page(page(ORDERS, url=f"http://a.test/orders/{number}"))
        tables.table_sql("SELECT total FROM t2")
    assert connections() == before > 0


def test_hidden_tables_and_rows_are_not_read():
    html = "<table hidden><tr><td>1</table><table><tr><td>2<tr hidden><td>3<tr><td><table><tr><td>4</table></table>"
    tables = tables_of(html)
    assert tables.table_sql("SELECT count(*) FROM tables") == "count(*)\n2"
    assert "3" not in tables.table_sql("SELECT * FROM t1")
    assert tables.table_sql("SELECT * FROM t2") == "c1\n4"


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("DELETE FROM t1", "not authorized"), ("SELECT * FROM t9", "t1"), ("SELECT missing FROM t1", "count"), ("SELECT random()", "not authorized"),
        ("SELECT date('now')", "not authorized"), ("SELECT * FROM sqlite_master", "prohibited|not authorized|no such"), ("PRAGMA user_version", "not authorized"),
        ("ATTACH ':memory:' AS x", "not authorized|too many"), ("SELECT 1; SELECT 2", "one statement"), ("SELECT " + "1 + " * 700 + "1", "characters"),
        (" UNION ".join(["SELECT 1"] * 9), "SELECTs"), ("nonsense", "syntax"),
        ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n", "not authorized"),
        (f"SELECT count(*) FROM {', '.join(f't1 a{number}' for number in range(12))}", "too long"),
    ],
)  # fmt: skip
def test_other_queries_are_refused_with_a_reason(query, reason):
    with pytest.raises(ValueError, match=reason):
        tables_of(COUNTS).table_sql(query)


def test_results_are_cut_after_100_rows():
    rows = "".join(f"<tr><td>{number}" for number in range(150))
    lines = tables_of(f"<table><tr><th>n{rows}</table>").table_sql("SELECT n FROM t1").splitlines()
    assert (len(lines), lines[-2:]) == (102, ["99", "..."])
