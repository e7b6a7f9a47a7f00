"""Reading and writing texts of the forum: what people typed, addresses made of titles, and how long ago something was."""

import re
from datetime import datetime

_DROPPED = dict.fromkeys([*range(10), *range(11, 32), 127])  # control characters, but for the newline
_LONGEST_SLUG = 60
_AGES = (("year", 365 * 86400), ("month", 30 * 86400), ("day", 86400), ("hour", 3600), ("minute", 60))


def clean(value: str) -> str:
    r"""Return the text without surrounding blanks and control characters, lines ended by one newline.

    >>> clean(" a\r\nb\x00 ")
    'a\nb'
    """
    return value.replace("\r\n", "\n").translate(_DROPPED).encode("utf-8", "replace").decode().strip()


def slug(title: str) -> str:
    """Return the part of an address that tells a submission's title; letters that are not ASCII are left out.

    >>> slug("Is it any good? A guide"), slug("???")
    ('is-it-any-good-a-guide', '-')
    """
    words = "-".join(re.findall(r"[a-z0-9]+", title.lower().replace("'", "")))
    return words[:_LONGEST_SLUG].strip("-") or "-"


def ago(value: str, now: datetime) -> str:
    """Return how long before `now` a moment was, in its largest unit.

    >>> ago("2023-05-01 10:00:00", datetime(2023, 5, 1, 13, 5)), ago("2023-05-01 10:00:00", datetime(2023, 5, 1, 10, 0, 30))
    ('3 hours ago', 'just now')
    """
    seconds = (now - datetime.fromisoformat(value)).total_seconds()
    for unit, length in _AGES:
        count = int(seconds // length)
        if count:
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"


def like(text: str) -> str:
    r"""Return an SQL pattern for texts that contain this one; its own wildcards are escaped by a backslash.

    >>> like("50%")
    '%50\\%%'
    """
    escaped = re.sub(r"([\\%_])", r"\\\1", text)
    return f"%{escaped}%"


def count(number: int, thing: str) -> str:
    """Return a number of things in words.

    >>> count(1, "comment"), count(1200, "comment")
    ('1 comment', '1,200 comments')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
