"""A database returns to its base or to a snapshot whatever was done with its connection."""

import sqlite3
from contextlib import suppress

import pytest

from webarena_gym.sites.kit.database import Database


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


def test_a_connection_that_restore_has_replaced_is_closed(database):
    old = database.connection
    database.restore(database.snapshot())
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        old.execute("SELECT 1")


def test_a_snapshot_of_what_is_not_committed_holds_the_changed_pages_alone(database):
    size = len(database.connection.serialize())
    assert list(database.snapshot()) == [-1]
    database.connection.execute("UPDATE note SET text = 'short' WHERE rowid = 7")
    assert 1 < len(database.snapshot()) < size / 4096 / 4
