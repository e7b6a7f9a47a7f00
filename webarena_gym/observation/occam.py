"""The observation style of AgentOccam (Yang et al., arXiv 2410.13825, section 3) and its summaries of earlier pages.

A page is an outline: one block per line, indented by the headings above it. Adjacent texts are merged. Images, and texts
that repeat the name of a neighbouring element, are dropped. Tables are written as Markdown.

In its reply, an agent lists the relevant elements of a page, its pivotal nodes, after `OBSERVATION HIGHLIGHT:`. Earlier pages
in the history are reduced to their pivotal nodes with ancestors, siblings and descendants.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from typing import NamedTuple

from lxml.html import HtmlElement

from webarena_gym.observation.writers import TreeWalker, Writer, role_and_properties
from webarena_gym.pages.dom import is_excluded
from webarena_gym.pages.reading import SPACE, inner_controls, is_control, single_line, sort_order, visible_text
from webarena_gym.texts import cut

HIGHLIGHT = "OBSERVATION HIGHLIGHT:"
"""Marker before the numbers or labels of pivotal nodes in a reply."""

_OMITTED_PROPERTIES = ("expanded: ", "pressed: ", "value: ''")  # prefixes; the first is omitted by the paper's code, too
_MAX_PIVOTS = 100  # numbers and labels read from a reply
_MAX_LINES = 30  # lines of an earlier page; the paper's code keeps at most 30 nodes
_MAX_SUMMARY = 4_000  # characters of an earlier page
_ADDRESSED = re.compile(r"(?<=[\w-]) \[(\d+)\] '")
_HEADERS = ("URL: ", "Tabs: ", "RootWebArea ")
_HIGHLIGHTED = re.compile(rf"{HIGHLIGHT}\**", re.IGNORECASE)
_SECTION = re.compile(r"[*#]*[A-Z][A-Z ]*:|<|```")


class _Piece(NamedTuple):
    """A part of a block: a text, or an element with its name."""

    text: str
    name: str = ""
    is_text: bool = False


class OccamWriter(Writer):
    """Writes an outline: `link [12] 'Blue Bag' text '$3.00'`."""

    def __init__(self, max_text: int | None = None) -> None:
        super().__init__(max_text)
        self._pieces: list[_Piece] = []  # of the current block
        self._levels: list[int] = []  # heading levels above the current block

    def text(self, text: str) -> None:
        self._pieces.append(_Piece(self._clip(text), is_text=True))

    def image(self, alt: str) -> None:
        """Write nothing."""

    def control(self, element: HtmlElement, name: str, number: str | None) -> None:
        role, properties = role_and_properties(element)
        mark = "" if number is None else f" [{number}]"
        relevant = [text for text in properties if not text.startswith(_OMITTED_PROPERTIES)]
        self._pieces.append(_Piece(" ".join([f"{role}{mark} '{name}'", *relevant]), name))

    def heading(self, element: HtmlElement, walker: TreeWalker) -> None:
        if self.depth:
            walker.visit_children(element)
            return
        self.flush()
        title = self._clip(visible_text(element, marks_struck=True))
        for control in inner_controls(element):
            walker.write_control(control)
        if title and title not in [piece.name for piece in self._pieces]:
            self._pieces.insert(0, _Piece(f"heading '{title}'"))
        if self._pieces:
            level = int(element.tag[1])
            while self._levels and self._levels[-1] >= level:
                self._levels.pop()
            self.flush()
            self._levels.append(level)

    def row(self, element: HtmlElement, walker: TreeWalker) -> None:
        self.flush()
        self.depth = 1
        cells, tags = list[str](), set[str]()
        for cell, repeated in walker.row_cells(element):
            if cell is None:
                cells.append(repeated.replace("|", "\\|"))
                continue
            is_cell = cell.tag in ("td", "th")
            if is_cell and is_excluded(cell):
                continue
            if not is_cell or is_control(cell):
                walker.visit(cell)
            else:
                walker.visit_children(cell)
            if cell.tag == "th" and (order := sort_order(cell)):
                self.text(f" (sorted: {single_line(order)})")
            text = self._pop_block(is_cell=True)
            if is_cell or text:
                cells.append(text)
                tags.add(cell.tag)
        self.depth = 0
        if any(cells):
            self._write(f"| {' | '.join(cells)} |")
            if tags == {"th"}:
                self._write(f"| {' | '.join('---' for _ in cells)} |")

    def flush(self) -> None:
        if self.depth:
            self.text(" ")
        elif self._pieces and (text := self._pop_block()):
            self._write(text)

    def _pop_block(self, *, is_cell: bool = False) -> str:
        """Return the current block as one line and start a new block."""
        pieces, self._pieces = self._pieces, []
        names = {_normalize(piece.name) for piece in pieces if not piece.is_text}
        parts = []
        for is_text, group in groupby(pieces, lambda piece: piece.is_text):
            if not is_text:
                parts += [piece.text for piece in group]
            elif (text := SPACE.sub(" ", "".join(piece.text for piece in group)).strip()) and _normalize(text) not in names:
                parts.append(text if is_cell else f"text '{text}'")
        line = " ".join(parts)
        return line.replace("|", "\\|") if is_cell else line

    def _write(self, line: str) -> None:
        self.lines.append("\t" * (len(self._levels) + 1) + line)


def pivotal_text(page: str, reply: str) -> str:
    r"""Return the summary of an earlier page: its header and the pivotal nodes named in the reply.

    A line with a pivotal node is kept with its descendants (the lines indented below it), its siblings (the rest of the line),
    its ancestors (the headings above it) and, in a table, the header row.

    Args:
        page: observation text in the style "occam".
        reply: the agent's reply to it.

    Returns:
        At most 30 lines and 4,000 characters of the page, in page order, after its URL, tabs and title.

    Example:
        >>> page = "URL: http://shop.test/\n\theading 'Bags'\n\t\tlink [4] 'Blue Bag' text '$3.00'\n\t\tlink [5] 'Red Bag' text '$4.00'"
        >>> pivotal_text(page, "OBSERVATION HIGHLIGHT: 5\nclick [5]").split("\n")
        ['URL: http://shop.test/', "\theading 'Bags'", "\t\tlink [5] 'Red Bag' text '$4.00'"]

    """
    lines = page.split("\n")
    start = next((index for index, line in enumerate(lines) if line.startswith("\t")), len(lines))
    head = [line for line in lines[:start] if line.startswith(_HEADERS)]
    names = _pivotal_names(reply)
    indices = sorted(_related_lines(lines, start, names)) if names else []
    summary = cut("\n".join(lines[index] for index in indices[:_MAX_LINES]), _MAX_SUMMARY)
    omission = [f"[{len(indices) - _MAX_LINES} more lines were highlighted]"] if len(indices) > _MAX_LINES else []
    return "\n".join([*head, *([summary] if summary else []), *omission])


def _pivotal_names(reply: str) -> frozenset[str]:
    """Return the first _MAX_PIVOTS numbers and labels after the last HIGHLIGHT of a reply.

    They are on the same line or, if that is empty after the marker, on the lines up to the next blank line or section.
    """
    *_, last = [None, *_HIGHLIGHTED.finditer(reply)]
    if last is None:
        return frozenset()
    lines = [line.strip() for line in reply[last.end() :].split("\n", _MAX_PIVOTS)]
    if not lines[0]:
        ends = (index for index, line in enumerate(lines) if index and (not line or _SECTION.match(line)))
        lines = lines[1 : next(ends, len(lines))]
    else:
        lines = lines[:1]
    parts = (part.strip(" \t[]'\"*-") for line in lines for part in (line, *line.split(",")))
    return frozenset(islice(filter(None, parts), _MAX_PIVOTS))


def _related_lines(lines: Sequence[str], start: int, names: frozenset[str]) -> Iterator[int]:
    """Yield, without duplicates, the indices of lines that contain one of the nodes `names`, and of their related lines."""
    yielded = set[int]()
    above: list[tuple[int, int]] = []  # (depth, index) of the ancestors of the current line
    head: list[int] = []  # header lines of the current table
    under = -1  # depth of the pivotal line whose descendants are being kept; -1 if none
    for index in range(start, len(lines)):
        line = lines[index]
        depth = len(line) - len(line.lstrip("\t"))
        while above and above[-1][0] >= depth:
            above.pop()
        if not line.startswith("|", depth):
            head = []
        elif index + 1 < len(lines) and lines[index + 1].startswith("| ---", depth):
            head = [index, index + 1]
        if depth <= under:
            under = -1
        if under >= 0:
            related = [index]
        elif _contains_node(line, names):
            related, under = [*(ancestor for _, ancestor in above), *head, index], depth
        else:
            related = []
        yield from (number for number in related if number not in yielded)
        yielded.update(related)
        above.append((depth, index))


def _contains_node(line: str, names: frozenset[str]) -> bool:
    """Return True if a line contains an element with one of these numbers or labels."""
    numbers = {match[1] for match in _ADDRESSED.finditer(line)}
    return any(name in numbers if name.isdigit() else f"'{name}'" in line for name in names)


def _normalize(text: str) -> str:
    return text.casefold().rstrip(" :*")
