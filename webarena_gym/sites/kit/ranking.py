"""Ranked full-text search in large worlds, whose databases have an index of their texts.

An index is an FTS5 table of SQLite with the rowids of the indexed texts. A word also matches its inflections (Porter's stemmer) and
synonyms, and if no text contains it, words with similar spelling. A text matches if it contains at least half of the words. The
score is the sum of the relevances (BM25) of the matched words, times the square of the fraction of matched words.
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
_DIGITS = 6  # decimals of a relevance; rounding errors of logarithms, which differ between machines, do not affect the order


def rank_texts(db: sqlite3.Connection, index: str, phrase: str, weights: Sequence[float]) -> dict[int, float]:
    """Return the relevance of each text that matches a phrase, by rowid, most relevant first.

    `weights` are the weights of the columns of the index.
    """
    words = list(dict.fromkeys(WORD.findall(phrase.lower())))[:_MOST_WORDS]
    words = [word for word in words if word not in _STOP_WORDS] or words  # stop words are ignored unless there are no others
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
    """Return the search terms of a word: itself and its synonyms. An unknown word of 4 or more letters gives those of similar spelling."""
    others = synonyms().get(word, ())
    singular = word.removesuffix("s")
    others = others or synonyms().get(singular, ())
    if others or len(word) < 4 or word.isdecimal() or _is_known(db, word) or _is_known(db, singular):
        return (word, *others)
    return _spellings(db, word) or (word,)


def _is_known(db: sqlite3.Connection, word: str) -> bool:
    return db.execute("SELECT 1 FROM search_word WHERE word = ?", (word,)).fetchone() is not None


def _spellings(db: sqlite3.Connection, word: str) -> list[str]:
    """Return the nearest known words that begin with the same letter, the most frequent first; at most 2 letters differ."""
    most = 1 if len(word) < 6 else 2
    query = "SELECT word, count FROM search_word WHERE word >= ? AND word < ? || '{' AND length(word) BETWEEN ? AND ?"
    near = []
    for other, count in db.execute(query, (word[0], word[0], len(word) - most, len(word) + most)):
        away = distance(word, other)
        if away <= most:
            near.append((away, -count, other))
    near.sort()
    return [other for away, _, other in near if away == near[0][0]][:_MOST_SPELLINGS]


def distance(one: str, other: str) -> int:
    """Return the edit distance of two words: insertions, deletions, substitutions and transpositions of adjacent letters.

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
    """Return the synonyms of each word."""
    circles: list[list[str]] = json.loads(Path(__file__).with_name("synonyms.json").read_text(encoding="utf-8"))
    groups: dict[str, tuple[str, ...]] = {}
    for circle in circles:
        for word in circle:
            groups[word] = (*groups.get(word, ()), *(other for other in circle if other != word))
    return groups
