"""Small texts that sites make of names and numbers."""

import re
import string

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def slug(text: str) -> str:
    """Return a text as it stands in an address; letters that are not ASCII are left out.

    >>> slug("Home & Kitchen, 14 inch"), slug("???")
    ('home-kitchen-14-inch', '')
    """
    return "-".join(re.findall(r"[a-z0-9]+", text.lower()))


def amount(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> amount(1, "commit"), amount(1200, "commit"), amount(0, "branch")
    ('1 commit', '1,200 commits', '0 branches')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}{'es' if noun.endswith(('ch', 's')) else 's'}"


def folded(text: str) -> str:
    """Return a text as a search compares it: with single blanks, and as SQLite does, without the case of ASCII letters.

    >>> folded(" Cedar  Window BOX")
    'cedar window box'
    """
    return " ".join(text.translate(_LOWER).split())


def like(text: str) -> str:
    r"""Return an SQL pattern for texts that contain this one; its own wildcards are escaped by a backslash.

    >>> like("50%")
    '%50\\%%'
    """
    escaped = re.sub(r"([\\%_])", r"\\\1", text)
    return f"%{escaped}%"
