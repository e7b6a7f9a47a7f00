"""Small questions that several pages put to the shop's database."""

import sqlite3
from typing import Any

from webarena_gym.sites.kit import database


def one(db: sqlite3.Connection, sql: str, *values: Any) -> sqlite3.Row:
    """Return the first row. Raises NotFound, the site's 404 page, when there is none."""
    return database.one(db, sql, values, missing="This record does not exist, or was deleted.")


def is_taken(db: sqlite3.Connection, table: str, column: str, value: str | None, own_id: int | None = None) -> bool:
    """Return whether another row of a table has the value that must be unique."""
    row = db.execute(f"SELECT rowid FROM {table} WHERE {column} = ? AND rowid IS NOT ?", (value, own_id)).fetchone()
    return row is not None


def insert(db: sqlite3.Connection, table: str, **values: Any) -> int:
    """Insert a row and return its id."""
    names, marks = ", ".join(values), ", ".join("?" * len(values))
    row_id = db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(values.values())).lastrowid
    assert row_id is not None
    return row_id


def update(db: sqlite3.Connection, table: str, key: str, row_id: int, **values: Any) -> None:
    """Set columns of the row whose `key` is `row_id`."""
    changes = ", ".join(f"{name} = ?" for name in values)
    db.execute(f"UPDATE {table} SET {changes} WHERE {key} = ?", (*values.values(), row_id))
