"""The rows on changed pages of a SQLite file: a comparison of these rows alone has the result of a comparison of whole tables."""

import sqlite3
from contextlib import closing
from random import Random

import pytest

from webarena_gym.sites import changes, sqlite_pages
from webarena_gym.sites.changes import net_changes

SCHEMA = """
CREATE TABLE person (person_id INTEGER PRIMARY KEY, name TEXT, biography TEXT);
CREATE INDEX person_name ON person (name, biography);
CREATE TABLE liked (person TEXT NOT NULL, item INTEGER NOT NULL, note, PRIMARY KEY (person, item)) WITHOUT ROWID;
CREATE TABLE disliked (person TEXT NOT NULL, item INTEGER NOT NULL, note, PRIMARY KEY (person, item)) WITHOUT ROWID;
CREATE INDEX liked_note ON liked (note);
CREATE TABLE measured (at REAL NOT NULL, unit BLOB NOT NULL, value, PRIMARY KEY (at, unit)) WITHOUT ROWID;
CREATE TABLE pair (a INT, b TEXT, c TEXT, PRIMARY KEY (a, b));
CREATE TABLE "odd 'name'" (_rowid_ TEXT, n INTEGER);
"""
TABLES = ("person", "liked", "disliked", "measured", "pair", "\"odd 'name'\"")
LONG = 9000  # characters, more than two pages


def a_row(rng, table):
    text = rng.choice(["", "x", "it's {0}", "née", "a\0b", "w" * rng.randrange(300), "long" * rng.choice((1, LONG // 4))])
    person, item = (
        rng.choice(["ann", "bob", "o'neil", "k" * rng.choice((3, 600, 1200))]),
        rng.choice([-1, 0, 1, 2**40, rng.randrange(400)]),
    )
    number = rng.choice([None, -(2**63), 2**63 - 1, -5, 2**33])
    return {
        "person": (number, person, text),
        "liked": (person, item, text),
        "disliked": (person, item, text),
        "measured": (rng.choice([1.5, 2.0, rng.random()]), rng.choice([b"m", b"\0", b"kg"]), text),
        "pair": (rng.randrange(300), person, text),
        "\"odd 'name'\"": (text, item),
    }[table]


def edit(rng, connection):
    """Change a database at random: rows come, go, change, move between tables, or go with all pages of a table."""
    table = rng.choice(TABLES)
    columns = [name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table.strip('"'),))]
    match rng.choice(["insert", "insert", "update", "delete", "move", "swap", "clear", "vacuum", "split"]):
        case "insert":
            row = a_row(rng, table)
            connection.execute(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        case "split":
            for _ in range(120):
                row = a_row(rng, table)
                connection.execute(f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        case "update":
            connection.execute(f"UPDATE {table} SET {columns[-1]} = ? WHERE abs(random()) % 9 = 0", (a_row(rng, table)[-1],))
        case "delete":
            connection.execute(f"DELETE FROM {table} WHERE {columns[1]} = ?", (a_row(rng, table)[1],))
        case "move":
            connection.execute("INSERT OR IGNORE INTO liked SELECT * FROM disliked WHERE item % 3 = 0")
            connection.execute("DELETE FROM disliked WHERE item % 3 = 0")
        case "swap":
            connection.execute("CREATE TEMP TABLE kept AS SELECT * FROM liked")
            connection.execute("DELETE FROM liked")
            connection.execute("INSERT INTO liked SELECT * FROM disliked")
            connection.execute("DELETE FROM disliked")
            connection.execute("INSERT INTO disliked SELECT * FROM kept")
            connection.execute("DROP TABLE kept")
        case "clear":
            connection.execute(f"DELETE FROM {table}")
        case "vacuum":
            connection.execute("VACUUM")


def comparisons(base, now, monkeypatch):
    with monkeypatch.context() as patched:
        by_pages = net_changes("site", base, now, ())
        patched.setattr(changes, "changed_pages", lambda *_: None)
        return by_pages, net_changes("site", base, now, ())


def unordered(found):
    return sorted(map(repr, found))


@pytest.mark.parametrize("seed", range(12))
def test_rows_on_changed_pages_are_all_that_has_changed(seed, monkeypatch):
    rng, changed = Random(seed), 0
    encoding = "UTF-16" if seed == 11 else "UTF-8"
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(f"PRAGMA encoding = '{encoding}'; {SCHEMA}")
        for _ in range(rng.choice((5, 60))):
            edit(rng, connection)
        for _ in range(12):
            base = connection.serialize()
            for _ in range(rng.choice((1, 1, 2, 5))):
                edit(rng, connection)
            by_pages, by_tables = comparisons(base, connection.serialize(), monkeypatch)
            assert unordered(by_pages) == unordered(by_tables)
            changed += bool(by_tables)
    assert changed


def test_a_row_swapped_for_an_equal_row_of_another_table_is_a_change(monkeypatch):
    """The pages then contain the bytes of the same rows, in equal numbers."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(SCHEMA)
        rows = [(f"p{number}", number, "n") for number in range(900)]
        connection.executemany("INSERT INTO liked VALUES (?, ?, ?)", rows[::2])
        connection.executemany("INSERT INTO disliked VALUES (?, ?, ?)", rows[1::2])
        base = connection.serialize()
        for table, other, number in (("liked", "disliked", 400), ("disliked", "liked", 401)):
            connection.execute(f"DELETE FROM {table} WHERE item = ?", (number,))
            connection.execute(f"INSERT INTO {other} VALUES (?, ?, ?)", rows[number])
        by_pages, by_tables = comparisons(base, connection.serialize(), monkeypatch)
    assert unordered(by_pages) == unordered(by_tables)
    assert len(by_pages) == 4


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ("liked", ("ann", 2**40)),
        ("liked", ("it's {0}", -1)),
        ("liked", ("a\0b", 1)),
        ("liked", ("k" * 480, 1)),
        ("liked", ("k" * 600, 1)),
        ("liked", ("k" * 1200, 0)),
        ("measured", (0.1, b"kg")),
        ("measured", (2.0, b"")),
        ("person", (-(2**63), "ann")),
        ("person", (2**63 - 1, "ann")),
        ("pair", (3, None)),
        ("\"odd 'name'\"", ("1",)),
    ],
)
def test_an_update_of_a_row_is_found_with_any_key(table, key, monkeypatch):
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(SCHEMA)
        for number in range(90):
            connection.execute("INSERT INTO liked VALUES (?, ?, ?)", (f"p{number}", number, "n"))
        marks = ", ".join("?" * len(key))
        connection.execute(f"INSERT INTO {table} VALUES ({marks}, ?)", (*key, "n" * LONG))
        base = connection.serialize()
        (column,) = connection.execute(
            "SELECT name FROM pragma_table_info(?) ORDER BY cid DESC LIMIT 1", (table.strip('"'),)
        ).fetchone()
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE length({column}) = {LONG}", ("m",))
        by_pages, by_tables = comparisons(base, connection.serialize(), monkeypatch)
    assert by_pages == by_tables
    assert by_tables


def test_few_rows_of_a_large_table_are_read():
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(SCHEMA)
        connection.executemany("INSERT INTO liked VALUES (?, ?, ?)", [(f"p{number}", number, "n") for number in range(9000)])
        connection.executemany("INSERT INTO person VALUES (?, ?, ?)", [(number, f"p{number}", "n") for number in range(9000)])
        base = connection.serialize()
        connection.execute("UPDATE liked SET note = 'm' WHERE person = 'p77' AND item = 77")
        connection.execute("UPDATE person SET biography = 'm' WHERE person_id = 77")
        pages = sqlite_pages.changed_pages(base, connection.serialize())
    if pages is None:
        pytest.skip("SQLite without dbstat")
    assert pages.rows("person", 0) == {(77,)}
    assert pages.rows("liked", 2) == {("p77", 77)}


def test_rows_that_split_pages_are_read_alone():
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(SCHEMA)
        wide = "k" * 300  # few entries fit a page, so interior pages are split too
        connection.executemany(
            "INSERT INTO liked VALUES (?, ?, ?)", [(f"{wide}{number}", number, "n") for number in range(900)]
        )
        base = connection.serialize()
        added = {(f"{wide}{number}", -number) for number in range(10, 900)}
        connection.executemany("INSERT INTO liked VALUES (?, ?, 'n')", sorted(added))
        pages = sqlite_pages.changed_pages(base, connection.serialize())
    if pages is None:
        pytest.skip("SQLite without dbstat")
    assert pages.rows("liked", 2) == added
