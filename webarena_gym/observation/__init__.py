"""Pages as text: simplified HTML, an accessibility tree or AgentOccam's outline, with the interactive elements numbered or named by their labels.

A pure function of a `Page`. One walk over the tree finds what can be read and what can be used; a small writer for each
style puts it down. Elements are addressed by their number in document order (`elements="id"`) or by their visible label
(`elements="label"`), where the second of a name is `Name [2]`.
"""

import difflib
import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from lxml.html import HtmlElement

from webarena_gym.errors import ActionError
from webarena_gym.observation.occam import HIGHLIGHT as HIGHLIGHT
from webarena_gym.observation.occam import OccamWriter
from webarena_gym.observation.occam import pivotal as pivotal
from webarena_gym.observation.writers import AxTreeWriter, HtmlWriter, Node, Walk, Writer
from webarena_gym.observation.writers import Elements as Elements
from webarena_gym.pages.dom import DEEPEST, is_too_deep
from webarena_gym.pages.dom import field_value as field_value
from webarena_gym.pages.page import Page
from webarena_gym.pages.reading import SPACE
from webarena_gym.pages.reading import visible_text as visible_text
from webarena_gym.texts import cut

Style = Literal["html", "axtree", "occam"]

_MAX_HEAD = 1_000  # characters of a line above the page, as of an address or of a dialog's text
_MAX_NOTICES = 10
_MAX_ADDRESS = 200  # characters of an address of an element that labels are compared with
_SUFFIX = re.compile(r"(.*?) ?\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Observation:
    """A page as an agent sees it.

    `text` is what a window of the page shows; `nodes` maps every address of the whole page, id or label, to its element.
    `top` is the first line of the window, `shown` the number of lines in it, `total` that of the whole page.
    """

    text: str
    nodes: dict[str, Node]
    top: int
    shown: int
    total: int

    def element(self, address: str) -> HtmlElement:
        """Return the element with that id or label. Raises ActionError that names the nearest labels."""
        wanted = SPACE.sub(" ", address.strip())
        node = self.nodes.get(wanted) or self._resembling(wanted)
        return node.element

    def _resembling(self, wanted: str) -> Node:
        """Find an address that differs in case only, or that `wanted` is a unique part of."""
        lowered = wanted.lower()
        first = _SUFFIX.fullmatch(lowered)
        if first and first.group(2) == "1":
            lowered = first.group(1)
        same = [address for address in self.nodes if address.lower() == lowered]
        if same:
            return self.nodes[same[0]]
        if not self.nodes:
            raise ActionError(f"there is no element {cut(wanted, _MAX_ADDRESS)!r}; the page has no interactive elements")
        if all(address.isdigit() for address in self.nodes):
            kind = "" if wanted.isdigit() else "elements are named by their ids, and "
            raise ActionError(
                f"there is no element {cut(wanted, _MAX_ADDRESS)!r}; {kind}the ids on this page are 0 to {len(self.nodes) - 1}"
            )
        containing = [address for address in self.nodes if lowered and lowered in address.lower()]
        if len(containing) == 1:
            return self.nodes[containing[0]]
        wanted = cut(wanted, _MAX_ADDRESS)
        problem = f"the label {wanted!r} is ambiguous" if containing else f"there is no element {wanted!r}"
        nearest = containing[:5] or difflib.get_close_matches(wanted, self.nodes, n=5, cutoff=0.3) or list(self.nodes)[:5]
        raise ActionError(f"{problem}; the nearest labels are {', '.join(map(repr, nearest))}")


def observe(
    page: Page,
    *,
    elements: Elements = "id",
    style: Style = "html",
    bbox: bool = False,
    header: bool = True,
    window: int = 12_000,
    top: int = 0,
) -> Observation:
    """Return a page as text.

    `window` is the number of characters that one view of the page may hold; the view starts at line `top`, which is moved by
    `scrolled`. `header` puts the URL, and the tabs when there are several, before the page. `bbox` writes the `data-bbox` that
    a browser with layout has stamped on the elements.
    """
    lines, nodes, ends = _written(page, style, elements, bbox)
    top = max(0, min(top, len(lines) - 1))
    above = ends[top - 1] if top else 0
    shown = max(bisect_right(ends, above + window) - top, min(1, len(ends) - top))
    parts = headlines(page, style) if header else []
    if top:
        parts.append(f"[{top} more lines above]")
    parts += lines[top : top + shown]
    below = len(lines) - top - shown
    if below:
        parts.append(f"[{below} more lines below]")
    return Observation("\n".join(parts), nodes, top, shown, len(lines))


def scrolled(observation: Observation, *, down: bool) -> int:
    """Return the `top` of the view after scrolling by two thirds of what is shown.

    The last line is never scrolled past; at either end the view stays where it is.
    """
    distance = max(1, observation.shown * 2 // 3)
    if down:
        at_end = observation.top + observation.shown >= observation.total
        return observation.top if at_end else observation.top + distance
    return max(0, observation.top - distance)


def _written(page: Page, style: Style, elements: Elements, bbox: bool) -> tuple[list[str], dict[str, Node], list[int]]:
    """Return the lines of a whole page, its elements, and of each line the characters up to its end; once for each of its readings."""
    key = ("observation", style, elements, bbox, page.focused)
    if key not in page.readings:
        lines, nodes = [f"[This page cannot be shown: its elements are nested more than {DEEPEST} deep.]"], dict[str, Node]()
        if not is_too_deep(page.root):
            writer: Writer
            match style:
                case "html":
                    writer = HtmlWriter(page.focused, bbox=bbox)
                case "axtree":
                    writer = AxTreeWriter(page.focused)
                case "occam":
                    writer = OccamWriter()
            walk = Walk(page.root, writer, elements)
            walk.visit(page.root)
            writer.flush()
            lines, nodes = writer.lines, walk.nodes
        page.readings[key] = lines, nodes, list(accumulate(len(line) + 1 for line in lines))
    written: tuple[list[str], dict[str, Node], list[int]] = page.readings[key]
    return written


def headlines(page: Page, style: Style = "html") -> list[str]:
    """Return the lines above a page: its URL, several tabs, and what the browser had to say."""
    parts = [f"URL: {page.url}"]
    if len(page.tabs) > 1:
        marks = ("*" if index == page.active_tab else "" for index in range(len(page.tabs)))
        tabs = (f"[{index}]{mark} {tab.title}" for index, (mark, tab) in enumerate(zip(marks, page.tabs, strict=True)))
        parts.append("Tabs: " + " | ".join(tabs))
    parts += [f"Browser: {notice}" for notice in page.notices[:_MAX_NOTICES]]
    if len(page.notices) > _MAX_NOTICES:
        parts.append(f"Browser: {len(page.notices) - _MAX_NOTICES} more notices")
    if style != "html":
        parts.append(f"RootWebArea '{page.title}'")
    return [cut(part, _MAX_HEAD) for part in parts]
