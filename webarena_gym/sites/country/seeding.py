"""Writing what a generator made into a site's database."""

import sqlite3
from collections.abc import Iterable
from datetime import datetime
from typing import Any


def insert(db: sqlite3.Connection, table: str, rows: Iterable[tuple[Any, ...]], columns: str = "") -> None:
    """Insert rows into a table, whole ones unless `columns` are named in brackets; times are written as text."""
    written = [tuple(str(value) if isinstance(value, datetime) else value for value in row) for row in rows]
    if written:
        db.executemany(f"INSERT INTO {table} {columns} VALUES ({', '.join('?' * len(written[0]))})", written)
