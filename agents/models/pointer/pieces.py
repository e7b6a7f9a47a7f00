"""Pieces that a text is made of: spans of goal and pages, constants, and values that are computed from rows."""

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from agents.models.pointer.goals import Goal, date_of, read_goal, words_of
from agents.models.pointer.pages import Control, Line, read_page

_MONEY = r"\$\d[\d,]*(?:\.\d\d)?"
_DURATION = r"\d+h \d+min|\d+ ?min|\d+h"
_PARTS = re.compile(
    rf"{_MONEY}|{_DURATION}|\d[\d,.]* k?m\b|https?://[^\s\"<>]+|[\w.+-]+@[\w.-]*\w(?::[\w./-]+)?|"
    r"\d\d:\d\d-\d\d:\d\d|\d+(?:[.,-]\d+)*|@?[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)+"
)
_NAMES = re.compile(r"[A-Z][\w'.-]*(?: (?:(?:of|the|and|de|&) )?[A-Z][\w'.-]*)+|[A-Z][\w'-]+")
_BREAK = re.compile(r": | - |; |, | \| | / | \(|\) |\)$| by | in |\. |\n")
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_TIME = re.compile(r"(?:(\d+)h ?)?(?:(\d+) ?min)?")
_IN_BRACKETS = re.compile(r" \(([^()]*)\)")
_BEHIND_COMMA = re.compile(r", (\d+)")
_LONGEST_TEXT = 300
_LONGEST_LIST = 1_200  # characters
_MOST_COMPUTED = 400  # pieces of one page
_MOST = 2_000  # other pieces of one page
_MOST_COPIED = 500_000  # characters of a large field's beginnings and ends, which without a limit grow with the square


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


@lru_cache(maxsize=50_000)
def shape_of(text: str) -> str:
    """Return what a text looks like: one of some dozen kinds.

    >>> [shape_of(text) for text in ("$5.20", "14 min", "12", "Ann Lee", "blue")]
    ['money', 'duration', 'number', 'names', 'word']
    """
    if not text:
        return "empty"
    if re.fullmatch(_MONEY, text):
        return "money"
    if re.fullmatch(_DURATION, text):
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
    if match := re.fullmatch(_DURATION, text.strip()):
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
    if re.fullmatch(_DURATION, like):
        hours, minutes = divmod(round(amount), 60)
        return f"{hours}h {minutes}min" if hours else f"{minutes} min"
    return f"{round(amount):,}" if "," in like else str(round(amount)) if amount == round(amount) else f"{amount:.2f}"


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
        line = page.lines[control.line]
        if control.value and control.use in ("text", "area"):
            pieces.append(
                Piece(control.value, "field", "value", control.label, "", control.label, "", line.heading, "", control.line)
            )
            if control.use == "area":
                pieces += _area_pieces(control, line)
        if control.use == "select" and 1 < len(control.options) <= 20:
            for way, options in (("all options", control.options), ("options but the first", control.options[1:])):
                joined = ", ".join(option.text for option in options)
                pieces.append(Piece(joined, "field", way, control.label, "", control.label, "", line.heading, "", control.line))
        for option in control.options:
            if option.chosen:
                pieces.append(
                    Piece(option.text, "field", "chosen", control.label, "", control.label, "", line.heading, "", control.line)
                )
    return tuple(pieces[:_MOST])


def _area_pieces(control: Control, line: Line) -> list[Piece]:
    """Return the text of a large field up to the end of each tag in it, and from the beginning of each, of the first tags."""
    text, pieces = control.value, []
    tags = islice(re.finditer(r"<[^<>]*>", text), max(_MOST_COPIED // max(len(text), 1), 1))
    for match in tags:
        head, tail = text[: match.end()], text[match.start() :]
        named = match.group().strip("<>/")
        pieces.append(Piece(head, "field", "up to", named, "", control.label, "", line.heading, "", control.line))
        pieces.append(Piece(tail, "field", "from", named, "", control.label, "", line.heading, "", control.line))
    return pieces


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


def _is_header(line: Line) -> bool:
    return (
        bool(line.columns)
        and tuple(" ".join(part.text for part in line.segments if part.column == place) for place in range(len(line.columns)))
        == line.columns
    )


def _list_cells(line: Line) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the first texts of a line of a list, and what kind each is, by which lines are grouped."""
    cells: list[str] = []
    kinds: list[str] = []
    for segment in line.segments:
        if segment.text in ("Add to Cart", ","):
            continue
        kinds.append("link" if segment.is_control else "text")
        cells.append(segment.text)
        if len(kinds) == 3:
            break
    if len(kinds) == 1 and kinds[0] == "text":
        head, sep, tail = line.text.partition(": ")
        if sep:
            return (line.text, head, tail), ("line", "head", "tail")
        for pattern, kind in ((_IN_BRACKETS, "in brackets"), (_BEHIND_COMMA, "behind comma")):
            match = pattern.search(line.text, 1)
            if match and "\n" not in line.text[: match.start()]:
                return (line.text[: match.start()], match[1]), ("line", kind)
    return tuple(cells), tuple(kinds)


class Condition(NamedTuple):
    """Which rows of a table are meant: the name of the test, and the text of the goal or column that it is about."""

    test: str
    about: str
    rows: tuple[Row, ...]


def _conditions(table: Table, goal: Goal) -> list[Condition]:
    """Return the tests that the goal suggests for the rows of a table, without those that no row meets or that repeat another."""
    rows = table.rows
    found = [Condition("all", "", rows)]
    named = tuple(
        row for row in rows if any(len(word) > 1 and word in goal.names for word in row.words) and _holds_name(row, goal)
    )
    found.append(Condition("names", "", named))
    full = tuple(row for row in named if _holds_name(row, goal, words=2))
    found.append(Condition("full names", "", full))
    monthly = tuple(row for row in rows if (date := _row_date(row)) and date[:2] in goal.months)
    found.append(Condition("month", "", monthly))
    for place, column in enumerate(table.columns):
        cells = [row.cells[place] if place < len(row.cells) else "" for row in rows]
        for value in dict.fromkeys(cells):
            plain = " ".join(words_of(value))
            if plain and len(value) < 40 and f" {plain} " in goal.lowered:
                same = tuple(row for row, cell in zip(rows, cells, strict=True) if cell == value)
                found.append(Condition("equal", column, same))
                found.append(Condition("month and equal", column, tuple(row for row in same if row in monthly)))
        amounts = [amount_of(cell) if cell else None for cell in cells]
        if sum(amount is not None for amount in amounts) >= max(1, len(rows) // 2):
            for number in goal.numbers[:4]:
                for test, meets in _COMPARISONS:
                    kept = tuple(
                        row for row, amount in zip(rows, amounts, strict=True) if amount is not None and meets(amount, number)
                    )
                    found.append(Condition(test, column, kept))
                if number >= 1000 and number % 10 == 0:
                    kept = tuple(
                        row
                        for row, amount in zip(rows, amounts, strict=True)
                        if amount is not None and number <= amount < number + 10
                    )
                    found.append(Condition("decade", column, kept))
            found.append(
                Condition(
                    "negative",
                    column,
                    tuple(row for row, amount in zip(rows, amounts, strict=True) if amount is not None and amount < 0),
                )
            )
    for number in goal.numbers[:4]:
        if 1 < number < len(rows) or number == 1:
            found.append(Condition("first", "", rows[: int(number)]))
    unique: dict[tuple[str, str, tuple[Row, ...]], Condition] = {}
    for condition in found:
        if condition.rows:
            unique.setdefault((condition.test.partition(" ")[0], condition.about, condition.rows), condition)
    return list(unique.values())


_COMPARISONS: tuple[tuple[str, Callable[[float, float], bool]], ...] = (
    ("at most", lambda amount, number: amount <= number),
    ("below", lambda amount, number: amount < number),
    ("at least", lambda amount, number: amount >= number),
    ("above", lambda amount, number: amount > number),
)


def _holds_name(row: Row, goal: Goal, words: int = 1) -> bool:
    """Whether a capitalised run of the goal of at least so many words, or a number, stands in a row."""
    plain = f" {' '.join(words_of(row.text))} "
    return any(f" {name} " in plain for name in goal.names_as_said if name.count(" ") >= words - 1)


def _row_date(row: Row) -> tuple[int, int, int] | None:
    for cell in row.cells:
        if found := date_of(cell):
            return found
    return None


_SEPARATORS = ((", ", "commas"), ("; ", "semicolons"), ("\n", "lines"), ("\n- ", "bullets"))


@lru_cache(maxsize=512)
def computed_pieces(goal_text: str, text: str) -> tuple[Piece, ...]:
    """Return what can be computed from the rows of one page: counts, sums, and lists of a column."""
    goal = read_goal(goal_text)
    pieces: list[Piece] = []
    for table in tables_of(text):
        for condition in _conditions(table, goal):
            rows = condition.rows
            about = condition.about
            pieces.append(Piece(str(len(rows)), "count", condition.test, about, "", "", "", table.heading, ""))
            if len(rows) < 2 and condition.test == "all":
                continue
            for place, column in enumerate(table.columns):
                cells = [row.cells[place] for row in rows if place < len(row.cells) and row.cells[place]]
                if not cells or len(cells) != len(rows):
                    continue
                amounts = [amount_of(cell) for cell in cells]
                is_numeric = all(amount is not None for amount in amounts) and len(cells[0]) < 24 and not date_of(cells[0])
                if is_numeric and not cells[0].startswith("0000"):
                    total = sum(amount or 0.0 for amount in amounts)
                    pieces.append(
                        Piece(write_like(total, cells[0]), "sum", condition.test, about, "", "", "", table.heading, column)
                    )
                elif len(rows) <= 40 and len(cells[0]) < 80:
                    for separator, named in _SEPARATORS:
                        joined = separator.join(cells)
                        if len(joined) <= _LONGEST_LIST and (len(cells) > 1 or separator == ", "):
                            pieces.append(
                                Piece(joined, f"list {named}", condition.test, about, "", "", "", table.heading, column)
                            )
    return tuple(dict.fromkeys(pieces))[:_MOST_COMPUTED]


def pieces_across(goal_text: str, texts: tuple[str, ...]) -> tuple[Piece, ...]:
    """Return what can be computed from several pages, the newest last: sums of two times, differences of sums, counts over pages."""
    pieces: list[Piece] = []
    own = [[piece for piece in computed_pieces(goal_text, text) if piece.source == "sum"] for text in texts]
    newest = own[-1] if own else []
    for earlier in own[:-1]:
        for one in newest:
            for other in earlier:
                if (
                    (one.column, one.way, one.left) == (other.column, other.way, other.left)
                    and one.text[:1] == other.text[:1]
                    and one.way != "all"
                ):
                    a, b = amount_of(one.text) or 0.0, amount_of(other.text) or 0.0
                    pieces.append(
                        Piece(
                            write_like(abs(a - b), one.text),
                            "difference",
                            one.way,
                            one.left,
                            "",
                            "",
                            "",
                            one.heading,
                            one.column,
                        )
                    )
    times = [
        piece for text in dict.fromkeys(texts) for piece in page_pieces(text)
        if piece.way == "whole" and shape_of(piece.text) in ("duration", "money") and piece.number >= 0 and not piece.column
    ][-12:]  # fmt: skip
    for place, one in enumerate(times):
        for other in times[:place]:
            total = (amount_of(one.text) or 0.0) + (amount_of(other.text) or 0.0)
            if one.text[:1].isdigit() == other.text[:1].isdigit():
                pieces.append(Piece(write_like(total, one.text), "sum of two", shape_of(one.text), one.above, other.above))
    counts: dict[tuple[str, str], int] = {}
    for text in dict.fromkeys(texts):
        for piece in computed_pieces(goal_text, text):
            if piece.source == "count" and piece.way != "all":
                key = (piece.way, piece.left)
                counts[key] = counts.get(key, 0) + int(piece.text)
    pieces += [Piece(str(count), "count over pages", way, left) for (way, left), count in counts.items()]
    return tuple(dict.fromkeys(pieces))
