"""The bundled tools: search in the encyclopedia, and SQL over the tables of visited pages."""

import json

import pytest

from tests.errors import expect_error
from tests.pages import page as make_page
from webarena_gym.env import WebArenaLite
from webarena_gym.sites.world import load_world
from webarena_gym.tasks import Task
from webarena_gym.tasks.template import answer
from webarena_gym.toolbox.lookup import Lookup
from webarena_gym.toolbox.page_tables import PageTables

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


@pytest.mark.parametrize("scale", ["standard", "large"])
def test_the_article_of_each_title_is_found(scale):
    search = Lookup()
    search.enter_world(1000, scale)
    database = load_world(1000, scale).database("wikipedia")
    query = (
        "SELECT title FROM article WHERE kind NOT IN ('list', 'disambiguation') ORDER BY article_id % 7, article_id LIMIT 60"
    )
    titles = [title for (title,) in database.connection.execute(query)]
    database.close()
    for title in titles:
        assert search.lookup(title, 1).startswith(f"[1] {title}: "), title
        assert search.lookup(f" {title.upper()}  ", 1).startswith(f"[1] {title}: "), title


def test_a_result_depends_on_the_world_and_the_arguments_alone():
    one, other = Lookup(), Lookup()
    for search, seed in ((one, 1000), (other, 1001), (other, 1000)):
        search.enter_world(seed, "standard")
    assert one.lookup("largest town", 5) == other.lookup("largest town", 5)
    assert one.lookup("The LARGEST of towns!", 5) == other.lookup("largest towns", 5)
    assert one.lookup("largest town", 5).startswith(one.lookup("largest town", 2))
    assert one.lookup("qqqqqq") == "No article matches."
    for arguments, values in (
        (("town", 0), ("k", 0, 1, 10)),
        (("town", 11), ("k", 11)),
        (("?!",), ("query",)),
    ):
        with expect_error(ValueError, *values):
            one.lookup(*arguments)


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
