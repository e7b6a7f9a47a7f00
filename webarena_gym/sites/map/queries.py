"""The rows that several pages show."""

import sqlite3
from collections.abc import Iterable
from typing import Any

from webarena_gym.sites.map.routing import Roads, load_roads

PLACES = """
WITH places AS (
    SELECT p.*, s.name AS street, s.postcode, t.town_id, t.name AS town, t.kind AS town_kind, a.state_id, a.name AS state,
        p.number || ' ' || s.name || ', ' || t.name || ', ' || a.name || ' ' || s.postcode AS address,
        CASE WHEN (SELECT 1 FROM world WHERE key = 'names') IS NULL THEN p.name
            WHEN EXISTS (SELECT 1 FROM place q WHERE q.name = p.name AND q.place_id != p.place_id)
            THEN p.name || ', ' || p.number || ' ' || s.name || ', ' || t.name ELSE p.name END AS label,
        CASE WHEN (SELECT 1 FROM world WHERE key = 'names') IS NULL THEN '' ELSE coalesce(
            (SELECT value FROM place_detail d WHERE d.place_id = p.place_id AND d.name = 'Also known as'), '') END AS alias
    FROM place p JOIN street s USING (street_id) JOIN town t USING (town_id) JOIN state a USING (state_id)
), towns AS (
    SELECT t.*, a.name AS state, a.name AS address FROM town t JOIN state a USING (state_id)
), streets AS (
    SELECT s.*, t.name AS town, a.state_id, a.name AS state, t.name || ', ' || a.name || ' ' || s.postcode AS address
    FROM street s JOIN town t USING (town_id) JOIN state a USING (state_id) WHERE s.kind != 'path'
) """
"""Places, towns and the streets of towns, with their addresses in full. The label of a place tells it from others of its name.

A world in which places share names or have several says so by the key `names`.
"""


def rows(db: sqlite3.Connection, query: str, *values: Any) -> list[sqlite3.Row]:
    """Return the rows of a query over places, towns and streets."""
    return db.execute(PLACES + query, values).fetchall()


def row(db: sqlite3.Connection, query: str, *values: Any) -> sqlite3.Row | None:
    """Return the first row of a query over places, towns and streets, if there is one."""
    found: sqlite3.Row | None = db.execute(PLACES + query, values).fetchone()
    return found


def place(db: sqlite3.Connection, place_id: int) -> sqlite3.Row | None:
    """Return a place."""
    return row(db, "SELECT * FROM places WHERE place_id = ?", place_id)


def roads(db: sqlite3.Connection) -> Roads:
    """Return the roads of this world."""

    def read(query: str) -> Iterable[sqlite3.Row]:
        return db.execute(query).fetchall()

    return load_roads(read)


def country(db: sqlite3.Connection) -> str:
    """Return the name of the country."""
    (name,) = db.execute("SELECT value FROM world WHERE key = 'country'").fetchone()
    return str(name)


def user(db: sqlite3.Connection, user_id: int) -> sqlite3.Row | None:
    """Return a mapper."""
    found: sqlite3.Row | None = db.execute("SELECT * FROM user WHERE user_id = ?", (user_id,)).fetchone()
    return found
