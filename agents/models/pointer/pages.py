"""Pages parsed from the env's simplified HTML: controls, lines, tables and text pieces, and features of the lines.

A piece is a text from the page that an action may use as its argument.
"""

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
EXTREME_FEATURES = 18
GOAL_VALUE_FEATURES = 9

_USE_BY_TAG: dict[str, Use] = {"a": "link", "button": "button", "textarea": "area"}
_TAG = re.compile(r"<([^<>]*)>")
_ATTRIBUTE = re.compile(r'(?<![a-z-])([a-z-]+)="([^"]*)"')
_SCROLL_NOTE = re.compile(r"\[\d+ more lines (?:above|below)\]")
_TAB_PATTERN = re.compile(r"\[(\d+)\](\*?) (.*)")
_IN_BRACKETS = re.compile(r" \(([^()]*)\)")
_AFTER_COMMA = re.compile(r", (\d+)")
_PARTS = re.compile(
    rf"{MONEY}|{DURATION}|\d[\d,.]* k?m\b|https?://[^\s\"<>]+|[\w.+-]+@[\w.-]*\w(?::[\w./-]+)?|"
    r"\d\d:\d\d-\d\d:\d\d|\d+(?:[.,-]\d+)*|@?[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)+"
)
_NAMES = re.compile(r"[A-Z][\w'.-]*(?: (?:(?:of|the|and|de|&) )?[A-Z][\w'.-]*)+|[A-Z][\w'-]+")
_DELIMITER = re.compile(r": | - |; |, | \| | / | \(|\) |\)$| by | in |\. |\n")
_MAX_PIECE_LENGTH = 300
_MAX_PIECES = 2_000  # pieces of one page
_MAX_COPIED = (
    500_000  # characters in the prefixes and suffixes of one field, whose total length is quadratic in that of the field
)
_MONEY = re.compile(r"\$(\d[\d,]*(?:\.\d\d)?)")
_COUNT = re.compile(r"\d\.\d \((\d+)\)")  # a rating and the number of ratings
_POINTS = re.compile(r"(-?(?<!\d)\d+) points?\b")
_MAX_LINE_LENGTH = 160  # characters of a line adjacent to that of a control


class Control(NamedTuple):
    """An interactive element of a page."""

    use: Use
    element: str  # its name in actions
    label: str
    line: int  # index of its line
    value: str = ""  # content of a text field
    is_checked: bool = False
    is_disabled: bool = False
    options: tuple[tuple[str, bool], ...] = ()  # of a drop-down list: text, and whether it is selected


class TextSegment(NamedTuple):
    """A run of text between two tags. `column` is the index of its table column, or -1 outside of tables."""

    text: str
    is_control: bool
    column: int


class PageLine(NamedTuple):
    """One line of a page."""

    text: str  # without tags
    segments: tuple[TextSegment, ...]
    is_row: bool
    is_heading: bool
    columns: tuple[str, ...]  # column headers of the row's table
    heading: str  # the nearest heading above
    first_control: int  # index of its first control in the page's controls
    controls: int  # number of controls


class ObservedPage(NamedTuple):
    """A page parsed from its observation."""

    url: str
    tabs: tuple[tuple[str, bool], ...]  # title, and whether the tab is active
    notices: tuple[str, ...]  # messages of the browser
    lines: tuple[PageLine, ...]
    controls: tuple[Control, ...]  # in page order
    has_above: bool  # whether lines above the window are hidden
    has_below: bool
    title: str  # its first h1 heading, or ""


@lru_cache(maxsize=1_024)
def parse_page(text: str) -> ObservedPage:
    """Parse the env's text of a page, in which elements are named by id or by label."""
    url = ""
    tabs: tuple[tuple[str, bool], ...] = ()
    notices: list[str] = []
    lines: list[PageLine] = []
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
            tab_matches = [_TAB_PATTERN.match(part) for part in raw[6:].split(" | ")]
            tabs = tuple((match.group(3), bool(match.group(2))) for match in tab_matches if match)
            continue
        if raw.startswith("Browser: ") and not lines:
            notices.append(raw[9:])
            continue
        if _SCROLL_NOTE.fullmatch(raw):
            has_above, has_below = has_above or raw.endswith("above]"), has_below or raw.endswith("below]")
            continue
        while raw.count("<textarea") > raw.count("</textarea>"):
            next_line = next(rest, None)
            if next_line is None:
                break
            raw += "\n" + next_line
        first = len(controls)
        segments, is_row, is_heading = _parse_line(raw, len(lines), controls, counts)
        if is_row and "<th" in raw:
            columns = _column_texts(segments, 1 + max((part.column for part in segments), default=-1))
        elif not is_row:
            columns = ()
        line_text = " ".join(part.text for part in segments)
        if is_heading:
            if not title and raw.startswith("<h1"):
                title = line_text
            heading = line_text
        lines.append(PageLine(line_text, segments, is_row, is_heading, columns, heading, first, len(controls) - first))
    return ObservedPage(url, tabs, tuple(notices), tuple(lines), tuple(controls), has_above, has_below, title)


def _parse_line(
    raw: str, line_index: int, controls: list[Control], counts: dict[str, int]
) -> tuple[tuple[TextSegment, ...], bool, bool]:
    """Return the segments of a line, whether it is a table row, and whether it is a heading.

    Appends the line's controls to `controls`. `counts` holds the number of earlier controls with each label and is updated.
    """
    parts = _TAG.split(raw)
    is_row, is_heading = raw.startswith("<tr>"), raw.startswith("<h") and raw[2:3].isdigit()
    segments: list[TextSegment] = []
    column, inside = -1, ""
    attributes: dict[str, str] = {}
    names: list[str] = []
    options: list[tuple[str, bool]] = []
    for index, part in enumerate(parts):
        if index % 2 == 0:
            text = part.replace("&lt;", "<")
            if inside in ("a", "button", "textarea"):
                is_area = inside == "textarea"
                label = attributes.get("label", text.strip()) if is_area else text.strip()
                element, value = _control_name(attributes | {"label": label}, counts), text if is_area else ""
                controls.append(Control(_USE_BY_TAG[inside], element, label, line_index, value, False, "disabled" in names))
                if not is_area:
                    segments.append(TextSegment(text.strip(), True, column))
                    attributes = {}
                inside = ""
            elif inside == "option":
                options.append((text, "selected" in names))
                inside = ""
            elif text.strip():
                segments.append(TextSegment(text.strip(), False, column))
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
            element = _control_name(attributes, counts)
            disabled = "disabled" in attributes.get("flags", "").split()
            label = attributes.get("label", "")
            controls.append(Control("select", element, label, line_index, "", False, disabled, tuple(options)))
        elif name == "input":
            input_attributes, flags = _attributes(more), _ATTRIBUTE.sub("", more).split()
            kind = input_attributes.get("type", "text")
            use: Use = "box" if kind in ("checkbox", "radio") else "text"
            is_off = "disabled" in flags or "readonly" in flags
            label = input_attributes.get("label", "")
            controls.append(
                Control(
                    use,
                    _control_name(input_attributes, counts),
                    label,
                    line_index,
                    input_attributes.get("value", ""),
                    "checked" in flags,
                    is_off,
                )
            )
        elif name == "img":
            input_attributes = _attributes(more)
            if input_attributes.get("alt"):
                segments.append(TextSegment(input_attributes["alt"], False, column))
    return tuple(segments), is_row, is_heading


def _control_name(attributes: dict[str, str], counts: dict[str, int]) -> str:
    """Return the name of a control in actions: its id, or its label, numbered if an earlier control has the same label."""
    if "id" in attributes:
        return attributes["id"]
    label = attributes.get("label", "")
    counts[label] = counts.get(label, 0) + 1
    return label if counts[label] == 1 else f"{label} [{counts[label]}]"


def _attributes(text: str) -> dict[str, str]:
    return {name: value.replace("&quot;", '"').replace("&lt;", "<") for name, value in _ATTRIBUTE.findall(text)}


def path_of(url: str) -> str:
    """Return the path of a URL, with numeric parts replaced by "0"."""
    return "/".join("0" if part.isdigit() else part for part in urlsplit(url).path.split("/"))


class TableRow(NamedTuple):
    """A row of a table, or a line of a list."""

    cells: tuple[str, ...]  # text in each column
    text: str
    words: frozenset[str]
    line_index: int


class PageTable(NamedTuple):
    """Rows with the same columns, and the nearest heading above them."""

    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    heading: str


@lru_cache(maxsize=512)
def tables_of(text: str) -> tuple[PageTable, ...]:
    """Return the tables of a page, followed by its lists.

    A list is a group of at least two lines under one heading whose segments have the same kinds.
    """
    page = parse_page(text)
    tables: list[PageTable] = []
    rows: list[TableRow] = []
    columns: tuple[str, ...] = ()
    heading = ""
    groups: dict[tuple[str, tuple[str, ...]], list[TableRow]] = {}
    for line_index, line in enumerate((*page.lines, None)):
        if rows and (line is None or not line.is_row or line.columns != columns or _is_header(line)):
            tables.append(PageTable(columns, tuple(rows), heading))
            rows = []
        if line is None:
            break
        if line.is_row and not _is_header(line):
            columns, heading = line.columns, line.heading
            cells = [""] * len(columns)
            for segment in line.segments:
                if 0 <= segment.column < len(cells):
                    cells[segment.column] = f"{cells[segment.column]} {segment.text}".strip()
            rows.append(TableRow(tuple(cells), line.text, frozenset(words_of(line.text)), line_index))
        elif line.segments and not line.is_heading and not line.is_row:
            list_cells, kinds = _list_row(line)
            groups.setdefault((line.heading, kinds), []).append(
                TableRow(list_cells, line.text, frozenset(words_of(line.text)), line_index)
            )
    for (heading_above, kinds), list_rows in groups.items():
        if len(list_rows) >= 2:
            width = min(len(row.cells) for row in list_rows)
            tables.append(PageTable(kinds[:width], tuple(list_rows), heading_above))
    return tuple(tables)


def _column_texts(segments: Sequence[TextSegment], count: int) -> tuple[str, ...]:
    return tuple(" ".join(part.text for part in segments if part.column == column) for column in range(count))


def _is_header(line: PageLine) -> bool:
    return bool(line.columns) and _column_texts(line.segments, len(line.columns)) == line.columns


def _list_row(line: PageLine) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return up to three texts of a line as the cells of a list row, and their kinds, which are its columns."""
    cells: list[str] = []
    kinds: list[str] = []
    for segment in line.segments:
        if segment.text in ("Add to Cart", ","):
            continue
        kinds.append("link" if segment.is_control else "text")
        cells.append(segment.text)
    cells, kinds = cells[:3], kinds[:3]
    if len(kinds) == 1 and kinds[0] == "text":
        head, separator, tail = line.text.partition(": ")
        if separator:
            return (line.text, head, tail), ("line", "head", "tail")
        for pattern, kind in ((_IN_BRACKETS, "in brackets"), (_AFTER_COMMA, "behind comma")):
            match = pattern.search(line.text, 1)
            if match and "\n" not in line.text[: match.start()]:
                return (line.text[: match.start()], match[1]), ("line", kind)
    return tuple(cells), tuple(kinds)


class Piece(NamedTuple):
    """A text that an action may use as its argument, with its source and context."""

    text: str
    source: str  # goal, page, memory, field, constant, or the name of a computation
    form: str  # how it was extracted, for example "whole" or "figure"
    left: str = ""  # text before it in its segment or in the goal
    right: str = ""  # text after it
    line: str = ""  # text of its line
    above: str = ""  # text of the line above
    heading: str = ""
    column: str = ""  # header of its table column
    line_index: int = -1  # -1 for a text without a line


@lru_cache(maxsize=20_000)
def _split_segment(text: str) -> tuple[tuple[str, str, str, str], ...]:
    """Return the pieces of a segment, each as (text, form, text before it, text after it)."""
    parts: dict[str, tuple[str, str, str, str]] = {}

    def add_part(part: str, form: str, start: int, end: int) -> None:
        left, right = text[max(0, start - 30) : start], text[end : end + 20]
        if part:
            parts.setdefault(part, (part, form, left, right))

    add_part(text, "whole", 0, len(text))
    for match in _PARTS.finditer(text):
        add_part(match.group(), "figure", *match.span())
        if " k" in match.group() or match.group().endswith((" m", "km")):
            add_part(match.group().partition(" ")[0], "bare figure", match.start(), match.start() + 1)
        if match.group().startswith("@"):
            add_part(match.group()[1:], "figure", match.start() + 1, match.end())
    start = 0
    for match in _DELIMITER.finditer(text):
        add_part(text[start : match.start()].strip(), "part", start, match.start())
        add_part(text[: match.start()].strip(), "head", 0, match.start())
        if match.group() in (": ", ", ", " ("):
            add_part(text[match.end() :].strip(), "tail", match.end(), len(text))
        start = match.end()
    if start:
        add_part(text[start:].strip(), "part", start, len(text))
    for match in _NAMES.finditer(text):
        add_part(match.group().rstrip("."), "name", *match.span())
    first_word, _, remainder = text.partition(" ")
    if remainder and first_word.isalpha():
        add_part(remainder, "but the first word", len(first_word) + 1, len(text))
    bare = text.lstrip("@#").strip()
    add_part(bare, "part", len(text) - len(bare), len(text))
    return tuple(parts.values())


@lru_cache(maxsize=512)
def page_pieces(text: str) -> tuple[Piece, ...]:
    """Return the pieces of a page: parts of its URL, of its lines, and of the contents of its fields."""
    page = parse_page(text)
    pieces: list[Piece] = []
    url = page.url.partition("?")[0]
    pieces.append(Piece(url, "page", "address"))
    pieces.append(Piece("/" + url.partition("://")[2].partition("/")[2], "page", "path"))
    pieces.append(Piece(url.rstrip("/").rpartition("/")[2], "page", "last part"))
    above = ""
    for line_index, line in enumerate(page.lines):
        line_text = line.text
        for index, segment in enumerate(line.segments):
            if len(segment.text) > 2 * _MAX_PIECE_LENGTH:
                continue
            column = line.columns[segment.column] if 0 <= segment.column < len(line.columns) else ""
            previous = line.segments[index - 1].text if index else ""
            following = line.segments[index + 1].text if index + 1 < len(line.segments) else ""
            for part, form, left, right in _split_segment(segment.text):
                pieces.append(
                    Piece(
                        part, "page", f"link {form}" if segment.is_control else form, left or previous[-30:], right or following[:20],
                        line_text, above, line.heading, column, line_index,
                    )
                )  # fmt: skip
        if len(line.segments) > 1 and not line.is_row and not any(part.is_control for part in line.segments[1:]):
            pieces.append(Piece(line_text, "page", "line", "", "", line_text, above, line.heading, "", line_index))
        above = line_text
    for control in page.controls:
        value, parts = control.value, list[tuple[str, str, str]]()
        if value and control.use in ("text", "area"):
            parts.append((value, "value", control.label))
        if (
            value and control.use == "area"
        ):  # also up to the end of each of the first tags in it, and from the beginning of each
            for match in islice(re.finditer(r"<[^<>]*>", value), max(_MAX_COPIED // len(value), 1)):
                named = match.group().strip("<>/")
                parts += [(value[: match.end()], "up to", named), (value[match.start() :], "from", named)]
        if control.use == "select" and 1 < len(control.options) <= 20:
            for form, options in (("all options", control.options), ("options but the first", control.options[1:])):
                parts.append((", ".join(option for option, _ in options), form, control.label))
        parts += [(option, "chosen", control.label) for option, is_chosen in control.options if is_chosen]
        heading = page.lines[control.line].heading
        pieces += [
            Piece(part, "field", form, left, "", control.label, "", heading, "", control.line) for part, form, left in parts
        ]
    return tuple(pieces[:_MAX_PIECES])


def goal_value_features(goal: Goal, page: ObservedPage) -> Floats:
    """Return features that compare the dates and amounts of each line with those of the goal, shape (lines, GOAL_VALUE_FEATURES)."""
    table = numpy.zeros((len(page.lines), GOAL_VALUE_FEATURES), numpy.float32)
    named_amounts: list[tuple[float, int]] = []
    largest = max(goal.numbers, default=0.0)
    best: tuple[float, int] | None = None
    first_month = True
    for line_index, line in enumerate(page.lines):
        date = date_of(line.text) if goal.months or goal.days else None
        if date:
            table[line_index, 0] = date[:2] in goal.months
            table[line_index, 1] = date in goal.days
            if date[:2] in goal.months and first_month:
                table[line_index, 2], first_month = 1.0, False
        dollar = line.text.rfind("$")
        amount = amount_of(line.text[dollar:].split(" ")[0]) if dollar >= 0 else None
        if amount is not None and goal.names and not goal.names.isdisjoint(words_of(line.text)):
            named_amounts.append((amount, line_index))
        if amount is not None and largest:
            table[line_index, 3] = amount <= largest
            table[line_index, 4] = amount in goal.numbers
            if amount <= largest and (best is None or amount > best[0]):
                best = (amount, line_index)
        if line.is_row and goal.numbers:
            cells = [amount_of(segment.text) for segment in line.segments if segment.column >= 0]
            table[line_index, 5] = any(cell is not None and cell in goal.numbers for cell in cells)
    if best:
        table[best[1], 6] = 1.0
    for amount, line_index in named_amounts:
        table[line_index, 7] = float(amount == max(named_amounts)[0])
        table[line_index, 8] = float(amount == min(named_amounts)[0])
    return table


def goal_presence_features(goal: Goal, page: ObservedPage) -> tuple[float, float, float, float]:
    """Return four features of the goal's presence on a page.

    They are: share of the goal's name words on the page, largest share on one line, whether a line contains a whole name, and whether a
    line contains a quotation.
    """
    found_names: set[str] = set()
    most_in_line = 0
    for line in page.lines:
        line_names = goal.names.intersection(words_of(line.text))
        found_names |= line_names
        most_in_line = max(most_in_line, len(line_names))
    names = [goal.text[start:end] for start, end in goal.runs if end - start > 6]
    count = max(len(goal.names), 1)
    return (
        len(found_names) / count,
        most_in_line / count,
        float(any(name in line.text for line in page.lines for name in names)),
        float(any(quotation in line.text for quotation in goal.quotations for line in page.lines)),
    )


def adjacent_lines(page: ObservedPage, line_index: int) -> tuple[str, str]:
    """Return the text of the line above and of the four lines below, truncated."""
    above = page.lines[line_index - 1].text if line_index else ""
    below = " ".join(line.text for line in page.lines[line_index + 1 : line_index + 5])
    return above[:_MAX_LINE_LENGTH], below[: 2 * _MAX_LINE_LENGTH]


def extreme_features(page: ObservedPage, tables: Sequence[PageTable]) -> Floats:
    """Return features of each line's rank in its table, shape (lines, EXTREME_FEATURES).

    They contain the position of the row, and whether its amounts and dates are the largest or smallest of the table.
    """
    table = numpy.zeros((max(len(page.lines), 1), EXTREME_FEATURES), numpy.float32)
    for page_table in tables:
        line_indices = [row.line_index for row in page_table.rows]
        count = len(line_indices)
        for rank, line_index in enumerate(line_indices):
            table[line_index, 5] = float(rank == count - 1)
            if rank < 5:
                table[line_index, rank] = 1.0
            table[line_index, 6] = min(count, 20) / 20
        if count < 2:
            continue
        is_first = True
        for column in range(len(page_table.columns)):
            cells = [row.cells[column] for row in page_table.rows if column < len(row.cells)]
            amounts = [amount_of(cell) for cell in cells if cell[:1] in "$0123456789-("]
            row_amounts = [amount for amount in amounts if amount is not None]
            if len(row_amounts) < count or len(set(row_amounts)) < 2:
                continue
            largest, smallest = max(row_amounts), min(row_amounts)
            for line_index, amount in zip(line_indices, row_amounts, strict=True):
                feature = 7 if is_first else 9
                table[line_index, feature] = max(table[line_index, feature], float(amount == largest))
                table[line_index, feature + 1] = max(table[line_index, feature + 1], float(amount == smallest))
            is_first = False
        dates = [next(filter(None, map(date_of, row.cells)), None) for row in page_table.rows]
        row_dates = [date for date in dates if date]
        if row_dates:
            newest, oldest = max(row_dates), min(row_dates)
            for line_index, date in zip(line_indices, dates, strict=True):
                table[line_index, 11] = float(date == newest)
                table[line_index, 12] = float(date == oldest)
    _mark_extreme_figures(page, table)
    return table


def _mark_extreme_figures(page: ObservedPage, table: Floats) -> None:
    """Mark the lines with controls that have the page's largest price, number of ratings or points, or its smallest price."""
    for feature, pattern in ((13, _MONEY), (15, _COUNT), (16, _POINTS)):
        figures: list[tuple[float, int]] = []
        for line_index, line in enumerate(page.lines):
            if line.controls and " - $" not in line.text and (match := pattern.search(line.text)):
                figures.append((float(match[1].replace(",", "")), line_index))
        if len(figures) > 1:
            largest, smallest = max(figures)[0], min(figures)[0]
            for amount, line_index in figures:
                table[line_index, feature] = float(amount == largest)
                if feature == 13:
                    table[line_index, 14] = float(amount == smallest)
