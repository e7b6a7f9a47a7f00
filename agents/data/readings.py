"""Parsed pages: the lines, tables and labelled values that an observation contains, and parsers for amounts, dates and months."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import NamedTuple

from webarena_gym.answers.values import MONTHS, read
from webarena_gym.observation import Observation, observe
from webarena_gym.pages.page import Page
from webarena_gym.pages.reading import split_number
from webarena_gym.texts import without_plural

_NO_WINDOW = 10**9  # characters: no window
_SELECT = re.compile(r"<select[^>]*>.*?</select>")
_SELECTED_OPTION = re.compile(r"<option selected>(.*?)</option>")
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
_MONTH = re.compile(rf"\b({'|'.join(MONTHS)}) (\d{{4}})")
_DATE = re.compile(
    rf"\d{{1,2}}/\d{{1,2}}/(?:\d{{4}}|\d{{2}})\b|(?:{'|'.join(name[:3] for name in MONTHS)})[a-z]* \d{{1,2}}, \d{{4}}"
)
_LIMIT = re.compile(r"(?:at most|within) (\d+|two|three) (minutes|hours)")
_NUMBER_NAMES = {"two": 2, "three": 3}


class Row(NamedTuple):
    """One table row and the headings of its table (empty if the table has none)."""

    headings: tuple[str, ...]
    cells: tuple[str, ...]


@dataclass(frozen=True)
class ParsedPage:
    """One page of an episode: the observation text, and its lines with elements identified by label.

    Args:
        url: address of the page
        text: observation text, exactly as the policy reads it
        lines: the same lines, in which elements have labels instead of ids
        hidden_below: number of lines below the window

    """

    url: str
    text: str
    lines: tuple[str, ...]
    hidden_below: int = 0

    def contains(self, text: str) -> bool:
        """Return True if the observation text contains `text`; False for an empty text."""
        return bool(text) and text in self.text

    def can_quote(self, text: str) -> bool:
        """Return True if the observation contains `text`, and `text` contains neither a double quote nor "<"."""
        return '"' not in text and "<" not in text and self.contains(text)

    @cached_property
    def title(self) -> str:
        """The first <h1> of the page, as plain text; empty if there is none."""
        matches = (_TITLE.search(line) for line in self.lines)
        return next((plain(match.group(1)) for match in matches if match), "")

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The text of each line without markup. Lines with form fields are left out, because their options are not content."""
        return tuple(text for line in self.lines if not _FIELD.search(line) and (text := plain(line)))

    @cached_property
    def tables(self) -> tuple[list[Row], ...]:
        """The rows of each table that has any, in page order."""
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
        """The rows of all tables, in page order."""
        return [row for table in self.tables for row in table]

    @cached_property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """Pairs of label and value, such as ("Grand Total", "$12.00").

        Three layouts are recognized: a value in the line below its label, a table row with one heading and one value, and
        "label: value".
        """
        pairs, before = list[tuple[str, str]](), ""
        for line in self.lines:
            cells = [plain(cell) for cell in _CELL.findall(line)] if line.startswith("<tr><th>") and "<td>" in line else []
            text = "" if line.startswith("<tr>") or _FIELD.search(line) else plain(line)
            match = _PAIR.fullmatch(text)
            if len(cells) == 2:
                pairs.append((cells[0], cells[1]))
            elif match:
                pairs.append((match.group(1), match.group(2)))
            elif before and text:
                pairs.append((before, text))
            is_label = not match and len(text) <= 40 and ("<" not in line or line.startswith("<h"))
            before = text if is_label else ""
        return tuple(fact for fact in pairs if all(fact))


def parse_page(page: Page, observation: Observation, text: str) -> ParsedPage:
    """Parse the part of a page that an observation contains.

    Args:
        page: the current page
        observation: its observation, which gives the window of lines
        text: text of the observation

    An accessibility tree has other lines than the page. In that case all lines of the page are parsed; `can_quote` still rejects texts
    that the observation does not contain.

    """
    full_observation = observe(page, elements="label", header=False, window=_NO_WINDOW)
    lines = full_observation.text.split("\n")
    if full_observation.total == observation.total:
        lines = lines[observation.top : observation.top + observation.height]
    below = observation.total - observation.top - observation.height
    return ParsedPage(page.url, text, tuple(lines), below)


def plain(line: str) -> str:
    r"""Return the text of a line without markup. A <select> contributes only its selected option.

    >>> plain('<tr><td>000000320</td><td>$136.47</td><td><a>View Order</a> <button>Reorder [2]</button></td></tr>')
    '000000320 $136.47 View Order Reorder'
    """
    return " ".join(pieces(line))


def pieces(line: str) -> list[str]:
    """Return the texts between the tags of a line, without the numbers that distinguish equal labels."""
    text = _SELECT.sub(lambda match: " ".join(_SELECTED_OPTION.findall(match.group())), line)
    parts = (bare(part.strip()) for part in _TAG.split(text))
    return [part.replace("&lt;", "<").replace("&quot;", '"') for part in parts if part]


def bare(label: str) -> str:
    """Return a label without the number that distinguishes equal labels.

    >>> bare("View Order [2]")
    'View Order'
    """
    return split_number(label)[0]


def words(text: str) -> frozenset[str]:
    """Return the words of a text in lower case, without stop words and plural endings.

    >>> sorted(words("How many orders are there in May 2022?"))
    ['2022', 'may', 'order']
    """
    return frozenset(without_plural(word) for word in _WORD.findall(text.lower()) if word not in _COMMON)


def nearest_lines(texts: tuple[str, ...], topic: frozenset[str], count: int) -> list[str]:
    """Return up to `count` lines that share the most words with a topic, in page order. Lines without a shared word are left out."""
    scores = [(len(words(text) & topic), -number) for number, text in enumerate(texts) if len(text) <= 160]
    best = sorted((item for item in scores if item[0]), reverse=True)[:count]
    return [texts[-number] for _, number in sorted(best, key=lambda item: -item[1])]


def quote(text: str) -> str:
    """Return the text in double quotes."""
    return f'"{text}"'


def quote_all(texts: Sequence[str]) -> str:
    """Return the texts in double quotes, joined with commas and "and".

    >>> print(quote_all(["A", "B", "C"]))
    "A", "B" and "C"
    """
    *before, last = map(quote, texts)
    return f"{', '.join(before)} and {last}" if before else last


class Unit(NamedTuple):
    """A type of amount.

    Args:
        pattern: full match of an amount
        number: converts a match to an integer (cents, minutes or a count)
        write: formats the integer

    """

    pattern: re.Pattern[str]
    number: Callable[[re.Match[str]], int]
    write: Callable[[int], str]

    def read(self, text: str) -> int | None:
        """Return the integer value of an amount; None if the text is no amount of this type."""
        match = self.pattern.fullmatch(text)
        return self.number(match) if match else None

    def read_all(self, texts: Sequence[str]) -> list[int]:
        """Return the values of all texts; an empty list if any text is no amount."""
        amounts = [amount for text in texts if (amount := self.read(text)) is not None]
        return amounts if len(amounts) == len(texts) else []


class Month(NamedTuple):
    """A month and year mentioned in a goal."""

    name: str
    year: int
    number: int

    def has(self, text: str) -> bool:
        """Return True if the text is a date in this month, or the month in the format of reports ("8/2021")."""
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
    """Return the unit of an amount; None if the text is no amount.

    >>> unit_of("2h 7min") is DURATION, DURATION.read("2h 7min"), MONEY.write(112094), unit_of("blue")
    (True, 127, '$1,120.94', None)
    """
    return next((unit for unit in (MONEY, DURATION, COUNT) if unit.pattern.fullmatch(text)), None)


def read_date(text: str) -> date | None:
    """Return the date at the beginning of a text; None if there is none or the day does not exist.

    >>> read_date("12/9/22"), read_date("Dec 13, 2022, 10:20:00 PM"), read_date("soon")
    (datetime.date(2022, 12, 9), datetime.date(2022, 12, 13), None)
    """
    match = _DATE.match(text)
    value = read("date", match[0]) if match else None
    return date(*map(int, value)) if isinstance(value, tuple) else None


def find_month(text: str) -> Month | None:
    """Return the first "Month YYYY" of a text; None if there is none.

    >>> find_month("What did I spend in October 2022?")
    Month(name='October 2022', year=2022, number=10)
    """
    match = _MONTH.search(text)
    return Month(match[0], int(match[2]), MONTHS.index(match[1]) + 1) if match else None


def find_limit(text: str) -> int | None:
    """Return the time limit in a text, in minutes; None if there is none.

    >>> find_limit("within two hours by car"), find_limit("at most 20 minutes on foot"), find_limit("by car")
    (120, 20, None)
    """
    match = _LIMIT.search(text)
    return (_NUMBER_NAMES.get(match[1]) or int(match[1])) * (60 if match[2] == "hours" else 1) if match else None
