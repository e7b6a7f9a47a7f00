"""What the tests of all sites' generators use: queries on a generated database."""

import sqlite3
from contextlib import closing
from functools import cache

import pytest

from webarena_gym.sites.world import build


@cache
def content(site, seed):
    """Return a site's database in a world, as bytes."""
    return build(site, seed)


def opened(site, seed):
    """Return a connection to a copy of a site's database."""
    connection = sqlite3.connect(":memory:")
    connection.deserialize(content(site, seed))
    connection.row_factory = sqlite3.Row
    return connection


def worlds(site, seeds):
    """Return a fixture: a connection to a site's database, in each of these worlds."""

    @pytest.fixture(params=seeds)
    def db(request):
        with closing(opened(site, request.param)) as connection:
            yield connection

    return db


def column(db, query, *values):
    """Return the first column of a query's rows."""
    return [row[0] for row in db.execute(query, values)]


def value(db, query, *values):
    """Return the first value of a query's first row."""
    return column(db, query, *values)[0]


def none(db, query, *values):
    """Assert that a query for faults finds nothing."""
    assert [tuple(row) for row in db.execute(query, values).fetchmany(3)] == []


def assert_sound(db):
    """Assert that keys lead somewhere, and that texts are of plain letters, with no gap left open."""
    none(db, "PRAGMA foreign_key_check")
    for table in column(db, "SELECT name FROM sqlite_master WHERE type = 'table' AND name != 'session'"):
        assert all(str(cell).isascii() and "{" not in str(cell) for row in db.execute(f"SELECT * FROM {table}") for cell in row)


def assert_nothing_shared(site, seeds, query):
    """Assert that no two worlds have a value of a query's first column in common."""
    seen = {}
    for seed in seeds:
        with closing(opened(site, seed)) as db:
            for found in column(db, query):
                assert seen.setdefault(found, seed) == seed
