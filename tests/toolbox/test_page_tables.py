"""SQL over the tables of visited pages: what is a table and a number, and what a query may do."""

import gc
import json
import sqlite3

import pytest

from tests.pages import page
from tests.pages import page as make_page
from webarena_gym.env import WebArenaLite
from webarena_gym.tasks import Task
from webarena_gym.tasks.template import answer
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


ADMIN = Task(
    "admin",
    ("shopping_admin",),
    "__SHOPPING_ADMIN__/sales/order/",
    "Say done.",
    answer(exact_match="done"),
    world_seed=0,
    require_login=True,
)


def result(info):
    """Return the result of the last call."""
    start, end = "<information>\n", "\n</information>\n"
    assert info["page"].startswith(start)
    return info["page"].removeprefix(start).partition(end)[0]


@pytest.fixture
def env():
    with_tools = WebArenaLite(tasks=[ADMIN], tools=["lookup", "table_sql"])
    with_tools.reset(seed=0)
    yield with_tools
    with_tools.close()


def call(env, tool, *positional):
    *_, info = env.step(f"{tool}({', '.join(map(json.dumps, positional))})")
    assert not info["action_error"]
    return result(info)


def test_tables_are_those_of_visited_pages_and_fork_with_the_episode(env):
    tables = call(env, "table_sql", "SELECT name FROM tables")
    saved = env.snapshot()
    env.step('do(action="Click", element="0")')
    env.step("go_backward()")
    more = call(env, "table_sql", "SELECT name FROM tables")
    assert more != tables
    env.restore(saved)
    assert call(env, "table_sql", "SELECT name FROM tables") == tables
    other = WebArenaLite(tasks=[ADMIN], tools=["table_sql", "lookup"])
    other.restore(saved)
    assert call(other, "table_sql", "SELECT * FROM t1") == call(env, "table_sql", "SELECT * FROM t1")
    other.close()


def test_a_later_visit_replaces_the_tables_of_a_page():
    tables = PageTables()
    for rows in ("<tr><td>1", "<tr><td>2", "<tr><td>2"):
        tables.visit_page(make_page(f"<table>{rows}</table>"))
    assert tables.table_sql("SELECT * FROM t1") == "c1\n2"
    tables.visit_page(make_page("<table><tr><td>3</table>", url="http://shop.test/b"))
    assert tables.table_sql("SELECT count(*) FROM t1, t2") == "count(*)\n1"


def test_queries_read_and_nothing_else(env):
    for query, message in (
        ("DELETE FROM t1", "not authorized; expected one SELECT over the tables"),
        ("PRAGMA query_only = 0", "not authorized"),
        ("ATTACH 'x' AS x", "not authorized"),
        ("SELECT load_extension('x')", "not authorized to use function: load_extension"),
        ("SELECT random()", "not authorized to use function: random"),
        ("SELECT date('now')", "not authorized to use function: date"),
        ("SELECT * FROM sqlite_master", "access to sqlite_master.type is prohibited"),
        ("SELECT 1; SELECT 2", "one statement at a time"),
        ("SELECT * FROM t99", "no such table: t99; the tables are tables, t1"),
        ("SELECT color FROM t1", "no such column: color; the tables are t1("),
        ("SELECT count(*) FROM t1 a, t1 b, t1 c, t1 d, t1 e, t1 f, t1 g, t1 h", "takes too long; expected fewer rows or joins"),
        ("SELECT " + "1 + " * 200 + "1", "maximum depth 60"),
        ("SELECT 1 -- " + "x" * 3_000, "the query has 3,012 characters; expected at most 2,000"),
        ("SELECT 1" + " UNION SELECT 1" * 8, "the query has more than 8 SELECTs"),
    ):
        assert message in (text := call(env, "table_sql", query))
        assert text.startswith(("ValueError: ", "sqlite3."))


def test_values_are_numbers_where_a_column_has_one_unit():
    rows = ("<tr><td>Lamp<td>$1,204.50<td>012", "<tr><td>Soap<td><td>2", "<tr><td>Tea<td>$2<td>3")
    html = f"<table><tr><th>Item</th><th>Price ($)</th><th>No.</th></tr>{''.join(rows)}</table><table><tr><td colspan=2>a<td>1</table>"
    tables = PageTables()
    tables.visit_page(make_page(html))
    assert tables.table_sql("SELECT name, columns, rows FROM tables") == (
        "name | columns | rows\nt1 | item, price, no | 3\nt2 | c1, c2, c3 | 1"
    )
    assert (
        tables.table_sql("SELECT sum(price), min(no), typeof(no) FROM t1")
        == "sum(price) | min(no) | typeof(no)\n1206.5 | 012 | text"
    )
    assert tables.table_sql("SELECT * FROM t2") == "c1 | c2 | c3\na | a | 1"
    assert tables.table_sql("SELECT item FROM t1 WHERE price IS NULL") == "item\nSoap"
