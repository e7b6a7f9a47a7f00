"""Formats names, numbers and dates for pages, also as filters of templates, and reads data files."""

import re
import string
import tomllib
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from webarena_gym.arguments import reason_of
from webarena_gym.errors import TaskError

T = TypeVar("T")

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def capitalize(text: str) -> str:
    """Return the text with its first letter in upper case.

    >>> capitalize("an eagle near Oslo")
    'An eagle near Oslo'
    """
    return text[:1].upper() + text[1:]


def slug(text: str) -> str:
    """Return a text in the form used in URL paths; characters other than ASCII letters and digits separate words.

    >>> slug("Home & Kitchen, 14 inch"), slug("???")
    ('home-kitchen-14-inch', '')
    """
    return "-".join(re.findall(r"[a-z0-9]+", text.lower()))


def amount(count: int, noun: str) -> str:
    """Return a number with its noun in singular or plural.

    >>> amount(1, "commit"), amount(1200, "commit"), amount(0, "branch")
    ('1 commit', '1,200 commits', '0 branches')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}{'es' if noun.endswith(('ch', 's')) else 's'}"


def fold_case(text: str) -> str:
    """Return a text in the form that searches compare: with single spaces, and ASCII letters in lower case, as in SQLite.

    >>> fold_case(" Cedar  Window BOX")
    'cedar window box'
    """
    return " ".join(text.translate(_LOWER).split())


def like(text: str) -> str:
    r"""Return a pattern for SQL's LIKE that matches texts which contain this one; its wildcards are escaped by a backslash.

    >>> like("50%")
    '%50\\%%'
    """
    escaped = re.sub(r"([\\%_])", r"\\\1", text)
    return f"%{escaped}%"


_WEEK = 7 * 86400
_UNITS = (("year", 365 * 86400), ("month", 30 * 86400), ("week", _WEEK), ("day", 86400), ("hour", 3600), ("minute", 60))


def money(cents: int) -> str:
    """Return an amount in cents as dollars.

    >>> money(123456), money(-500)
    ('$1,234.56', '-$5.00')
    """
    return f"{'-' if cents < 0 else ''}${abs(cents) // 100:,}.{abs(cents) % 100:02d}"


def short_date(value: str | datetime) -> str:
    """Return a date as month/day/two-digit year.

    >>> short_date("2023-03-05 10:00:00")
    '3/5/23'
    """
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return f"{moment.month}/{moment.day}/{moment:%y}"


def long_date(value: str | datetime) -> str:
    """Return a date with the name of the month.

    >>> long_date("2023-03-05 10:00:00")
    'March 5, 2023'
    """
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return f"{moment:%B} {moment.day}, {moment.year}"


def date_time(value: str | datetime) -> str:
    """Return a date and time to the second, with AM or PM.

    >>> date_time("2023-03-05 15:07:09")
    'Mar 5, 2023, 3:07:09 PM'
    """
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return f"{moment:%b} {moment.day}, {moment.year}, {moment.hour % 12 or 12}:{moment:%M:%S %p}"


def span(seconds: float, *, in_weeks: bool = False) -> str:
    """Return a time span in its largest unit, rounded down; "" if it is shorter than a minute. Weeks are used only if `in_weeks`.

    >>> span(3 * 3600 + 59), span(8 * 86400), span(8 * 86400, in_weeks=True), span(59)
    ('3 hours', '8 days', '1 week', '')
    """
    for unit, length in _UNITS:
        count = int(seconds // length)
        if count and (in_weeks or length != _WEEK):
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return ""


FILTERS: dict[str, Callable[..., str]] = {filter_.__name__: filter_ for filter_ in (money, short_date, long_date, date_time)}
"""Filters of the sites' templates, by name."""


def read_data(path: Path) -> dict[str, Any]:
    """Return the entries of a TOML file, with lists as tuples. Raises TaskError as `read_toml`."""
    return {key: _frozen(value) for key, value in read_toml(path).items()}


def read_toml(path: Path) -> dict[str, Any]:
    """Return the entries of a TOML file. Raises TaskError with the path, and with the line of a syntax error."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TaskError(f"{path} cannot be read: {reason_of(error)}") from error


def read_sizes(kind: Callable[..., T], path: Path) -> dict[Any, T]:
    """Return the sizes of a generator by scale, as instances of `kind`. Raises TaskError as `read_toml`."""
    return {scale: kind(**numbers) for scale, numbers in read_data(path).items()}


def _frozen(value: object) -> Any:
    if isinstance(value, dict):
        return {key: _frozen(entry) for key, entry in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
