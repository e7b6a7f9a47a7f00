"""Texts of the forum: addresses made of titles, and how long ago something was."""

from datetime import datetime

from webarena_gym.sites.country import texts
from webarena_gym.sites.country.formats import span

_LONGEST_SLUG = 60


def slug(title: str) -> str:
    """Return the part of an address that tells a submission's title; letters that are not ASCII are left out.

    >>> slug("Is it any good? A guide"), slug("???")
    ('is-it-any-good-a-guide', '-')
    """
    return texts.slug(title.replace("'", ""))[:_LONGEST_SLUG].strip("-") or "-"


def ago(value: str, now: datetime) -> str:
    """Return how long before `now` a moment was, in its largest unit.

    >>> ago("2023-05-01 10:00:00", datetime(2023, 5, 1, 13, 5)), ago("2023-05-01 10:00:00", datetime(2023, 5, 1, 10, 0, 30))
    ('3 hours ago', 'just now')
    """
    size = span((now - datetime.fromisoformat(value)).total_seconds())
    return f"{size} ago" if size else "just now"
