"""The dates of a goal in the forms that fields ask for."""

import re
from calendar import month_name, monthrange
from datetime import date

_MONTHS = {name[:3]: number for number, name in enumerate(month_name) if name}
_NAMED = re.compile(r"\b([A-Z][a-z]{2})[a-z]{0,6}\.? (?:([0-9]{1,2}),? )?([0-9]{4})\b")
_SLASHED = re.compile(r"\b([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})\b")
_ISO = re.compile(r"\b([0-9]{4})-([0-9]{2})-([0-9]{2})\b")


def date_forms(text: str) -> tuple[str, ...]:
    """Return the dates of a text as 03/31/2021 and as 2021-03-31; of a month, its first and its last day.

    >>> date_forms("from March 2021 to Apr 5, 2021")
    ('03/01/2021', '2021-03-01', '03/31/2021', '2021-03-31', '04/05/2021', '2021-04-05')
    """
    found: list[tuple[int, int, int]] = []
    for name, day, year in _NAMED.findall(text):
        if (month := _MONTHS.get(name)) and int(year) >= 1:
            days = (int(day),) if day else (1, monthrange(int(year), month)[1])
            found += [(int(year), month, each) for each in days]
    found += [(int(year), int(month), int(day)) for month, day, year in _SLASHED.findall(text)]
    found += [(int(year), int(month), int(day)) for year, month, day in _ISO.findall(text)]
    valid = [date(*each) for each in dict.fromkeys(found) if _is_date(*each)]
    return tuple(form for each in valid for form in (f"{each:%m/%d}/{each.year:04}", each.isoformat()))


def _is_date(year: int, month: int, day: int) -> bool:
    return year >= 1 and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]
