"""Pages as AgentOccam shows them (Yang et al., arXiv 2410.13825, section 3), and what is kept of the pages that an agent has left.

A page is an outline: one block a line, indented by the headings above it. Adjacent texts are merged, a text that only repeats the name of
an element beside it is dropped, and so are images; tables are Markdown. An agent names the elements of a page that will matter, its pivotal
nodes, after the words `OBSERVATION HIGHLIGHT:` in its reply. Of an earlier page these stay, with what they stand under and beside.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from typing import NamedTuple

from lxml.html import HtmlElement

from webarena_gym.observation.writers import Walk, Writer, described
from webarena_gym.pages.dom import is_withheld
from webarena_gym.pages.reading import MAX_TEXT, SPACE, clean, controls, is_control, order_of, visible_text
from webarena_gym.texts import cut

HIGHLIGHT = "OBSERVATION HIGHLIGHT:"
"""Stands before the numbers or labels of pivotal nodes in a reply."""

_DROPPED = ("expanded: ", "pressed: ", "value: ''")  # beside an element's name; the first as in the paper's code
_MAX_PIVOTS = 100  # numbers and labels that are read in a reply
_MAX_LINES = 30  # of an earlier page, as the reference keeps at most so many nodes
_MAX_KEPT = 4_000  # characters of an earlier page
_ADDRESSED = re.compile(r"(?<=[\w-]) \[(\d+)\] '")
_HEADERS = ("URL: ", "Tabs: ", "RootWebArea ")
_HIGHLIGHTED = re.compile(rf"{HIGHLIGHT}\**", re.IGNORECASE)
_SECTION = re.compile(r"[*#]*[A-Z][A-Z ]*:|<|```")


class _Piece(NamedTuple):
    """A part of a block: a text, or an element with its name."""

    written: str
    name: str = ""
    is_text: bool = False


class OccamWriter(Writer):
    """Writes an outline: `link [12] 'Blue Bag' text '$3.00'`."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[_Piece] = []  # of the block to come
        self._levels: list[int] = []  # of the headings that the block stands under

    def text(self, text: str) -> None:
        if len(text) > MAX_TEXT:
            text = text[: MAX_TEXT - 3].rstrip() + "..."
        self._pieces.append(_Piece(text, is_text=True))

    def image(self, alt: str) -> None:
        """Write nothing."""

    def control(self, element: HtmlElement, name: str, number: str | None) -> None:
        role, properties = described(element)
        mark = "" if number is None else f" [{number}]"
        said = [each for each in properties if not each.startswith(_DROPPED)]
        self._pieces.append(_Piece(" ".join([f"{role}{mark} '{name}'", *said]), name))

    def heading(self, element: HtmlElement, walk: Walk) -> None:
        if self.depth:
            walk.enter(element)
            return
        self.flush()
        own = clean(visible_text(element))
        for control in controls(element):
            walk.use(control)
        if own and own not in [piece.name for piece in self._pieces]:
            self._pieces.insert(0, _Piece(f"heading '{own}'"))
        if self._pieces:
            level = int(element.tag[1])
            while self._levels and self._levels[-1] >= level:
                self._levels.pop()
            self.flush()
            self._levels.append(level)

    def row(self, element: HtmlElement, walk: Walk) -> None:
        self.flush()
        self.depth = 1
        cells, tags = list[str](), set[str]()
        for cell in element:
            is_cell = cell.tag in ("td", "th")
            if is_cell and is_withheld(cell):
                continue
            if not is_cell or is_control(cell):
                walk.visit(cell)
            else:
                walk.enter(cell)
            if cell.tag == "th" and (order := order_of(cell)):
                self.text(f" (sorted: {clean(order)})")
            text = self._taken(is_cell=True)
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
        elif self._pieces and (written := self._taken()):
            self._write(written)

    def _taken(self, *, is_cell: bool = False) -> str:
        """Return the pieces of the block as one text, and begin another."""
        pieces, self._pieces = self._pieces, []
        names = {_bare(piece.name) for piece in pieces if not piece.is_text}
        written = []
        for is_text, group in groupby(pieces, lambda piece: piece.is_text):
            if not is_text:
                written += [piece.written for piece in group]
            elif (text := SPACE.sub(" ", "".join(piece.written for piece in group)).strip()) and _bare(text) not in names:
                written.append(text if is_cell else f"text '{text}'")
        line = " ".join(written)
        return line.replace("|", "\\|") if is_cell else line

    def _write(self, line: str) -> None:
        self.lines.append("\t" * (len(self._levels) + 1) + line)


def pivotal(page: str, reply: str) -> str:
    r"""Return what is kept of an earlier page after a reply: where it is, and the pivotal nodes that the reply names.

    `page` is the text of an observation in this style. A line with a pivotal node is kept with all that stands under it, with the headings
    above it, and in a table with the table's head: descendants, siblings (which are in the line) and ancestors.

    >>> page = "URL: http://shop.test/\n\theading 'Bags'\n\t\tlink [4] 'Blue Bag' text '$3.00'\n\t\tlink [5] 'Red Bag' text '$4.00'"
    >>> pivotal(page, "OBSERVATION HIGHLIGHT: 5\nclick [5]").split("\n")
    ['URL: http://shop.test/', "\theading 'Bags'", "\t\tlink [5] 'Red Bag' text '$4.00'"]
    """
    lines = page.split("\n")
    start = next((place for place, line in enumerate(lines) if line.startswith("\t")), len(lines))
    head = [line for line in lines[:start] if line.startswith(_HEADERS)]
    wanted = _wanted(reply)
    kept = sorted(_around(lines, start, wanted)) if wanted else []
    shown = cut("\n".join(lines[place] for place in kept[:_MAX_LINES]), _MAX_KEPT)
    left_out = [f"[{len(kept) - _MAX_LINES} more lines were highlighted]"] if len(kept) > _MAX_LINES else []
    return "\n".join([*head, *([shown] if shown else []), *left_out])


def _wanted(reply: str) -> frozenset[str]:
    """Return the first _MAX_PIVOTS numbers and labels that a reply names as pivotal, on the line of HIGHLIGHT or else on those after it."""
    *_, last = [None, *_HIGHLIGHTED.finditer(reply)]
    if last is None:
        return frozenset()
    lines = [line.strip() for line in reply[last.end() :].split("\n", _MAX_PIVOTS)]
    if not lines[0]:
        ends = (place for place, line in enumerate(lines) if place and (not line or _SECTION.match(line)))
        lines = lines[1 : next(ends, len(lines))]
    else:
        lines = lines[:1]
    parts = (part.strip(" \t[]'\"*-") for line in lines for part in (line, *line.split(",")))
    return frozenset(islice(filter(None, parts), _MAX_PIVOTS))


def _around(lines: Sequence[str], start: int, wanted: frozenset[str]) -> Iterator[int]:
    """Yield the places of lines that hold one of the wanted nodes, and of the lines that they belong with; each at most once."""
    seen = set[int]()
    above: list[tuple[int, int]] = []  # depth and place of the lines that the present one stands under
    head: list[int] = []  # of the table that the present line belongs to
    under = -1  # the depth of the pivotal line that this one may stand under; -1: none
    for place in range(start, len(lines)):
        line = lines[place]
        depth = len(line) - len(line.lstrip("\t"))
        while above and above[-1][0] >= depth:
            above.pop()
        if not line.startswith("|", depth):
            head = []
        elif place + 1 < len(lines) and lines[place + 1].startswith("| ---", depth):
            head = [place, place + 1]
        if depth <= under:
            under = -1
        if under >= 0:
            found = [place]
        elif _holds(line, wanted):
            found, under = [*(each for _, each in above), *head, place], depth
        else:
            found = []
        yield from (each for each in found if each not in seen)
        seen.update(found)
        above.append((depth, place))


def _holds(line: str, wanted: frozenset[str]) -> bool:
    """Say whether a line holds an element with one of these numbers or labels."""
    numbers = {found[1] for found in _ADDRESSED.finditer(line)}
    return any(each in numbers if each.isdigit() else f"'{each}'" in line for each in wanted)


def _bare(text: str) -> str:
    return text.casefold().rstrip(" :*")
