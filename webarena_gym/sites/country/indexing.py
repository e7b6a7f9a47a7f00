"""The index of a database's texts, which large worlds have: whether there is one, and the words in it.

It is made of FTS5 tables whose names end in `_text`, which the site's `schema_large.sql` fills, and of the table `search_word`.
"""

import re
import sqlite3
from collections import defaultdict

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
