"""The length limits of observations, replies and errors, and functions that truncate and compare texts."""

from itertools import zip_longest
from unicodedata import normalize

MAX_OBSERVATION = 1_000_000  # characters
MAX_REPLY = 100_000
MAX_PAGE = 500_000
MAX_GOAL = 100_000
MAX_ERROR = 2_000


def cut(text: str, limit: int) -> str:
    """Return the text, or if it is longer than `limit` characters, its beginning and a note on the number of missing characters.

    >>> cut("Search results for lamp", 23), cut("Search results for lamp lamp lamp", 30)
    ('Search results for lamp', 'Searc [28 characters were cut]')
    """
    if len(text) <= limit:
        return text
    length = max(limit - len(_truncation_note(len(text))), 0)
    return (text[:length] + _truncation_note(len(text) - length))[:limit]


# Soft hyphen, zero-width space, non-joiner and joiner, word joiner, byte order mark: invisible, and nobody types them.
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))


def comparable(text: str) -> str:
    """Return a text in the form in which texts are compared: composed (NFC) and without invisible characters.

    >>> comparable("Cafe\u0301 Zucker\u00adwatte")
    'Café Zuckerwatte'
    """
    return text if text.isascii() else normalize("NFC", text.translate(_INVISIBLE))


def without_plural(word: str) -> str:
    """Return a word of more than three characters without a final "s".

    >>> without_plural("orders"), without_plural("gas")
    ('order', 'gas')
    """
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def _truncation_note(count: int) -> str:
    return f" [{count:,} characters were cut]"


def first_difference(one: str, other: str) -> str:
    """Return the first lines in which two texts differ, "" for none.

    >>> first_difference("Tea", "Soap")
    "'Tea' and 'Soap'"
    """
    pairs = zip_longest(one.splitlines(), other.splitlines(), fillvalue="")
    return next((f"{first!r} and {second!r}" for first, second in pairs if first != second), "")
