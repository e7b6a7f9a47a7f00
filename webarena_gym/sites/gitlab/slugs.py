"""Paths of projects and groups, as they stand in addresses."""

import re

_SLUG = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,98}[A-Za-z0-9_-])?")


def slug(name: str) -> str:
    """Return the path that goes with a name.

    >>> slug("Do it myself!"), slug("awesome_llms 2.0")
    ('do-it-myself', 'awesome_llms-2.0')
    """
    return re.sub(r"[^a-z0-9_.]+", "-", name.lower()).strip("-.")


def is_slug(path: str) -> bool:
    """Say whether a text can be a path.

    >>> is_slug("do-it"), is_slug("-it"), is_slug("a/b"), is_slug("notes.git")
    (True, False, False, False)
    """
    return _SLUG.fullmatch(path) is not None and not path.endswith((".git", ".atom"))
