"""Pieces that a text is made of: spans of a page and of what its fields hold. Those of the goal are in `goals`."""

import re
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from agents.models.pointer.amounts import DURATION, MONEY
from agents.models.pointer.pages import Control, Line, read_page

_PARTS = re.compile(
    rf"{MONEY}|{DURATION}|\d[\d,.]* k?m\b|https?://[^\s\"<>]+|[\w.+-]+@[\w.-]*\w(?::[\w./-]+)?|"
    r"\d\d:\d\d-\d\d:\d\d|\d+(?:[.,-]\d+)*|@?[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)+"
)
_NAMES = re.compile(r"[A-Z][\w'.-]*(?: (?:(?:of|the|and|de|&) )?[A-Z][\w'.-]*)+|[A-Z][\w'-]+")
_BREAK = re.compile(r": | - |; |, | \| | / | \(|\) |\)$| by | in |\. |\n")
_LONGEST_TEXT = 300
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
