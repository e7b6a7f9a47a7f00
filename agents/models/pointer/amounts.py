"""Amounts in texts: money, durations, distances and numbers, and what a text looks like."""

import re
from functools import lru_cache

from agents.models.pointer.goals import date_of

MONEY = r"\$\d[\d,]*(?:\.\d\d)?"
DURATION = r"\d+h \d+min|\d+ ?min|\d+h"
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_TIME = re.compile(r"(?:(\d+)h ?)?(?:(\d+) ?min)?")


@lru_cache(maxsize=50_000)
def shape_of(text: str) -> str:
    """Return what a text looks like: one of some dozen kinds.

    >>> [shape_of(text) for text in ("$5.20", "14 min", "12", "Ann Lee", "blue")]
    ['money', 'duration', 'number', 'names', 'word']
    """
    if not text:
        return "empty"
    if re.fullmatch(MONEY, text):
        return "money"
    if re.fullmatch(DURATION, text):
        return "duration"
    if re.fullmatch(r"\d+", text):
        return "number" if len(text) < 5 else "digits"
    if re.fullmatch(r"[\d.,:/ -]+", text):
        return "figures"
    if "@" in text:
        return "mail"
    if "://" in text:
        return "address"
    if re.fullmatch(r"[\d.,]+ k?m", text):
        return "distance"
    if date_of(text):
        return "date"
    if "\n" in text:
        return "lines"
    tokens = text.split()
    if all(token[:1].isupper() for token in tokens):
        return "name" if len(tokens) == 1 else "names"
    if len(tokens) == 1:
        return "word"
    return "phrase" if len(tokens) < 6 else "sentence"


@lru_cache(maxsize=50_000)
def amount_of(text: str) -> float | None:
    """Return the number that a text is about: minutes of a duration, metres of a distance, else its first number.

    >>> amount_of("1h 5min"), amount_of("1.2 km"), amount_of("$1,200.50"), amount_of("none")
    (65.0, 1200.0, 1200.5, None)
    """
    if match := re.fullmatch(DURATION, text.strip()):
        parts = _TIME.fullmatch(match.group())
        if parts:
            return 60.0 * int(parts[1] or 0) + int(parts[2] or 0)
    match = _NUMBER.search(text)
    if not match:
        return None
    number = float(match.group().replace(",", ""))
    return 1000 * number if text[match.end() :].startswith(" km") else number


def write_like(amount: float, like: str) -> str:
    """Return an amount written like another text: as money, a duration or a plain number.

    >>> write_like(1234.5, "$3.00"), write_like(65, "4 min"), write_like(7, "3")
    ('$1,234.50', '1h 5min', '7')
    """
    if like.startswith("$"):
        return f"${amount:,.2f}"
    if re.fullmatch(DURATION, like):
        hours, minutes = divmod(round(amount), 60)
        return f"{hours}h {minutes}min" if hours else f"{minutes} min"
    return f"{round(amount):,}" if "," in like else str(round(amount)) if amount == round(amount) else f"{amount:.2f}"
