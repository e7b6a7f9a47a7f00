"""The bundled tool `lookup`: full-text search over the articles of the encyclopedia, in passages of about 100 words as in Search-R1.

The index is SQLite's FTS5 in memory, ranked by BM25. It contains the articles as the world was generated, without edits of the episode, so a
result depends only on the world and the arguments.
"""

import re
import sqlite3
from collections.abc import Iterator
from functools import lru_cache

from webarena_gym.sites.country.dice import Scale
from webarena_gym.sites.wikipedia import markup
from webarena_gym.sites.world import load_world

_WORD = re.compile(r"\w+")
_STOP_WORDS = frozenset((
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "has", "have", "how", "in", "is", "it", "its", "of", "on",
    "or", "that", "the", "their", "there", "these", "this", "to", "was", "were", "what", "when", "where", "which", "who", "with",
))  # fmt: skip
_MAX_WORDS = 16  # different words of a query; later ones are ignored
_MAX_QUERY = 1_000  # characters of a query; the rest is ignored
_MAX_PASSAGES = 10
_PASSAGE_WORDS = 100
_QUERY = """
SELECT rowid FROM passage WHERE passage MATCH ?
ORDER BY iif(title = ? COLLATE NOCASE, -1e9, round(bm25(passage, 2.0, 1.0), 6)), rowid LIMIT ?"""


class Lookup:
    """The search engine of an env; the world is set by `enter_world`."""

    def __init__(self) -> None:
        self._index: sqlite3.Connection | None = None

    def enter_world(self, seed: int, scale: Scale) -> None:
        """Search the articles of this world from now on. Its index is built now, unless it is in the cache."""
        self._index = _index_of(seed, scale)

    def lookup(self, query: str, k: int = 3) -> str:
        """Search the articles of the encyclopedia, and return the most relevant passages, each below the title of its article. If the query is
        the title of an article, its passages come first, in order.

        Args:
            query: the words to search for
            k: the number of passages, 1 to 10

        """
        assert self._index is not None  # the env enters a world at the start of an episode
        if not 1 <= k <= _MAX_PASSAGES:
            raise ValueError(f"k is {k}; expected 1 to {_MAX_PASSAGES}")
        words = list(dict.fromkeys(_WORD.findall(query[:_MAX_QUERY].lower())))
        words = [word for word in words if word not in _STOP_WORDS][:_MAX_WORDS] or words[:_MAX_WORDS]
        if not words:
            raise ValueError("the query contains no word")
        terms, title = " OR ".join(f'"{word}"' for word in words), " ".join(query[:_MAX_QUERY].split())
        rows = self._index.execute(_QUERY, (terms, title, k)).fetchall()
        texts = (self._index.execute("SELECT title, body FROM passage WHERE rowid = ?", row).fetchone() for row in rows)
        return (
            "\n".join(f"[{number}] {title}: {body}" for number, (title, body) in enumerate(texts, 1)) or "No article matches."
        )


@lru_cache(maxsize=16)
def _index_of(seed: int, scale: Scale) -> sqlite3.Connection:
    """Return the index of a world's articles."""
    index = sqlite3.connect(
        ":memory:", check_same_thread=False
    )  # only read from now on; SQLite serializes the reads of threads
    index.execute("CREATE VIRTUAL TABLE passage USING fts5 (title, body, tokenize = 'porter unicode61')")
    database = load_world(seed, scale).database("wikipedia")
    try:
        index.executemany("INSERT INTO passage VALUES (?, ?)", _passages(database.connection))
    finally:
        database.close()
    index.execute("PRAGMA query_only = ON")
    return index


def _passages(db: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Yield the passages of all articles, each with the title of its article: the facts of the infobox, then the sections."""
    facts: dict[int, list[str]] = {}
    for article_id, label, text in db.execute("SELECT article_id, label, text FROM fact ORDER BY article_id, position"):
        facts.setdefault(article_id, []).append(f"{label}: {markup.plain(text)}")
    for article_id, title, text in db.execute("SELECT article_id, title, text FROM page ORDER BY article_id"):
        sections = ((section.heading, markup.plain(section.body)) for section in markup.sections(text))
        bodies = (f"{heading}. {body}" if heading else body for heading, body in sections if body)
        for body in ("; ".join(facts.get(article_id, ())), *bodies):
            words = body.split(" ")
            for start in range(0, len(words) if body else 0, _PASSAGE_WORDS):
                yield title, " ".join(words[start : start + _PASSAGE_WORDS])
