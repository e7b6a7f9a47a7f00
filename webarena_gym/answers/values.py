"""Typed values: a whole text read as an amount of money, a date, a duration and so on.

`read` takes a text from its first to its last character. A value with anything beside it, such as "5 or 6", "~5" or "2/2", is no value.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date
from math import isclose

Amount = float | str | tuple[float | str, ...]
"""A value that can be compared within its kind: durations in seconds, distances in metres, times in minutes, money with its currency."""

_NUM = r"(?:0|[1-9][0-9]{0,2}(?:,[0-9]{3}){1,6}|[1-9][0-9]{0,17})(?:\.[0-9]{1,15})?"
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_MONTHS = tuple(name[:3].lower() for name in MONTHS)
_MONTH = r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAY = r"([0-9]{1,2})(?:st|nd|rd|th)?"
_CURRENCIES = {
    "$": "usd", "us$": "usd", "usd": "usd", "dollar": "usd", "dollars": "usd", "usdollar": "usd", "usdollars": "usd", "€": "eur", "eur": "eur",
    "euro": "eur", "euros": "eur", "£": "gbp", "gbp": "gbp", "pound": "gbp", "pounds": "gbp", "¥": "jpy", "jpy": "jpy", "yen": "jpy",
}  # fmt: skip
_SECONDS = {"y": 31536000, "o": 2592000, "w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1}
_METRES = {
    "km": 1000.0, "kilometer": 1000.0, "kilometre": 1000.0, "m": 1.0, "meter": 1.0, "metre": 1.0, "mi": 1609.344,
    "mile": 1609.344, "ft": 0.3048, "foot": 0.3048, "feet": 0.3048, "yd": 0.9144, "yard": 0.9144, "cm": 0.01, "mm": 0.001,
}  # fmt: skip

_NUMBER = re.compile(rf"(-?)({_NUM})(?:\s?°\s?([nsew])?)?")
_MONEY = (
    re.compile(rf"(?P<minus>-?)(?P<unit>us\s?\$|[$€£¥]|usd|eur|gbp|jpy)\s?(?P<minus_too>-?)(?P<number>{_NUM})(?:\s?(?P<code>usd|eur|gbp|jpy))?"),
    re.compile(rf"(?P<minus>-?)(?P<number>{_NUM})\s?(?P<unit>[$€£¥]|usd|eur|gbp|jpy|(?:us )?dollars?|euros?|pounds?|yen)"),
)  # fmt: skip
_PERCENT = re.compile(rf"(-?)({_NUM})\s?(?:%|percent|per cent)")
_DURATION = re.compile(
    rf"({_NUM})\s?(y(?:ea)?rs?|y|mo(?:nth)?s?|w(?:ee)?ks?|w|d(?:ays?)?|h(?:(?:ou)?rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)(?![a-z])"
)
_JOINT = re.compile(r"(?:,? and |, ?| )?")
_HOURS_AND_MINUTES = re.compile(r"([0-9]{1,2}):([0-5][0-9])|([0-9]{1,2})h([0-5][0-9])")
_DISTANCE = re.compile(rf"({_NUM})[ -]?([a-z]{{1,12}})")
_TIME = re.compile(r"([0-9]{1,2})(?::([0-5][0-9])(?::00)?)?(?:\s?([ap])\.?m\.?)?")
_BETWEEN = re.compile(r"\s?(?:-|\b(?:to|until|till)\b)\s?")
_DATES = (
    (re.compile(r"([0-9]{4})([-/.])([0-9]{1,2})\2([0-9]{1,2})"), (1, 3, 4)),
    (re.compile(rf"({_MONTH}) {_DAY}(?:, ?| | of )([0-9]{{4}})"), (3, 1, 2)),
    (re.compile(rf"{_DAY}(?: of|-)?(?: ?)({_MONTH})(?: of |, ?|[ -])([0-9]{{4}})"), (3, 2, 1)),
)
_NUMERIC_DATE = re.compile(r"([0-9]{1,2})([/.-])([0-9]{1,2})\2([0-9]{4}|[0-9]{2})")
_MONTHS_OF_YEARS = (
    (re.compile(rf"({_MONTH})(?:, | of | )([0-9]{{4}})"), (2, 1)),
    (re.compile(r"([0-9]{4})[-/]([0-9]{1,2})"), (1, 2)),
    (re.compile(r"([0-9]{1,2})/([0-9]{4})"), (2, 1)),
)
_PHONE = re.compile(r"(?:\+?[0-9]{1,3}[ .-]?)?(?:\([0-9]{3}\)|[0-9]{3})[ .-]?[0-9]{3}[ .-]?[0-9]{4}")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_URL = re.compile(r"(?:https?://)?(?:www\.)?([^\s<>\"]+)")

_SMALL = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()  # noqa: SIM905
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905
_NUMBER_WORDS = {word: number for number, word in enumerate(_SMALL)} | {
    word: 10 * number for number, word in enumerate(_TENS, 2)
}
_UNIT = f"(?:{'|'.join(_SMALL[1:10])})"
_BELOW_100 = f"(?:(?:{'|'.join(_TENS)})(?:[ -]{_UNIT})?|{'|'.join(_SMALL[10:])}|{_UNIT})"
_BELOW_1000 = f"(?:(?:{_UNIT}|a) hundred(?: (?:and )?{_BELOW_100})?|{_BELOW_100})"
_IN_WORDS = re.compile(rf"\b(?:zero|(?:(?:a|{_BELOW_1000}) thousand(?: (?:and )?{_BELOW_1000})?)|{_BELOW_1000})\b(?! (?:hundred|thousand|million|and {_UNIT}))")  # fmt: skip


def read(kind: str, text: str) -> Amount | None:
    """Return the value of a text that is of a kind as a whole, None for another text.

    >>> read("money", "$1,234.50"), read("duration", "1 hour and 5 minutes"), read("number", "twenty-three")
    (('usd', 1234.5), 3900.0, 23.0)
    >>> read("money", "A$5.00"), read("number", "2/2"), read("date", "3/5/2023")
    (None, None, (2023.0, 3.0, 5.0))
    """
    text = " ".join(text.lower().split())
    if kind not in ("code", "email", "url"):
        text = _IN_WORDS.sub(_digits, text)
    return _READERS[kind](text) if len(text) <= 300 else None


def kind_of(text: str) -> str:
    """Return the kind of a value that a text is as a whole, "text" for none.

    >>> [kind_of(text) for text in ("57min", "561 m", "08:30-16:30", "390-555-3391", "Oak", "5/5")]
    ['duration', 'distance', 'hours', 'phone', 'text', 'text']
    """
    known = ("number", "money", "percent", "date", "month", "hours", "distance", "duration", "email")
    kind = next((kind for kind in known if read(kind, text) is not None), "text")
    if kind == "text" and re.match(r"(?:https?|ssh|git|ftp)://|www\.", text) and read("url", text):
        return "url"
    if kind in ("text", "number") and re.search(r"[ .()-]", text) and _PHONE.fullmatch(text):
        return "phone"
    is_clock = ":" in text and kind in ("text", "duration") and read("time", text) is not None
    return "time" if is_clock else kind


def same(one: Amount, other: Amount) -> bool:
    """Return True if two values of one kind are equal."""
    if isinstance(one, float) and isinstance(other, float):
        return isclose(one, other, rel_tol=1e-9, abs_tol=1e-6)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def _digits(match: re.Match[str]) -> str:
    total = part = 0
    for word in re.findall(r"[a-z]+", match[0]):
        part = part * 100 if word == "hundred" else part + _NUMBER_WORDS.get(word, word == "a")
        total, part = (total + part * 1000, 0) if word == "thousand" else (total, part)
    return str(total + part)


def _float(text: str) -> float:
    return float(text.replace(",", ""))


def _number(text: str) -> Amount | None:
    match = _NUMBER.fullmatch(text)
    if not match or (match[1] and match[3]):
        return None
    return -_float(match[2]) if match[1] or match[3] in ("s", "w") else _float(match[2])


def _money(text: str) -> Amount | None:
    match = next((match for pattern in _MONEY if (match := pattern.fullmatch(text))), None)
    if not match:
        return None
    parts = match.groupdict()
    unit = _CURRENCIES[parts["unit"].replace(" ", "")]
    if parts.get("code") and _CURRENCIES[parts["code"]] != unit:
        return None
    signs = len(parts["minus"] + parts.get("minus_too", ""))
    return None if signs > 1 else (unit, _float(parts["number"]) * (-1 if signs else 1))


def _percent(text: str) -> Amount | None:
    match = _PERCENT.fullmatch(text)
    return float(f"{match[1]}{_float(match[2])}") if match else None


def _duration(text: str) -> Amount | None:
    clock = _HOURS_AND_MINUTES.fullmatch(text)
    if clock:
        return 3600.0 * int(clock[1] or clock[3]) + 60.0 * int(clock[2] or clock[4])
    total, place, last = 0.0, 0, 10.0**9
    while match := _DURATION.match(text, place):
        letter = "o" if match[2].startswith("mo") else match[2][0]
        if _SECONDS[letter] >= last or (match[2] == "m" and not place):  # "5 m" are metres
            return None
        last = _SECONDS[letter]
        total += _float(match[1]) * last
        place = match.end()
        if place == len(text):
            return total
        joint = _JOINT.match(text, place)
        place = joint.end() if joint else place
    return None


def _distance(text: str) -> Amount | None:
    match = _DISTANCE.fullmatch(text)
    size = _METRES.get(match[2], _METRES.get(match[2].removesuffix("s"))) if match else None
    return round(_float(match[1]) * size, 3) if match and size else None


def _time(text: str) -> Amount | None:
    if text in ("noon", "midnight"):
        return 720.0 if text == "noon" else 0.0
    match = _TIME.fullmatch(text)
    if not match or not (match[2] or match[3]):
        return None
    hours = int(match[1])
    if hours > (12 if match[3] else 24) or (match[3] and not hours):
        return None
    return 60.0 * (hours % 12 + 12 * (match[3] == "p") if match[3] else hours) + int(match[2] or 0)


def _hours(text: str) -> Amount | None:
    times = [_time(part) for part in _BETWEEN.split(text.removeprefix("from "))]
    return (times[0], times[1]) if len(times) == 2 and isinstance(times[0], float) and isinstance(times[1], float) else None


def _month(text: str) -> int:
    return int(text) if text.isdecimal() else _MONTHS.index(text[:3]) + 1


def _date(text: str) -> Amount | None:
    weekday, _, rest = text.partition(" ")
    weekday = weekday.rstrip(",.")
    text = text.removeprefix("on ").removeprefix("the ")
    is_named = len(weekday) > 2 and any(day.startswith(weekday) for day in _DAYS)
    text = rest if is_named else text
    numbers = next(
        ([_month(match[group]) for group in groups] for pattern, groups in _DATES if (match := pattern.fullmatch(text))), None
    )
    numeric = _NUMERIC_DATE.fullmatch(text)
    if numeric:
        first, second, year = int(numeric[1]), int(numeric[3]), int(numeric[4])
        # With points the day is first; otherwise the month, unless it cannot be.
        is_day_first = second <= 12 and (first > 12 or numeric[2] == ".")
        numbers = [year + 2000 * (len(numeric[4]) == 2), *((second, first) if is_day_first else (first, second))]
    try:
        day = date(*numbers) if numbers else None
    except ValueError:
        return None
    if day is None or (is_named and not _DAYS[day.weekday()].startswith(weekday)):
        return None
    return (float(day.year), float(day.month), float(day.day))


def _month_of_year(text: str) -> Amount | None:
    for pattern, groups in _MONTHS_OF_YEARS:
        if match := pattern.fullmatch(text):
            year, month = (_month(match[group]) for group in groups)
            return (float(year), float(month)) if 1 <= month <= 12 else None
    return None


def _phone(text: str) -> Amount | None:
    digits = "".join(re.findall("[0-9]", text)) if _PHONE.fullmatch(text) else ""
    return (digits[1:] if len(digits) == 11 and digits[0] == "1" else digits) or None


def _code(text: str) -> Amount | None:
    bare = text.removeprefix("#")
    return (bare.lstrip("0") or "0") if re.fullmatch("[0-9]{1,40}", bare) else None


def _email(text: str) -> Amount | None:
    bare = text.removeprefix("mailto:")
    return bare if _EMAIL.fullmatch(bare) else None


def _url(text: str) -> Amount | None:
    match = _URL.fullmatch(text)
    return match[1].removesuffix("/") if match and "." in match[1] else None


_READERS: Mapping[str, Callable[[str], Amount | None]] = {
    "number": _number, "money": _money, "percent": _percent, "duration": _duration, "distance": _distance, "time": _time,
    "hours": _hours, "date": _date, "month": _month_of_year, "phone": _phone, "code": _code, "email": _email, "url": _url,
}  # fmt: skip
