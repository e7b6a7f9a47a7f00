"""Search by relevance, where the database of a site has an index of its texts: large worlds do.

An index is a table of SQLite's FTS5 with the rowids of what it indexes. A word finds its inflections (by Porter's stemmer), its
synonyms, and where nothing has it, the words that are spelled nearly so. Texts need not have all words: what has more of them
comes first, and among those what is more relevant (BM25). So there are near misses at the end, as searches have them.
"""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from webarena_gym.sites.country.seeding import WORD
from webarena_gym.sites.country.seeding import has_index as has_index

_MOST_WORDS = 12
_MOST_SPELLINGS = 4
_STOP_WORDS = frozenset(
    [
        "a", "an", "and", "any", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from", "has", "have", "how", "i",
        "in", "is", "it", "its", "me", "my", "of", "on", "or", "our", "some", "than", "that", "the", "their", "there", "these",
        "they", "this", "to", "was", "we", "were", "what", "when", "where", "which", "who", "will", "with", "you", "your",
    ]
)  # fmt: skip
_DIGITS = 6  # of a relevance that count, so that the last bits of a logarithm decide nothing


def ranked(db: sqlite3.Connection, index: str, phrase: str, weights: Sequence[float]) -> dict[int, float]:
    """Return the relevance of each text that fits a phrase, by rowid, the most relevant first.

    `weights` are of the columns of the index. A text fits if it has at least half of the words.
    """
    words = list(dict.fromkeys(WORD.findall(phrase.lower())))[:_MOST_WORDS]
    words = [word for word in words if word not in _STOP_WORDS] or words  # stop words count only among themselves
    groups = [" OR ".join(f'"{other}"' for other in dict.fromkeys(_meanings(db, word))) for word in words]  # queries of FTS5
    scores: dict[int, list[float]] = defaultdict(list)
    columns = ", ".join(map(str, weights))
    query = f"SELECT rowid, -bm25({index}, {columns}) FROM {index} WHERE {index} MATCH ?"
    for group in groups:
        for rowid, relevance in db.execute(query, (group,)):
            scores[rowid].append(relevance)
    least = -(-len(groups) // 2)
    relevances = {
        rowid: round(sum(parts) * (len(parts) / len(groups)) ** 2, _DIGITS)
        for rowid, parts in scores.items()
        if len(parts) >= least
    }
    return dict(sorted(relevances.items(), key=lambda item: (-item[1], item[0])))


def _meanings(db: sqlite3.Connection, word: str) -> Iterable[str]:
    """Return the search terms of a word: itself and its synonyms, or otherwise the known words with similar spelling."""
    others = synonyms().get(word, ())
    singular = word.removesuffix("s")
    others = others or synonyms().get(singular, ())
    if others or len(word) < 4 or word.isdecimal() or _is_known(db, word) or _is_known(db, singular):
        return (word, *others)
    return _spellings(db, word) or (word,)


def _is_known(db: sqlite3.Connection, word: str) -> bool:
    return db.execute("SELECT 1 FROM search_word WHERE word = ?", (word,)).fetchone() is not None


def _spellings(db: sqlite3.Connection, word: str) -> list[str]:
    """Return the known words with similar spelling and an equal beginning, the nearest and then the most frequent first."""
    most = 1 if len(word) < 6 else 2
    query = "SELECT word, count FROM search_word WHERE word >= ?1 AND word < ?1 || '{' AND length(word) BETWEEN ?2 AND ?3"
    near = []
    for other, count in db.execute(query, (word[0], len(word) - most, len(word) + most)):
        away = distance(word, other)
        if away <= most:
            near.append((away, -count, other))
    near.sort()
    return [other for away, _, other in near if away == near[0][0]][:_MOST_SPELLINGS]


def distance(one: str, other: str) -> int:
    """Return how many letters must be added, left out, changed or swapped with the next to make one word of another.

    >>> distance("hedphones", "headphones"), distance("camra", "camera"), distance("bottel", "bottle")
    (1, 1, 1)
    """
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, against in enumerate(other, 1):
            best = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != against))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == against:
                best = min(best, before[j - 2] + 1)
            row.append(best)
        before, last = last, row
    return last[-1]


@cache
def synonyms() -> dict[str, tuple[str, ...]]:
    """Return the other words for a word."""
    circles: list[list[str]] = json.loads(Path(__file__).with_name("synonyms.json").read_text(encoding="utf-8"))
    groups: dict[str, tuple[str, ...]] = {}
    for circle in circles:
        for word in circle:
            groups[word] = (*groups.get(word, ()), *(other for other in circle if other != word))
    return groups
