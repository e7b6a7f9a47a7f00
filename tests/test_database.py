"""A database, in memory or over a file, returns to its base or to a snapshot whatever was done with its connection."""

import ast
import pickle
import re
import sqlite3
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from webarena_gym.errors import SnapshotError
from webarena_gym.sites.kit.database import Database, Overlay

ROOT = Path(__file__).parent.parent


@pytest.fixture
def database():
    base = sqlite3.connect(":memory:")
    base.executescript("CREATE TABLE note (text TEXT); CREATE INDEX by_text ON note (text)")
    base.executemany("INSERT INTO note VALUES (?)", [(f"{number} " * 200,) for number in range(300)])
    base.commit()
    made = Database(base.serialize())
    base.close()
    yield made
    made.close()


def change(database):
    database.connection.execute("UPDATE note SET text = text || 'x'")
    database.connection.execute("INSERT INTO note VALUES ('new')")


def drop(database):
    database.connection.execute("DROP TABLE note")


def commit(database):
    change(database)
    database.connection.commit()


def run_script(database):
    database.connection.executescript("DELETE FROM note; CREATE TABLE other (x)")


def begin_anew(database):
    commit(database)
    database.connection.execute("BEGIN")
    change(database)


def restore(database):
    before = database.snapshot()
    change(database)
    after = database.snapshot()
    database.restore(before)
    database.restore(after)
    assert database.snapshot() == after


@pytest.mark.parametrize("act", [change, drop, commit, run_script, begin_anew, restore])
def test_a_reset_gives_the_base_byte_for_byte(database, act):
    base = database.connection.serialize()
    for _ in range(3):
        act(database)
        assert database.connection.serialize() != base
        database.reset()
        assert database.connection.serialize() == base
        assert database.connection.execute("SELECT count(*) FROM note").fetchone()[0] == 300


@pytest.mark.parametrize("act", [lambda database: None, change, commit, restore])
@pytest.mark.parametrize("way_back", ["reset", "restore"])
def test_a_query_that_is_still_being_read_from_does_no_harm(database, act, way_back):
    base, snapshot = database.connection.serialize(), database.snapshot()
    act(database)
    reading = database.connection.execute("SELECT one.text, other.text FROM note one, note other")
    reading.fetchone()
    if way_back == "reset":
        database.reset()
    else:
        database.restore(snapshot)
    with suppress(sqlite3.Error):
        assert len(reading.fetchall()) == 300 * 300 - 1
    assert database.connection.serialize() == base
    assert database.connection.execute("SELECT count(*) FROM note").fetchone()[0] == 300


def test_snapshots_contain_changed_pages_only_and_restore_closes_the_old_connection(database):
    size = len(database.connection.serialize())
    assert list(database.snapshot()) == [-1]
    database.connection.execute("UPDATE note SET text = 'short' WHERE rowid = 7")
    assert 1 < len(database.snapshot()) < size / 4096 / 4
    old = database.connection
    database.restore(database.snapshot())
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        old.execute("SELECT 1")


SCHEMA = """
CREATE TABLE note (note_id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL, title TEXT UNIQUE, votes INTEGER NOT NULL DEFAULT 0);
CREATE TABLE vote (note_id INTEGER NOT NULL, person TEXT NOT NULL, PRIMARY KEY (note_id, person)) WITHOUT ROWID;
CREATE TABLE loose (text, amount);
CREATE TABLE named (name TEXT PRIMARY KEY, data BLOB);
CREATE TRIGGER voted AFTER INSERT ON vote BEGIN UPDATE note SET votes = votes + 1 WHERE note_id = new.note_id; END;
CREATE TRIGGER unvoted AFTER DELETE ON vote BEGIN UPDATE note SET votes = votes - 1 WHERE note_id = old.note_id; END;
CREATE VIEW popular AS SELECT * FROM note WHERE votes > 1;
CREATE VIRTUAL TABLE note_text USING fts5 (text);
CREATE TRIGGER note_added AFTER INSERT ON note BEGIN INSERT INTO note_text (rowid, text) VALUES (new.note_id, new.text); END;
CREATE TRIGGER note_changed AFTER UPDATE OF text ON note BEGIN
    UPDATE note_text SET text = new.text WHERE rowid = new.note_id;
END;
CREATE TRIGGER note_removed AFTER DELETE ON note BEGIN DELETE FROM note_text WHERE rowid = old.note_id; END;
"""
TABLES = {
    "note": "note_id", "vote": "note_id, person", "loose": "rowid", "named": "name", "note_text": "rowid",
    "sqlite_sequence": "name",
}  # fmt: skip
WRITES = (
    "INSERT INTO note (text, title) VALUES ('{a} new', 't{a}{b}{c}')",
    "INSERT OR REPLACE INTO note (note_id, text, title) VALUES ({a}, 'again', 't{b}')",
    "INSERT OR REPLACE INTO note (text, title) VALUES ('takes a title', 't{b}')",
    "UPDATE note SET text = text || ' {c}' WHERE note_id % 7 = {b} % 7",
    "UPDATE OR IGNORE loose SET rowid = rowid + 5000 WHERE rowid = {b} % 60",
    "UPDATE OR IGNORE note SET title = NULL WHERE note_id = {b}", "DELETE FROM note WHERE note_id = {a}",
    "INSERT OR IGNORE INTO vote VALUES ({a}, 'p{b}')", "DELETE FROM vote WHERE note_id = {b}",
    "INSERT INTO loose VALUES ('{a}', {b}.25)", "UPDATE loose SET amount = NULL, text = x'00ff' WHERE rowid = {c}",
    "DELETE FROM loose WHERE rowid % 5 = {c} % 5",
    "INSERT INTO named VALUES ('n{a}{b}', x'{a:02x}{b:02x}') ON CONFLICT DO UPDATE SET data = x'ee'",
    "UPDATE named SET name = name || '!' WHERE name LIKE 'n{a}%'", "SELECT * FROM popular",
)  # fmt: skip


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a world's #1.sqlite"
    db = sqlite3.connect(path)
    db.executescript(SCHEMA)
    db.executemany("INSERT INTO note (text, title) VALUES (?, ?)", [(f"{n} " * 60, f"t{n}") for n in range(200)])
    db.executemany("INSERT INTO vote VALUES (?, ?)", [(n % 50 + 1, f"p{n}") for n in range(150)])
    db.executemany("INSERT INTO loose VALUES (?, ?)", [(str(n), n / 3) for n in range(40)])
    db.executemany("INSERT INTO named VALUES (?, ?)", [(f"n{n}", bytes([n])) for n in range(40)])
    db.commit()
    db.close()
    before = path.read_bytes()
    yield path
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def content(overlay):
    ask = overlay.connection.execute
    return {table: [*map(tuple, ask(f"SELECT {key}, * FROM {table} ORDER BY {key}"))] for table, key in TABLES.items()}


def write(overlay, rng, count):
    for _ in range(count):
        numbers = {name: rng.randrange(1, most) for name, most in (("a", 230), ("b", 230), ("c", 60))}
        overlay.connection.execute(rng.choice(WRITES).format(**numbers))


@pytest.mark.parametrize("seed", range(25))
def test_random_writes_are_restored_by_snapshots_and_removed_by_resets(file, seed):
    rng, (one, other) = Random(seed), (Overlay(file), Overlay(file))
    first = content(one)
    write(one, rng, rng.randrange(1, 30))
    taken, seen = one.snapshot(), content(one)
    assert content(other) == first
    write(other, rng, 10)
    other.restore(pickle.loads(pickle.dumps(taken)))
    assert content(other) == seen
    assert other.snapshot() == taken
    write(one, rng, 10)
    one.restore(taken)
    assert content(one) == seen
    assert one.state == other.state
    one.connection.execute("SAVEPOINT request")
    write(one, rng, 5)
    one.connection.execute("ROLLBACK TO request")
    one.connection.execute("RELEASE request")
    assert one.snapshot() == taken
    for overlay in (one, other):
        overlay.reset()
        assert content(overlay) == first
        assert (overlay.snapshot(), overlay.state, overlay.touched_tables()) == ({}, b"", {})
        overlay.close()


def test_nobody_commits_or_leaves_the_transaction_in_which_writes_stay_in_memory(opened, file):
    overlay = opened(Overlay(file))
    first, connection = content(overlay), overlay.connection
    connection.execute("INSERT INTO loose VALUES ('kept', 1)")
    for act in (connection.commit, lambda: connection.execute("END"), lambda: connection.executescript("")):
        with pytest.raises(sqlite3.DatabaseError, match="not authorized"):
            act()
    assert connection.execute("SELECT count(*) FROM loose WHERE text = 'kept'").fetchone()[0] == 1
    for _ in range(3):
        overlay.connection.execute("DELETE FROM note")
        overlay.reset()
        for act in (overlay.connection.rollback, lambda: overlay.connection.execute("ROLLBACK")):
            with pytest.raises(sqlite3.DatabaseError, match="not authorized"):
                act()
        assert overlay.connection.in_transaction
        with pytest.raises(sqlite3.IntegrityError):
            overlay.connection.execute("INSERT INTO named VALUES ('n1', NULL)")
        assert overlay.connection.in_transaction
    assert content(overlay) == first


@pytest.mark.parametrize("rows", [
    b"", b"{", b"3", b"[1]", b'[["note"]]', b'[["nothing", [1], null]]', b'[["note", [1], [1]]]', b'[["note", [1], 5]]',
    b'[["note", {"a": 1}, [1, "x", "y", 0]]]', b'[["note", [1], [1, {"hex": "zz"}, null, 0]]]', b'[["sqlite_schema", [1], null]]',
    b'[["note", [1], [1, null, null, 0]]]', b'[["vote", [1], null]]', b"[" * 5000,
])  # fmt: skip
def test_foreign_snapshots_are_rejected_without_changes(opened, file, rows):
    overlay = opened(Overlay(file))
    first = content(overlay)
    with pytest.raises(SnapshotError):
        overlay.restore({-2: rows})
    assert content(overlay) == first
    assert overlay.snapshot() == {}


def test_a_snapshot_grows_with_what_was_written_and_not_with_the_world(opened, file):
    overlay = opened(Overlay(file))
    overlay.connection.execute("UPDATE note SET text = 'short' WHERE note_id = 3")
    assert sum(map(len, overlay.snapshot().values())) < 200


@pytest.mark.parametrize("folder", ["webarena_gym", "agents", "tests"])
def test_queries_have_no_numbered_placeholders(folder):
    """Python 3.12.0 to 3.12.3 warns of ?1 with a sequence, and an application whose warnings are errors shows an error page."""
    count = 0
    for file in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)
            if re.search(r"\b(SELECT|UPDATE|WHERE)\b", text):
                count += 1
                assert not re.search(r"\?\d", text), f"{file}, line {node.lineno}"
    assert count > (1000 if folder == "webarena_gym" else 0)
