"""Writes the rows of a generator, the index of words for search, and the initial sessions into a site's database."""

import hashlib
import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Any


def insert(db: sqlite3.Connection, table: str, rows: Iterable[tuple[Any, ...]], columns: str = "") -> None:
    """Insert rows into a table. `columns` such as "(id, name)" are the columns of the rows, by default all; times become text."""
    values = [tuple(str(value) if isinstance(value, datetime) else value for value in row) for row in rows]
    if values:
        db.executemany(f"INSERT INTO {table} {columns} VALUES ({', '.join('?' * len(values[0]))})", values)


WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_SHORTEST = 3  # characters of a word by which a search may correct a misspelled one


def has_index(db: sqlite3.Connection) -> bool:
    """Return True if a database has an index of words, so that searches are ranked by relevance."""
    return db.execute("SELECT 1 FROM main.sqlite_schema WHERE name = 'search_word'").fetchone() is not None


def fill_words(db: sqlite3.Connection) -> None:
    """Write the words of all indexed texts with their counts, which correct misspelled queries. Does nothing without an index."""
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
"""Name of the cookie with the session id, on every site."""

ENDS = "ends"
"""Key in the data of a session that expires: the rule of a form and the number of times that the user may still submit it.

Sessions cannot expire by time, because the clock of a world does not advance.
"""


def sign_in(db: sqlite3.Connection, **data: object) -> str:
    """Store a new session with `data` and return its id, the value of the session cookie.

    Sessions are emptied, never deleted, so ids made from the number of sessions are unique.
    """
    (count,) = db.execute("SELECT count(*) FROM session").fetchone()
    (seed,) = db.execute("SELECT value FROM world WHERE key = 'seed'").fetchone()
    session_id = hashlib.sha256(f"{seed}/{count}".encode()).hexdigest()[:32]
    db.execute("INSERT INTO session VALUES (?, ?)", (session_id, json.dumps(data)))
    return session_id
