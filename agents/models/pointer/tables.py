"""Tables of a page, and its lists of lines that are built alike."""

import re
from functools import lru_cache
from typing import NamedTuple

from agents.models.pointer.goals import words_of
from agents.models.pointer.pages import Line, read_page

_IN_BRACKETS = re.compile(r" \(([^()]*)\)")
_BEHIND_COMMA = re.compile(r", (\d+)")


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
