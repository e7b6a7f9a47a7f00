"""Readings: the lines, table cells and labelled facts of a page as far as the observation shows them, and the amounts and dates in them."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import NamedTuple

from webarena_gym.observation import Observation, observe
from webarena_gym.pages.page import Page

_EVERYTHING = 10**9  # characters: no window
_NUMBERED = re.compile(r" \[\d+\]$")
_SELECT = re.compile(r"<select[^>]*>.*?</select>")
_CHOSEN = re.compile(r"<option selected>(.*?)</option>")
_FIELD = re.compile(r"<(input|select|textarea)\b")
_CELL = re.compile(r"<t[dh]>(.*?)</t[dh]>")
_TAG = re.compile(r"</?\w[^>]*>")
_TITLE = re.compile(r"<h1>(.*?)</h1>")
_WORD = re.compile(r"[a-z0-9]+")
_PAIR = re.compile(r"([^:<>]{2,40}): (\S.*)")
_COMMON = frozenset(
    "a about all an and answer any are as at be by can do does did each every for form from full give has have how i if in is it "  # noqa: SIM905
    "its list many me much my name names not of on one only or other page please separated show tell than that the their "
    "them then there these this those to was what when where which who with you your".split()
)
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_ABBREVIATED = tuple(month[:3] for month in _MONTHS)
_MONTH = re.compile(rf"\b({'|'.join(_MONTHS)}) (\d{{4}})")
_SHORT_DATE = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})\b")
_LONG_DATE = re.compile(rf"({'|'.join(_ABBREVIATED)})[a-z]* (\d{{1,2}}), (\d{{4}})")
_LIMIT = re.compile(r"(?:at most|within) (\d+|two|three) (minutes|hours)")
_NUMBER_NAMES = {"two": 2, "three": 3}


class Row(NamedTuple):
    """One row of a table with the table's headings, which may be empty."""

    headings: tuple[str, ...]
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Reading:
    """One page of an episode: its text exactly as shown, and the same lines with every element named by its label."""

    url: str
    shown: str
    lines: tuple[str, ...]
    hidden_below: int = 0  # lines that scrolling down would show

    def shows(self, text: str) -> bool:
        """Return whether the page has exactly this text."""
        return bool(text) and text in self.shown

    def quotes(self, text: str) -> bool:
        """Return whether the page has this text and it can be put in double quotes."""
        return '"' not in text and "<" not in text and self.shows(text)

    @cached_property
    def title(self) -> str:
        """The heading of the page; empty if it has none."""
        found = (_TITLE.search(line) for line in self.lines)
        return next((plain(match.group(1)) for match in found if match), "")

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The lines without their markup and without fields, whose options are not facts."""
        return tuple(text for line in self.lines if not _FIELD.search(line) and (text := plain(line)))

    @cached_property
    def tables(self) -> tuple[list[Row], ...]:
        """The tables that have rows, in order."""
        tables: list[list[Row]] = []
        headings: tuple[str, ...] = ()
        is_inside = False
        for line in self.lines:
            cells = tuple(plain(cell) for cell in _CELL.findall(line)) if line.startswith("<tr>") else ()
            if not cells or "<td>" not in line:
                headings, is_inside = cells, False
            elif "<th>" not in line:
                if not is_inside:
                    tables.append([])
                tables[-1].append(Row(headings if len(headings) == len(cells) else (), cells))
                is_inside = True
        return tuple(tables)

    @property
    def rows(self) -> list[Row]:
        """The rows of all tables, in order."""
        return [row for table in self.tables for row in table]

    @cached_property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """The labels and their values, such as "Grand Total" and "$12.00": a line below its label, a row of a heading and a value, or "label: value"."""
        found, before = list[tuple[str, str]](), ""
        for line in self.lines:
            cells = [plain(cell) for cell in _CELL.findall(line)] if line.startswith("<tr><th>") and "<td>" in line else []
            text = "" if line.startswith("<tr>") or _FIELD.search(line) else plain(line)
            match = _PAIR.fullmatch(text)
            if len(cells) == 2:
                found.append((cells[0], cells[1]))
            elif match:
                found.append((match.group(1), match.group(2)))
            elif before and text:
                found.append((before, text))
            is_label = not match and len(text) <= 40 and ("<" not in line or line.startswith("<h"))
            before = text if is_label else ""
        return tuple(fact for fact in found if all(fact))


def read(page: Page, observation: Observation, shown: str) -> Reading:
    """Return the reading of the part of a page that an observation shows; `shown` is the observation's text.

    Of an accessibility tree, whose lines are others, the whole page is read; what it does not show is not quoted.
    """
    whole = observe(page, elements="label", header=False, window=_EVERYTHING)
    lines = whole.text.split("\n")
    if whole.total == observation.total:
        lines = lines[observation.top : observation.top + observation.height]
    below = observation.total - observation.top - observation.height
    return Reading(page.url, shown, tuple(lines), below)


def plain(line: str) -> str:
    r"""Return what a line says: its text without markup, and of a list of options the chosen one.

    >>> plain('<tr><td>000000320</td><td>$136.47</td><td><a>View Order</a> <button>Reorder [2]</button></td></tr>')
    '000000320 $136.47 View Order Reorder'
    """
    return " ".join(pieces(line))


def pieces(line: str) -> list[str]:
    """Return the texts between a line's tags, without the numbers of equal labels."""
    chosen = _SELECT.sub(lambda match: " ".join(_CHOSEN.findall(match.group())), line)
    parts = (bare(part.strip()) for part in _TAG.split(chosen))
    return [part.replace("&lt;", "<").replace("&quot;", '"') for part in parts if part]


def bare(label: str) -> str:
    """Return a label without the number that distinguishes equal labels.

    >>> bare("View Order [2]")
    'View Order'
    """
    return _NUMBERED.sub("", label)


def words(text: str) -> frozenset[str]:
    """Return the words of a text in lower case, without common words and without the s of a plural.

    >>> sorted(words("How many orders are there in May 2022?"))
    ['2022', 'may', 'order']
    """
    found = (word for word in _WORD.findall(text.lower()) if word not in _COMMON)
    return frozenset(word[:-1] if len(word) > 3 and word.endswith("s") else word for word in found)


def nearest_lines(texts: tuple[str, ...], topic: frozenset[str], count: int) -> list[str]:
    """Return the `count` lines with the most words of a topic, at least one, in their order on the page."""
    scored = [(len(words(text) & topic), -number) for number, text in enumerate(texts) if len(text) <= 160]
    best = sorted((item for item in scored if item[0]), reverse=True)[:count]
    return [texts[-number] for _, number in sorted(best, key=lambda item: -item[1])]


def quote(text: str) -> str:
    """Return the text in double quotes."""
    return f'"{text}"'


def quote_all(texts: Sequence[str]) -> str:
    """Return the texts in double quotes, as a list in prose.

    >>> print(quote_all(["A", "B", "C"]))
    "A", "B" and "C"
    """
    *before, last = map(quote, texts)
    return f"{', '.join(before)} and {last}" if before else last


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


MONEY = Unit(
    re.compile(r"\$([\d,]+)\.(\d\d)"),
    lambda match: 100 * int(match[1].replace(",", "")) + int(match[2]),
    lambda cents: f"${cents // 100:,}.{cents % 100:02}",
)
DURATION = Unit(
    re.compile(r"(?:(\d+)h )?(\d+) ?min"),
    lambda match: 60 * int(match[1] or 0) + int(match[2]),
    lambda minutes: f"{minutes // 60}h {minutes % 60}min" if minutes >= 60 else f"{minutes} min",
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
