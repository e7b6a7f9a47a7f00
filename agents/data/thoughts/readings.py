"""Readings: the lines, table cells and labelled facts of a page, as far as the observation shows them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
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


class Fact(NamedTuple):
    """A value and its label: "Grand Total" and "$12.00"."""

    label: str
    value: str


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
    def facts(self) -> tuple[Fact, ...]:
        """The labelled values: a line below its label, a row of a heading and a value, or "label: value"."""
        found, before = [], ""
        for line in self.lines:
            cells = [plain(cell) for cell in _CELL.findall(line)] if line.startswith("<tr><th>") and "<td>" in line else []
            text = "" if line.startswith("<tr>") or _FIELD.search(line) else plain(line)
            match = _PAIR.fullmatch(text)
            if len(cells) == 2:
                found.append(Fact(*cells))
            elif match:
                found.append(Fact(match.group(1), match.group(2)))
            elif before and text:
                found.append(Fact(before, text))
            is_label = not match and len(text) <= 40 and ("<" not in line or line.startswith("<h"))
            before = text if is_label else ""
        return tuple(fact for fact in found if fact.label and fact.value)


def read(page: Page, observation: Observation, shown: str) -> Reading:
    """Return the reading of the part of a page that an observation shows; `shown` is the observation's text.

    Of an accessibility tree, whose lines are others, the whole page is read; what it does not show is not quoted.
    """
    whole = observe(page, elements="label", header=False, window=_EVERYTHING)
    lines = whole.text.split("\n")
    if whole.total == observation.total:
        lines = lines[observation.top : observation.top + observation.shown]
    below = observation.total - observation.top - observation.shown
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
