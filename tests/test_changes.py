"""The net change of a database: what was written is seen, what was taken back is not, and nothing else is left out than is declared."""

import sqlite3
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from webarena_gym.sites import changes
from webarena_gym.sites.catalogue import DATABASES, HOSTS, SITES
from webarena_gym.sites.changes import incidental, net_changes
from webarena_gym.sites.kit.database import Database
from webarena_gym.sites.world import load_world
from webarena_gym.tools.audit import deeds

WORLD = 1000


@pytest.fixture(params=DATABASES)
def site(request):
    return request.param


@pytest.fixture
def database(site):
    opened = Database(load_world(WORLD).content(site))
    yield opened
    opened.close()


def seen(site, database):
    return net_changes(site, load_world(WORLD).content(site), database.connection.serialize())


def tables(site):
    return [
        table for table in changes._tables(site, load_world(WORLD).content(site)) if table.name not in incidental(site).added
    ]


def some_row(database, table, offset=0):
    return database.connection.execute(
        f"SELECT {', '.join(table.columns)} FROM {table.name} ORDER BY 1 LIMIT 1 OFFSET ?", (offset,)
    ).fetchone()


def where(table):
    return " AND ".join(f"{column} = ?" for column in table.key)


def key(table, row):
    return tuple(row[table.columns.index(column)] for column in table.key)


@pytest.mark.parametrize("knows_owners", [True, False])
def test_each_column_that_was_changed_is_seen(site, database, monkeypatch, knows_owners):
    if not knows_owners:  # as with a SQLite that has no dbstat
        monkeypatch.setattr(changes, "_owners", lambda _: {})
    tried = 0
    for table in tables(site):
        row = some_row(database, table, offset=1) or some_row(database, table)
        for place in table.told if row else ():
            column = table.columns[place]
            if column in table.key or place in table.identity:
                continue
            with suppress(sqlite3.IntegrityError):
                new = "coalesce({0}, 0) + 7" if isinstance(row[place], int) else "coalesce({0}, '') || ' x'"
                database.connection.execute(
                    f"UPDATE {table.name} SET {column} = {new.format(column)} WHERE {where(table)}", key(table, row)
                )
                (change,) = seen(site, database)
                assert (change.table, change.key, change.columns) == (table.name, key(table, row), (column,))
                assert column in str(change)
                tried += 1
            database.reset()
    assert tried > 10 or len(tables(site)) < 5


def test_rows_that_go_and_come_are_seen(site, database):
    for table in tables(site):
        row = some_row(database, table)
        if row is None:
            continue
        database.connection.execute(f"DELETE FROM {table.name} WHERE {where(table)}", key(table, row))
        assert [(change.table, change.after) for change in seen(site, database)] == [(table.name, None)]
        marks = ", ".join("?" * len(table.columns))
        names = ", ".join(table.columns)
        database.connection.execute(f"INSERT INTO {table.name} ({names}) VALUES ({marks})", tuple(row))
        assert seen(site, database) == []
        if table.is_numbered:  # the same row under another number
            (last,) = database.connection.execute(f"SELECT max({table.key[0]}) FROM {table.name}").fetchone()
            database.connection.execute(
                f"UPDATE {table.name} SET {table.key[0]} = ? WHERE {where(table)}", (last + 1, *key(table, row))
            )
            assert seen(site, database) == []
        database.reset()


@pytest.mark.parametrize(("site", "table", "column"), [("gitlab", "file", "content"), ("wikipedia", "revision", "text")])
def test_the_end_of_a_long_text_is_seen(site, table, column, database):
    """SQLite keeps it on a page of its own, and may leave all others as they are."""
    database.connection.execute(
        f"UPDATE {table} SET {column} = {column} || ? WHERE rowid IN (SELECT rowid FROM {table} LIMIT 1)"
        if site == "wikipedia"
        else f"UPDATE {table} SET {column} = {column} || ? WHERE (branch_id, path) IN (SELECT branch_id, path FROM {table} LIMIT 1)",
        ("long " * 4000,),
    )
    base = database.connection.serialize()
    for end in ("x", "", "y"):
        database.connection.execute(
            f"UPDATE {table} SET {column} = rtrim({column}, 'xy') || ? WHERE length({column}) > 9999", (end,)
        )
        found = net_changes(site, base, database.connection.serialize())
        assert [(change.table, change.columns) for change in found] == ([(table, (column,))] if end else [])


def test_a_number_that_was_given_again_is_another_row():
    database = Database(load_world(WORLD).content("shopping"))
    rows = database.connection.execute("SELECT * FROM wishlist_item ORDER BY item_id").fetchall()
    database.connection.execute("DELETE FROM wishlist_item WHERE item_id = ?", (rows[-1]["item_id"],))
    database.connection.execute("INSERT INTO wishlist_item VALUES (?, 1, 77, 1, '', 'now')", (rows[-1]["item_id"],))
    assert [(change.before is None, change.after is None) for change in seen("shopping", database)] == [
        (False, True),
        (True, False),
    ]
    database.close()


def test_everything_that_is_declared_is_there(site):
    content = load_world(WORLD).content(site)
    declared = incidental(site)
    schema = (Path(changes.__file__).parent / site / "schema.sql").read_text(encoding="utf-8")
    assert len(changes._DECLARED.findall(schema)) == schema.count("incidental:")
    known = sqlite3.connect(":memory:")
    known.deserialize(content)
    names = {name for (name,) in known.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    columns = [
        f"{table}.{column}" for table in names for (column,) in known.execute("SELECT name FROM pragma_table_info(?)", (table,))
    ]
    assert "session" in declared.tables
    assert declared.tables | set(declared.added) <= names
    for pattern in declared.columns:
        assert any(changes.fnmatchcase(column, pattern) for column in columns), pattern
    for table, condition in declared.added.items():
        known.execute(f"SELECT 1 FROM {table} WHERE {condition}")
    known.close()


UNSEEN = {
    # A form that is saved as it is: the time of the change alone is new.
    "/admin/cms/page/edit/page_id/<int:page_id>/", "/-/snippets/<int:snippet_id>/edit", "/f/<name>/<int:submission_id>/<slug>/edit",
    "/f/<name>/<int:submission_id>/<slug>/comment/<int:comment_id>/edit",
    "/scratchpad",  # the visitor's own memory
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTS)
def test_visits_leave_nothing_and_what_forms_write_is_seen(name):
    search = deeds._Search(WORLD, "content")
    pages = list(search.pages(name))
    assert search._venue.changes() == []
    search._begin()
    start = _content(search, name)
    tried, unseen, written = Counter(), set(), 0
    for url, page in pages:
        for request in deeds._posts(page, url):
            rule = deeds._rule(name, "POST", request.url)
            tried[rule] += 1
            if tried[rule] <= 4:
                search._begin().load(request)
                is_written = _content(search, name) != start
                written += is_written
                if is_written and not search._venue.changes():
                    unseen.add(rule)
    search.close()
    assert unseen <= UNSEEN
    assert written >= min(5, len(tried)) or name == "homepage"


def _content(search, name):
    """Everything but the sessions."""
    connection = search._venue.database(SITES[name].database)
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name != 'session'")]
    return {table: set(map(tuple, connection.execute(f"SELECT * FROM {table}"))) for table in names}
