"""Writing what a generator made into a site's database, its index of words, and the sessions that it begins with."""

import hashlib
import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Any


def insert(db: sqlite3.Connection, table: str, rows: Iterable[tuple[Any, ...]], columns: str = "") -> None:
    """Insert rows into a table, whole ones unless `columns` are named in brackets; times are written as text."""
    written = [tuple(str(value) if isinstance(value, datetime) else value for value in row) for row in rows]
    if written:
        db.executemany(f"INSERT INTO {table} {columns} VALUES ({', '.join('?' * len(written[0]))})", written)


WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_SHORTEST = 3  # characters of a word that may be what a misspelled one was meant to be


def has_index(db: sqlite3.Connection) -> bool:
    """Say whether the texts of a database can be searched by relevance."""
    return db.execute("SELECT 1 FROM main.sqlite_schema WHERE name = 'search_word'").fetchone() is not None


def fill_words(db: sqlite3.Connection) -> None:
    """Write the words of all indexed texts, by which misspelled ones are mended; nothing where there is no index."""
    if not has_index(db):
        return
    counts: dict[str, int] = defaultdict(int)
    for (index,) in db.execute("SELECT name FROM pragma_table_list WHERE type = 'virtual' AND name LIKE '%_text'").fetchall():
        for row in db.execute(f"SELECT * FROM {index}"):
            for word in set(WORD.findall(" ".join(text for text in row if isinstance(text, str)).lower())):
                counts[word] += 1
        db.execute(f"INSERT INTO {index} ({index}) VALUES ('optimize')")
    rows = sorted((word, count) for word, count in counts.items() if len(word) >= _SHORTEST)
    db.executemany("INSERT INTO search_word VALUES (?, ?)", rows)


COOKIE = "sid"
"""The name of the cookie that holds the id of a session, on every site."""

ENDS = "ends"
"""The key in a session that ends: the rule of a form, and how often its visitor may still send it. Clocks stand still, so no session ends with time."""


def sign_in(db: sqlite3.Connection, **data: Any) -> str:
    """Store a new session with `data` in it and return its id, the value of the site's session cookie.

    Sessions are emptied and never deleted, so that their count gives each an id that no other has had.
    """
    (count,) = db.execute("SELECT count(*) FROM session").fetchone()
    (seed,) = db.execute("SELECT value FROM world WHERE key = 'seed'").fetchone()
    session_id = hashlib.sha256(f"{seed}/{count}".encode()).hexdigest()[:32]
    db.execute("INSERT INTO session VALUES (?, ?)", (session_id, json.dumps(data)))
    return session_id
