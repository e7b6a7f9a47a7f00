"""Typed values in a text: amounts of money, dates, times, durations, distances, numbers, phone numbers, addresses on the web.

`read` finds them from left to right in one pass; each has a kind, a value that can be compared, and its place in the text.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

Amount = float | str | tuple[float, ...]

_SMALL_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
NUMBER_WORDS = {word: number for number, word in enumerate(_SMALL_NUMBERS.split())}
TENS = {
    word: 10 * number
    for number, word in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], start=2)
}


class Value(NamedTuple):
    """A typed value: `kind` is "money", "date", "month", "time", "duration", "distance", "number", "phone", "email", "url" or
    "code"; `amount` is comparable within the kind (money in its `unit` of currency, durations in seconds, distances in metres).
    """

    kind: str
    amount: Amount
    start: int
    end: int
    unit: str = ""


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
_NUM = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?"
_CURRENCIES = {
    "$": "usd", "us$": "usd", "usd": "usd", "dollar": "usd", "dollars": "usd", "bucks": "usd",
    "€": "eur", "eur": "eur", "euro": "eur", "euros": "eur", "£": "gbp", "gbp": "gbp", "pound": "gbp", "pounds": "gbp",
    "¥": "jpy", "jpy": "jpy", "yen": "jpy", "cent": "cents", "cents": "cents",
    "cad": "cad", "aud": "aud", "chf": "chf", "rupees": "inr", "inr": "inr", "₹": "inr",
}  # fmt: skip
_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1, "w": 604800, "y": 31536000, "o": 2592000}
_METRES = {
    "km": 1000.0, "kms": 1000.0, "kilometer": 1000.0, "kilometre": 1000.0, "kilometers": 1000.0, "kilometres": 1000.0,
    "m": 1.0, "meter": 1.0, "metre": 1.0, "meters": 1.0, "metres": 1.0, "mi": 1609.344, "mile": 1609.344, "miles": 1609.344,
    "ft": 0.3048, "feet": 0.3048, "foot": 0.3048, "yd": 0.9144, "yard": 0.9144, "yards": 0.9144, "cm": 0.01, "mm": 0.001,
}  # fmt: skip
_TIME_UNIT = r"(?:d(?:ays?)?|h(?:(?:ou)?rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?|w(?:ee)?ks?|months?|y(?:ea)?rs?|years?)"
_LENGTH_UNIT = r"(?:kms?|kilomet(?:er|re)s?|met(?:er|re)s?|miles?|mi|feet|ft|yards?|yd|cm|mm)"
_SIGN = r"(?:(?<![\w.)$\]])[-+])?"
_SCAN = re.compile(
    rf"""
    (?P<url>(?:https?|ssh|git|ftp)://[^\s<>"'`|\]]+|www\.[^\s<>"'`|\]]+|git@[\w.-]+:[^\s<>"'`|\]]+)
    |(?P<email>(?<![\w.+-])[\w+-](?:[\w.+-]*[\w+-])?@[\w-]+(?:\.[\w-]+)+)
    |(?P<iso>\b\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?=T\d|\b)(?![-/.]?\d))
    |(?P<numeric>(?<![\d./-])\d{{1,2}}[/.-]\d{{1,2}}[/.-](?:\d{{4}}|\d{{2}})(?!\d|-\d|/\d{{1,2}}(?!\d)|[.]\d))
    |(?P<mdy>\b{_MONTH}\s+(?:the\s+)?\d{{1,2}}(?:st|nd|rd|th)?(?:\s*,\s*|\s+|\s+of\s+)\d{{4}}\b)
    |(?P<dmy>\b\d{{1,2}}(?:st|nd|rd|th)?(?:\s+of|\s+day\s+of)?[\s-]+{_MONTH}[\s,-]+(?:of\s+)?\d{{4}}\b)
    |(?P<my>\b{_MONTH}\s*,?\s*(?:of\s+)?\d{{4}}\b)
    |(?P<md>\b{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?\b(?![\d,.]*\d))
    |(?P<ym>(?<![\d/-])(?:\d{{4}}[-/]\d{{1,2}}|\d{{1,2}}/\d{{4}})(?![\d/-]))
    |(?P<phone>(?<![\w.-])(?:\+?\d{{1,2}}[-.\s])?(?:\(\d{{3}}\)\s?|\d{{3}}[-.\s])\d{{3}}[-.\s]\d{{4}}(?![\w-]))
    |(?P<time>(?<![\d:.,])\d{{1,2}}:\d{{2}}(?::\d{{2}})?(?!\d|:\d)(?:\s?(?:[ap]\.m\.|[ap]m\b|h\b|hours?\b|hrs?\b)|\s+in\s+the\s+(?:evening|afternoon|morning)\b|\s+at\s+night\b)?
        |(?<![\d:.,$])\d{{1,2}}\s?(?:[ap]\.m\.|[ap]m\b)|\b(?:noon|midnight)\b)
    |(?P<money>{_SIGN}(?:\bus\s?\$|[$€£¥₹]|\b(?:usd|eur|gbp|cad|aud|jpy|chf|inr)\b)\s?-?{_NUM}
        |{_SIGN}(?<![\w.,$]){_NUM}\s?(?:us\s)?(?:\$(?!\d)|€|£|dollars?\b|bucks\b|usd\b|euros?\b|eur\b|pounds?\b(?!\s*of)|gbp\b|yen\b|cents?\b|cad\b|aud\b|chf\b|rupees\b))
    |(?P<duration>(?<![\w.,$]){_NUM}[\s-]?{_TIME_UNIT}\b|(?<![\w.,$])\d+h\d{{1,2}}(?:m(?:in)?)?\b)
    |(?P<distance>(?<![\w.,$]){_NUM}[\s-]?{_LENGTH_UNIT}\b(?!\.\w))
    |(?P<percent>(?<![\w.,$]){_NUM}\s?(?:%|percent\b))
    |(?P<ordinal>\b\d+(?:st|nd|rd|th)\b)
    |(?P<number>{_SIGN}(?<![\w$])(?<![a-z]-)(?<!\d\.){_NUM}(?!(?!x\b)\w|\.\d|@)(?:\s?°\s?(?-i:[NSEW])\b)?)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_GOES_ON = re.compile(r"\s*+(?:,|and|&|\+)?+\s*+(?:and\s++)?")
_LETTERS = re.compile(r"[a-z$€£¥₹]+", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_SMALL = "|".join([*TENS, *sorted(NUMBER_WORDS, key=len, reverse=True)])
_WORD_NUMBER = re.compile(
    rf"\b(?:{_SMALL}|hundred|thousand|dozen)(?:(?:(?<=hundred)|(?<=thousand))\s+and(?=\s+(?:{_SMALL})\b)|[\s-]+(?:{_SMALL}|hundred|thousand|dozen)\b)*\b",
    re.IGNORECASE,
)
_TIMES = re.compile(r"\b(o(?=nce)|tw(?=ice)|th(?=rice))(?:nce(?=\s*(?:[.,;)]|$|in\b|so\b))|r?ice)\b", re.IGNORECASE)
_SCALES = {"dozen": 12, "hundred": 100, "thousand": 1000}
_HALVES = re.compile(
    r"\b(?:(\d+|one)\s+and\s+a\s+half|half\s+an?|an?\s+half|a|an)[\s-]+(hours?|minutes?|kilomet(?:er|re)s?|mile)\b",
    re.IGNORECASE,
)
_NO_COUNT_BEFORE = frozenset([
    "the", "this", "that", "which", "any", "each", "every", "other", "another", "last", "only", "no", "first", "next",
    "older", "newer", "some", "by",
])  # fmt: skip
_NO_COUNT_AFTER = frozenset([
    "of", "that", "which", "who", "is", "was", "on", "at", "with", "and", "or", "another", "can", "by", "has", "from", "to",
    "after", "before", "belongs",
])  # fmt: skip
_AT_THE_END = re.compile(r"([\w']+)\W*\Z")
_AT_THE_START = re.compile(r"\W{0,3}([\w']+)")


def read(text: str) -> list[Value]:
    """Return the typed values of a text in order; none overlaps another.

    >>> [(value.kind, value.amount) for value in read("It took 1 hour 5 min and cost $5.50 on 3/5/23")]
    [('duration', 3900.0), ('money', 5.5), ('date', (2023.0, 3.0, 5.0))]
    """
    found: list[Value] = []
    for match in _SCAN.finditer(text):
        value = _value(match)
        if value is None:
            continue
        last = found[-1] if found and _GOES_ON.fullmatch(text, found[-1].end, value.start) else None
        if last and value.kind == last.kind == "duration" and _size(value.unit) < _size(last.unit.split()[-1]):
            total = float(last.amount) + float(value.amount)  # type: ignore[arg-type]
            found[-1] = Value("duration", total, last.start, value.end, f"{last.unit} {value.unit}")
        elif last and last.kind == "money" and value.unit == "cents":
            found[-1] = last._replace(amount=round(float(last.amount) + float(value.amount) / 100, 2), end=value.end)  # type: ignore[arg-type]
        else:
            found.append(value)
    return found


def in_digits(text: str) -> str:
    """Return the text with its number words in digits; "one" stays where it is a pronoun.

    >>> in_digits("There are twenty-three of them, and two and a half hours")
    'There are 23 of them, and 2.5 hours'
    """

    def digits(match: re.Match[str]) -> str:
        words = [word for word in re.findall(r"[a-z]+", match.group().lower()) if word != "and"]
        if words == ["one"]:
            before = _AT_THE_END.search(text[max(0, match.start() - 20) : match.start()])
            after = _AT_THE_START.match(text, match.end())
            if before is None and after and after.group(1).lower() == "of":
                return "1"
            if (before and before.group(1).lower() in _NO_COUNT_BEFORE) or (
                after and after.group(1).lower() in _NO_COUNT_AFTER
            ):
                return match.group()
        return " ".join(map(str, _numbers(words)))

    text = _TIMES.sub(lambda word: {"o": "1 time", "tw": "2 times", "th": "3 times"}[word[1].lower()], text)
    return _HALVES.sub(_half, _WORD_NUMBER.sub(digits, text))


def _half(match: re.Match[str]) -> str:
    if match[1]:
        return f"{'1' if match[1].lower() == 'one' else match[1]}.5 {match[2]}"
    return f"{'0.5' if 'half' in match.group().lower() else '1'} {match[2]}"


def _numbers(words: list[str]) -> list[int]:
    """The numbers that a run of number words says: "two three" are two, "two hundred three" is one."""
    numbers: list[int] = []
    total = current = last = 0  # last: the size of the word before, 0 at the start of a number
    for word in words:
        if word in _SCALES:
            scale = _SCALES[word]
            if scale == 1000:
                total, current = total + max(current, 1) * scale, 0
            else:
                current = max(current, 1) * scale
            last = scale
            continue
        value = NUMBER_WORDS.get(word, TENS.get(word, 0))
        if last == 0 or last >= 100 or (last == 10 and 0 < value < 10):
            current += value
        else:
            numbers.append(total + current)
            total, current = 0, value
        last = 10 if word in TENS else 1
    return [*numbers, total + current]


def _value(match: re.Match[str]) -> Value | None:
    kind = match.lastgroup or ""
    text = match.group()
    start, end = match.span()
    match kind:
        case "url":
            trimmed = text.rstrip(".,;:!?)*_~")
            plain = re.sub(r"^https?://", "", trimmed.lower()).removeprefix("www.").rstrip("/")
            return Value("url", plain, start, start + len(trimmed))
        case "email":
            return Value("email", text.lower(), start, end)
        case "iso" | "numeric" | "mdy" | "dmy":
            day = _date(kind, text)
            return Value("date", day, start, end) if day else None
        case "my" | "ym":
            numbers = [int(digits) for digits in _DIGITS.findall(text)]
            year, month = (numbers[0], _month(text)) if kind == "my" else (max(numbers), min(numbers))
            known = kind == "my" or (1 <= month <= 12 and year > 1000)
            return Value("month", (float(year), float(month)), start, end) if known else None
        case "md":
            return Value("date", (0.0, float(_month(text)), float(_DIGITS.findall(text)[0])), start, end)
        case "phone":
            digits = "".join(_DIGITS.findall(text))
            return Value("phone", digits[1:] if len(digits) == 11 and digits[0] == "1" else digits, start, end)
        case "time":
            return _time(text, start, end)
        case "money":
            words = _LETTERS.findall(text.lower())  # a "$" may stand behind "us"
            currency = next((_CURRENCIES[word] for word in words if word in _CURRENCIES), "usd")
            return Value("money", _amount(text), start, end, currency)
        case "duration":
            return _duration(text, start, end)
        case "distance":
            unit = _LETTERS.findall(text)[-1].lower()
            return Value("distance", round(_amount(text) * _METRES[unit], 3), start, end, unit)
        case "percent":
            return Value("percent", _amount(text), start, end, "%")
        case "ordinal":
            return Value("ordinal", _amount(text), start, end)
        case _:
            return Value("number", _amount(text), start, end)


def _amount(text: str) -> float:
    number = re.search(_NUM, text)
    assert number is not None
    value = float(number.group().replace(",", "")[:300])
    return -value if "-" in text[: number.start()] or (text.endswith(("S", "W")) and "°" in text) else value


def _month(text: str) -> int:
    name = next(word for word in map(str.lower, re.findall(r"[a-z]+", text, re.IGNORECASE)) if word[:3] in _MONTHS)
    return _MONTHS.index(name[:3]) + 1


def _date(kind: str, text: str) -> tuple[float, ...] | None:
    numbers = [int(digits) for digits in _DIGITS.findall(text)]
    match kind:
        case "iso":
            year, month, day = numbers
        case "numeric":
            first, second, year = numbers
            year += 2000 if len(_DIGITS.findall(text)[2]) == 2 else 0
            # Points are European; otherwise the month is first, unless it cannot be.
            month, day = (second, first) if (first > 12 or "." in text) and second <= 12 else (first, second)
        case _:
            month, (day, year) = _month(text), numbers
    try:
        date(year, month, day)
    except ValueError:
        return None
    return (float(year), float(month), float(day))


def _time(text: str, start: int, end: int) -> Value | None:
    """A time of day in minutes; "2:34 h" is a duration."""
    low = text.lower()
    if low in ("noon", "midnight"):
        return Value("time", 720.0 if low == "noon" else 0.0, start, end)
    numbers = [int(digits) for digits in _DIGITS.findall(low)]
    hours, minutes = numbers[0], numbers[1] if len(numbers) > 1 else 0
    if minutes > 59 or hours > 99:
        return None
    half = (
        "p" if "p" in low or "even" in low or "night" in low or "aftern" in low else "a" if "a" in low or "morn" in low else ""
    )
    if not half and low.rstrip().endswith(("h", "s", "r")) and "h" in low:
        return Value("duration", 3600.0 * hours + 60.0 * minutes, start, end, "h min")
    if half and hours <= 12:
        hours = hours % 12 + (12 if half == "p" else 0)
    return Value("time", 60.0 * hours + minutes, start, end, half or "clock")


def _duration(text: str, start: int, end: int) -> Value | None:
    numbers = re.findall(_NUM, text)
    unit = _LETTERS.findall(text)[0].lower()
    if len(numbers) == 2:  # 1h25
        return Value("duration", 3600.0 * float(numbers[0]) + 60.0 * float(numbers[1]), start, end, "h min")
    value = float(numbers[0].replace(",", "")[:300])
    if unit == "m":
        # Alone it may be metres as well: `as_duration` and `as_distance` read it.
        return Value("duration", 60 * value, start, end, "m")
    return Value("duration", value * _size(unit), start, end, unit)


def _size(unit: str) -> int:
    letter = "o" if unit.startswith("mo") else unit[0]
    return _SECONDS[letter]


def split_minutes(values: list[Value]) -> Iterator[Value]:
    """Yield the values with a lone "5 m" read as metres; behind hours it is minutes."""
    for value in values:
        if value.kind == "duration" and value.unit == "m":
            yield Value("distance", float(value.amount) / 60, value.start, value.end, "m")  # type: ignore[arg-type]
        else:
            yield value
