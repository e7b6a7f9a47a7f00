"""Pages read back from the env's simplified HTML: controls and lines, tables, pieces of text, and what the lines have to do with a goal."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

import numpy
from numpy.typing import NDArray

from agents.models.pointer.goals import DURATION, MONEY, Goal, amount_of, date_of, words_of

Use = Literal["link", "button", "box", "text", "area", "select"]
Floats = NDArray[numpy.float32]
Ids = NDArray[numpy.int32]
EXTREMES = 18
WANTED = 9

_USES: dict[str, Use] = {"a": "link", "button": "button", "textarea": "area"}
_TAG = re.compile(r"<([^<>]*)>")
_ATTRIBUTE = re.compile(r'(?<![a-z-])([a-z-]+)="([^"]*)"')
_NOTE = re.compile(r"\[\d+ more lines (?:above|below)\]")
_TAB = re.compile(r"\[(\d+)\](\*?) (.*)")
_IN_BRACKETS = re.compile(r" \(([^()]*)\)")
_BEHIND_COMMA = re.compile(r", (\d+)")
_PARTS = re.compile(
    rf"{MONEY}|{DURATION}|\d[\d,.]* k?m\b|https?://[^\s\"<>]+|[\w.+-]+@[\w.-]*\w(?::[\w./-]+)?|"
    r"\d\d:\d\d-\d\d:\d\d|\d+(?:[.,-]\d+)*|@?[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)+"
)
_NAMES = re.compile(r"[A-Z][\w'.-]*(?: (?:(?:of|the|and|de|&) )?[A-Z][\w'.-]*)+|[A-Z][\w'-]+")
_BREAK = re.compile(r": | - |; |, | \| | / | \(|\) |\)$| by | in |\. |\n")
_LONGEST_TEXT = 300
_MOST = 2_000  # other pieces of one page
_MOST_COPIED = 500_000  # characters of a large field's beginnings and ends, which without a limit grow with the square
_MONEY = re.compile(r"\$(\d[\d,]*(?:\.\d\d)?)")
_COUNT = re.compile(r"\d\.\d \((\d+)\)")  # of ratings
_POINTS = re.compile(r"(-?(?<!\d)\d+) points?\b")
_LONGEST_LINE = 160  # characters of a line beside a control's own


class Control(NamedTuple):
    """Something that can be used, in the order of the page."""

    use: Use
    address: str  # what an action names it by
    label: str
    line: int
    value: str = ""  # what a text field holds
    is_on: bool = False  # a box is ticked
    is_disabled: bool = False
    options: tuple[tuple[str, bool], ...] = ()  # of a drop-down list: the text, and whether it is chosen


class Segment(NamedTuple):
    """A run of text between tags; `column` is its place in a row of a table, or -1."""

    text: str
    is_control: bool
    column: int


class Line(NamedTuple):
    """One line of a page."""

    text: str  # without tags
    segments: tuple[Segment, ...]
    is_row: bool
    is_heading: bool
    columns: tuple[str, ...]  # of the table that the row belongs to
    heading: str  # the newest heading above
    first_control: int  # place of its first control in the page's
    controls: int  # how many it has


class Page(NamedTuple):
    """A page as the agent sees it."""

    url: str
    tabs: tuple[tuple[str, bool], ...]  # title, and whether it is the one that is shown
    notices: tuple[str, ...]
    lines: tuple[Line, ...]
    controls: tuple[Control, ...]
    has_above: bool
    has_below: bool
    title: str  # its first heading of the first rank, else ""


@lru_cache(maxsize=1_024)
def read_page(text: str) -> Page:
    """Return a page from the env's text of it, in which elements are named by id or by label."""
    url = ""
    tabs: tuple[tuple[str, bool], ...] = ()
    notices: list[str] = []
    lines: list[Line] = []
    controls: list[Control] = []
    has_above = has_below = False
    heading, title = "", ""
    columns: tuple[str, ...] = ()
    counts: dict[str, int] = {}
    rest = iter(text.split("\n"))
    for first_line in rest:
        raw = first_line
        if raw.startswith("URL: ") and not url:
            url = raw[5:]
            continue
        if raw.startswith("Tabs: ") and not lines:
            found = [_TAB.match(part) for part in raw[6:].split(" | ")]
            tabs = tuple((match.group(3), bool(match.group(2))) for match in found if match)
            continue
        if raw.startswith("Browser: ") and not lines:
            notices.append(raw[9:])
            continue
        if _NOTE.fullmatch(raw):
            has_above, has_below = has_above or raw.endswith("above]"), has_below or raw.endswith("below]")
            continue
        while raw.count("<textarea") > raw.count("</textarea>"):
            more = next(rest, None)
            if more is None:
                break
            raw += "\n" + more
        first = len(controls)
        segments, is_row, is_heading = _read_line(raw, len(lines), controls, counts)
        if is_row and "<th" in raw:
            columns = _cells_of(segments, 1 + max((part.column for part in segments), default=-1))
        elif not is_row:
            columns = ()
        plain = " ".join(part.text for part in segments)
        if is_heading:
            if not title and raw.startswith("<h1"):
                title = plain
            heading = plain
        lines.append(Line(plain, segments, is_row, is_heading, columns, heading, first, len(controls) - first))
    return Page(url, tabs, tuple(notices), tuple(lines), tuple(controls), has_above, has_below, title)


def _read_line(
    raw: str, number: int, controls: list[Control], counts: dict[str, int]
) -> tuple[tuple[Segment, ...], bool, bool]:
    """Return the segments of a line, whether it is a row of a table, and whether it is a heading. Adds its controls."""
    parts = _TAG.split(raw)
    is_row, is_heading = raw.startswith("<tr>"), raw.startswith("<h") and raw[2:3].isdigit()
    segments: list[Segment] = []
    column, inside = -1, ""
    attributes: dict[str, str] = {}
    names: list[str] = []
    options: list[tuple[str, bool]] = []
    for place, part in enumerate(parts):
        if place % 2 == 0:
            text = part.replace("&lt;", "<")
            if inside in ("a", "button", "textarea"):
                is_area = inside == "textarea"
                label = attributes.get("label", text.strip()) if is_area else text.strip()
                address, kept = _address(attributes | {"label": label}, counts), text if is_area else ""
                controls.append(Control(_USES[inside], address, label, number, kept, False, "disabled" in names))
                if not is_area:
                    segments.append(Segment(text.strip(), True, column))
                    attributes = {}
                inside = ""
            elif inside == "option":
                options.append((text, "selected" in names))
                inside = ""
            elif text.strip():
                segments.append(Segment(text.strip(), False, column))
            continue
        name, _, more = part.partition(" ")
        if name in ("td", "th"):
            column += 1
        elif name in ("a", "button", "textarea"):
            inside, attributes, names = name, _attributes(more), _ATTRIBUTE.sub("", more).split()
        elif name == "option":
            inside, names = "option", more.split()
        elif name == "select":
            attributes, options = _attributes(more), []
            attributes["flags"] = _ATTRIBUTE.sub("", more)
        elif name == "/select":
            address = _address(attributes, counts)
            disabled = "disabled" in attributes.get("flags", "").split()
            label = attributes.get("label", "")
            controls.append(Control("select", address, label, number, "", False, disabled, tuple(options)))
        elif name == "input":
            found, flags = _attributes(more), _ATTRIBUTE.sub("", more).split()
            kind = found.get("type", "text")
            use: Use = "box" if kind in ("checkbox", "radio") else "text"
            is_off = "disabled" in flags or "readonly" in flags
            label = found.get("label", "")
            controls.append(
                Control(use, _address(found, counts), label, number, found.get("value", ""), "checked" in flags, is_off)
            )
        elif name == "img":
            found = _attributes(more)
            if found.get("alt"):
                segments.append(Segment(found["alt"], False, column))
    return tuple(segments), is_row, is_heading


def _address(attributes: dict[str, str], counts: dict[str, int]) -> str:
    """Return what names a control: its id, or its label with the number of equal labels before it."""
    if "id" in attributes:
        return attributes["id"]
    label = attributes.get("label", "")
    counts[label] = counts.get(label, 0) + 1
    return label if counts[label] == 1 else f"{label} [{counts[label]}]"


def _attributes(text: str) -> dict[str, str]:
    return {name: value.replace("&quot;", '"').replace("&lt;", "<") for name, value in _ATTRIBUTE.findall(text)}


def path_of(url: str) -> str:
    """Return the path of an address, with its numbers as "0"."""
    return "/".join("0" if part.isdigit() else part for part in urlsplit(url).path.split("/"))


class Row(NamedTuple):
    """A row of a table or of a list of like lines: the texts in it by column."""

    cells: tuple[str, ...]
    text: str
    words: frozenset[str]
    number: int  # of its line


class Table(NamedTuple):
    """Rows with the same columns."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    heading: str


@lru_cache(maxsize=512)
def tables_of(text: str) -> tuple[Table, ...]:
    """Return the tables of a page, then its groups of at least two lines that are built alike."""
    page = read_page(text)
    tables: list[Table] = []
    rows: list[Row] = []
    columns: tuple[str, ...] = ()
    heading = ""
    groups: dict[tuple[str, tuple[str, ...]], list[Row]] = {}
    for number, line in enumerate((*page.lines, None)):
        if rows and (line is None or not line.is_row or line.columns != columns or _is_header(line)):
            tables.append(Table(columns, tuple(rows), heading))
            rows = []
        if line is None:
            break
        if line.is_row and not _is_header(line):
            columns, heading = line.columns, line.heading
            cells = [""] * len(columns)
            for segment in line.segments:
                if 0 <= segment.column < len(cells):
                    cells[segment.column] = f"{cells[segment.column]} {segment.text}".strip()
            rows.append(Row(tuple(cells), line.text, frozenset(words_of(line.text)), number))
        elif line.segments and not line.is_heading and not line.is_row:
            cells_, kinds = _list_cells(line)
            groups.setdefault((line.heading, kinds), []).append(Row(cells_, line.text, frozenset(words_of(line.text)), number))
    for (above, kinds), found in groups.items():
        if len(found) >= 2:
            width = min(len(row.cells) for row in found)
            tables.append(Table(kinds[:width], tuple(found), above))
    return tuple(tables)


def _cells_of(segments: Sequence[Segment], count: int) -> tuple[str, ...]:
    return tuple(" ".join(part.text for part in segments if part.column == place) for place in range(count))


def _is_header(line: Line) -> bool:
    return bool(line.columns) and _cells_of(line.segments, len(line.columns)) == line.columns


def _list_cells(line: Line) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the first texts of a line of a list, and what kind each is, by which lines are grouped."""
    cells: list[str] = []
    kinds: list[str] = []
    for segment in line.segments:
        if segment.text in ("Add to Cart", ","):
            continue
        kinds.append("link" if segment.is_control else "text")
        cells.append(segment.text)
    cells, kinds = cells[:3], kinds[:3]
    if len(kinds) == 1 and kinds[0] == "text":
        head, sep, tail = line.text.partition(": ")
        if sep:
            return (line.text, head, tail), ("line", "head", "tail")
        for pattern, kind in ((_IN_BRACKETS, "in brackets"), (_BEHIND_COMMA, "behind comma")):
            match = pattern.search(line.text, 1)
            if match and "\n" not in line.text[: match.start()]:
                return (line.text[: match.start()], match[1]), ("line", kind)
    return tuple(cells), tuple(kinds)


class Piece(NamedTuple):
    """A text to use, where it was found, and what stands around it."""

    text: str
    source: str  # goal, page, memory, field, constant, or the name of a computation
    way: str  # how it was cut out
    left: str = ""  # what stands before it in its segment or in the goal
    right: str = ""
    line: str = ""  # the line that it stands on
    above: str = ""  # the line above
    heading: str = ""
    column: str = ""  # of a table, or what else says which value it is
    number: int = -1  # of its line


@lru_cache(maxsize=20_000)
def _cut(text: str) -> tuple[tuple[str, str, str, str], ...]:
    """Return the parts of a segment: text, way, and what stands before and after."""
    found: dict[str, tuple[str, str, str, str]] = {}

    def add(part: str, way: str, start: int, end: int) -> None:
        left, right = text[max(0, start - 30) : start], text[end : end + 20]
        if part:
            found.setdefault(part, (part, way, left, right))

    add(text, "whole", 0, len(text))
    for match in _PARTS.finditer(text):
        add(match.group(), "figure", *match.span())
        if " k" in match.group() or match.group().endswith((" m", "km")):
            add(match.group().partition(" ")[0], "bare figure", match.start(), match.start() + 1)
        if match.group().startswith("@"):
            add(match.group()[1:], "figure", match.start() + 1, match.end())
    start = 0
    for match in _BREAK.finditer(text):
        add(text[start : match.start()].strip(), "part", start, match.start())
        add(text[: match.start()].strip(), "head", 0, match.start())
        if match.group() in (": ", ", ", " ("):
            add(text[match.end() :].strip(), "tail", match.end(), len(text))
        start = match.end()
    if start:
        add(text[start:].strip(), "part", start, len(text))
    for match in _NAMES.finditer(text):
        add(match.group().rstrip("."), "name", *match.span())
    first, _, others = text.partition(" ")
    if others and first.isalpha():
        add(others, "but the first word", len(first) + 1, len(text))
    bare = text.lstrip("@#").strip()
    add(bare, "part", len(text) - len(bare), len(text))
    return tuple(found.values())


@lru_cache(maxsize=512)
def page_pieces(text: str) -> tuple[Piece, ...]:
    """Return the pieces of a page, line by line."""
    page = read_page(text)
    pieces: list[Piece] = []
    address = page.url.partition("?")[0]
    pieces.append(Piece(address, "page", "address"))
    pieces.append(Piece("/" + address.partition("://")[2].partition("/")[2], "page", "path"))
    pieces.append(Piece(address.rstrip("/").rpartition("/")[2], "page", "last part"))
    above = ""
    for number, line in enumerate(page.lines):
        whole = line.text
        for place, segment in enumerate(line.segments):
            if len(segment.text) > 2 * _LONGEST_TEXT:
                continue
            column = line.columns[segment.column] if 0 <= segment.column < len(line.columns) else ""
            before = line.segments[place - 1].text if place else ""
            after = line.segments[place + 1].text if place + 1 < len(line.segments) else ""
            for part, way, left, right in _cut(segment.text):
                pieces.append(
                    Piece(
                        part, "page", f"link {way}" if segment.is_control else way, left or before[-30:], right or after[:20],
                        whole, above, line.heading, column, number,
                    )
                )  # fmt: skip
        if len(line.segments) > 1 and not line.is_row and not any(part.is_control for part in line.segments[1:]):
            pieces.append(Piece(whole, "page", "line", "", "", whole, above, line.heading, "", number))
        above = whole
    for control in page.controls:
        value, parts = control.value, list[tuple[str, str, str]]()
        if value and control.use in ("text", "area"):
            parts.append((value, "value", control.label))
        if (
            value and control.use == "area"
        ):  # also up to the end of each of the first tags in it, and from the beginning of each
            for match in islice(re.finditer(r"<[^<>]*>", value), max(_MOST_COPIED // len(value), 1)):
                named = match.group().strip("<>/")
                parts += [(value[: match.end()], "up to", named), (value[match.start() :], "from", named)]
        if control.use == "select" and 1 < len(control.options) <= 20:
            for way, options in (("all options", control.options), ("options but the first", control.options[1:])):
                parts.append((", ".join(option for option, _ in options), way, control.label))
        parts += [(option, "chosen", control.label) for option, is_chosen in control.options if is_chosen]
        heading = page.lines[control.line].heading
        pieces += [
            Piece(part, "field", way, left, "", control.label, "", heading, "", control.line) for part, way, left in parts
        ]
    return tuple(pieces[:_MOST])


def wanted_of(goal: Goal, page: Page) -> Floats:
    """Return for each line of a page whether its dates and amounts are those of the goal."""
    table = numpy.zeros((len(page.lines), WANTED), numpy.float32)
    named: list[tuple[float, int]] = []
    largest = max(goal.numbers, default=0.0)
    best: tuple[float, int] | None = None
    first_month = True
    for number, line in enumerate(page.lines):
        date = date_of(line.text) if goal.months or goal.days else None
        if date:
            table[number, 0] = date[:2] in goal.months
            table[number, 1] = date in goal.days
            if date[:2] in goal.months and first_month:
                table[number, 2], first_month = 1.0, False
        at = line.text.rfind("$")
        amount = amount_of(line.text[at:].split(" ")[0]) if at >= 0 else None
        if amount is not None and goal.names and not goal.names.isdisjoint(words_of(line.text)):
            named.append((amount, number))
        if amount is not None and largest:
            table[number, 3] = amount <= largest
            table[number, 4] = amount in goal.numbers
            if amount <= largest and (best is None or amount > best[0]):
                best = (amount, number)
        if line.is_row and goal.numbers:
            cells = [amount_of(segment.text) for segment in line.segments if segment.column >= 0]
            table[number, 5] = any(cell is not None and cell in goal.numbers for cell in cells)
    if best:
        table[best[1], 6] = 1.0
    for amount, number in named:
        table[number, 7] = float(amount == max(named)[0])
        table[number, 8] = float(amount == min(named)[0])
    return table


def presence_of(goal: Goal, page: Page) -> tuple[float, float, float, float]:
    """Return how much of the goal stands on a page: of its names, of these in one line, whether a whole name, and a quotation."""
    seen: set[str] = set()
    most = 0
    for line in page.lines:
        own = goal.names.intersection(words_of(line.text))
        seen |= own
        most = max(most, len(own))
    names = [goal.text[start:end] for start, end in goal.runs if end - start > 6]
    count = max(len(goal.names), 1)
    return (
        len(seen) / count,
        most / count,
        float(any(name in line.text for line in page.lines for name in names)),
        float(any(quotation in line.text for quotation in goal.quotations for line in page.lines)),
    )


def beside_line(page: Page, number: int) -> tuple[str, str]:
    """Return the texts of the line above a line and of the four below."""
    above = page.lines[number - 1].text if number else ""
    below = " ".join(line.text for line in page.lines[number + 1 : number + 5])
    return above[:_LONGEST_LINE], below[: 2 * _LONGEST_LINE]


def extremes_of(page: Page, tables: Sequence[Table]) -> Floats:
    """Return for each line of a page its place among the rows of its table, and where its amounts are the largest or smallest."""
    table = numpy.zeros((max(len(page.lines), 1), EXTREMES), numpy.float32)
    for each in tables:
        numbers = [row.number for row in each.rows]
        count = len(numbers)
        for place, number in enumerate(numbers):
            if place < 5:
                table[number, place] = 1.0
            table[number, 5] = float(place == count - 1)
            table[number, 6] = min(count, 20) / 20
        if count < 2:
            continue
        is_first = True
        for column in range(len(each.columns)):
            cells = [row.cells[column] for row in each.rows if column < len(row.cells)]
            amounts = [amount_of(cell) for cell in cells if cell[:1] in "$0123456789-("]
            known = [amount for amount in amounts if amount is not None]
            if len(known) < count or len(set(known)) < 2:
                continue
            largest, smallest = max(known), min(known)
            for number, amount in zip(numbers, known, strict=True):
                at = 7 if is_first else 9
                table[number, at] = max(table[number, at], float(amount == largest))
                table[number, at + 1] = max(table[number, at + 1], float(amount == smallest))
            is_first = False
        dates = [next(filter(None, map(date_of, row.cells)), None) for row in each.rows]
        told = [date for date in dates if date]
        if told:
            newest, oldest = max(told), min(told)
            for number, date in zip(numbers, dates, strict=True):
                table[number, 11] = float(date == newest)
                table[number, 12] = float(date == oldest)
    _mark_extreme_figures(page, table)
    return table


def _mark_extreme_figures(page: Page, table: Floats) -> None:
    """Note in the table the lines with controls whose price, number of ratings or points are the largest, or whose price is the smallest."""
    for at, pattern in ((13, _MONEY), (15, _COUNT), (16, _POINTS)):
        found: list[tuple[float, int]] = []
        for number, line in enumerate(page.lines):
            if line.controls and " - $" not in line.text and (match := pattern.search(line.text)):
                found.append((float(match[1].replace(",", "")), number))
        if len(found) > 1:
            largest, smallest = max(found)[0], min(found)[0]
            for amount, number in found:
                table[number, at] = float(amount == largest)
                if at == 13:
                    table[number, 14] = float(amount == smallest)
