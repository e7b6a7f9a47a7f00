"""Amounts: parse and format money, durations, counts and dates as pages write them."""

import re
from collections.abc import Callable, Sequence
from datetime import date
from typing import NamedTuple

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_ABBREVIATED = tuple(month[:3] for month in _MONTHS)
_MONTH = re.compile(rf"\b({'|'.join(_MONTHS)}) (\d{{4}})")
_SHORT_DATE = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})\b")
_LONG_DATE = re.compile(rf"({'|'.join(_ABBREVIATED)})[a-z]* (\d{{1,2}}), (\d{{4}})")
_LIMIT = re.compile(r"(?:at most|within) (\d+|two|three) (minutes|hours)")
_NUMBER_NAMES = {"two": 2, "three": 3}


class Unit(NamedTuple):
    """A type of amount: its pattern, its value as a whole number, and its format."""

    pattern: re.Pattern[str]
    number: Callable[[re.Match[str]], int]
    write: Callable[[int], str]

    def read(self, text: str) -> int | None:
        """Return the value of a text that is an amount; None if it is none."""
        match = self.pattern.fullmatch(text)
        return self.number(match) if match else None

    def read_all(self, texts: Sequence[str]) -> list[int]:
        """Return the values of all texts; an empty list unless every text is an amount."""
        amounts = [amount for text in texts if (amount := self.read(text)) is not None]
        return amounts if len(amounts) == len(texts) else []


class Month(NamedTuple):
    """A month as a goal names it."""

    name: str
    year: int
    number: int

    def has(self, text: str) -> bool:
        """Return whether a text is a date in this month, or the month itself as reports write it ("8/2021")."""
        day = read_date(text)
        return text == f"{self.number}/{self.year}" or (day is not None and (day.year, day.month) == (self.year, self.number))


def _hours_and_minutes(minutes: int) -> str:
    return f"{minutes // 60}h {minutes % 60}min" if minutes >= 60 else f"{minutes} min"


MONEY = Unit(
    re.compile(r"\$([\d,]+)\.(\d\d)"),
    lambda match: 100 * int(match[1].replace(",", "")) + int(match[2]),
    lambda cents: f"${cents // 100:,}.{cents % 100:02}",
)
DURATION = Unit(
    re.compile(r"(?:(\d+)h )?(\d+) ?min"),
    lambda match: 60 * int(match[1] or 0) + int(match[2]),
    _hours_and_minutes,
)
COUNT = Unit(re.compile(r"(\d[\d,]*)(?: [a-z]+)?"), lambda match: int(match[1].replace(",", "")), str)


def unit_of(text: str) -> Unit | None:
    """Return the unit of an amount; None if the text is none.

    >>> unit_of("2h 7min") is DURATION, DURATION.read("2h 7min"), MONEY.write(112094), unit_of("blue")
    (True, 127, '$1,120.94', None)
    """
    return next((unit for unit in (MONEY, DURATION, COUNT) if unit.pattern.fullmatch(text)), None)


def read_date(text: str) -> date | None:
    """Return the date at the beginning of a text; None if there is none, or no such day.

    >>> read_date("12/9/22"), read_date("Dec 13, 2022, 10:20:00 PM"), read_date("soon")
    (datetime.date(2022, 12, 9), datetime.date(2022, 12, 13), None)
    """
    if match := _SHORT_DATE.match(text):
        year, month, day = int(match[3]), int(match[1]), int(match[2])
    elif match := _LONG_DATE.match(text):
        year, month, day = int(match[3]), _ABBREVIATED.index(match[1]) + 1, int(match[2])
    else:
        return None
    try:
        return date(year + 2000 if year < 100 else year, month, day)
    except ValueError:
        return None


def find_month(text: str) -> Month | None:
    """Return the first month with a year in a text; None if there is none.

    >>> find_month("What did I spend in October 2022?")
    Month(name='October 2022', year=2022, number=10)
    """
    match = _MONTH.search(text)
    return Month(match[0], int(match[2]), _MONTHS.index(match[1]) + 1) if match else None


def find_limit(text: str) -> int | None:
    """Return the limit of minutes in a text; None if there is none.

    >>> find_limit("within two hours by car"), find_limit("at most 20 minutes on foot"), find_limit("by car")
    (120, 20, None)
    """
    match = _LIMIT.search(text)
    return (_NUMBER_NAMES.get(match[1]) or int(match[1])) * (60 if match[2] == "hours" else 1) if match else None
