"""Observations: a page as text in the style "html" (simplified HTML), "axtree" (accessibility tree) or "occam" (AgentOccam's outline).

An observation is a pure function of a `Page`. One tree walk collects texts and interactive elements; each style has a writer
for them. Elements are addressed by their number in document order (`elements="id"`) or by their accessible name
(`elements="label"`), where the second element with the same name is `Name [2]`.

>>> import gymnasium, webarena_gym
>>> from webarena_gym.observation import observe
>>> env = gymnasium.make("WebArenaLite-v0")
>>> _ = env.reset(options={"task": "shopping.product_price/1000/0"})
>>> print(observe(env.unwrapped.page, elements="label", window=60).text)
URL: http://shop.test/
<a>Tidewater Emporium</a>
[32 more lines below]
"""

import difflib
import re
from bisect import bisect_right
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, NamedTuple

from lxml.html import HtmlElement

from webarena_gym.errors import ActionError
from webarena_gym.observation.occam import HIGHLIGHT as HIGHLIGHT
from webarena_gym.observation.occam import OccamWriter
from webarena_gym.observation.occam import pivotal_text as pivotal_text
from webarena_gym.observation.writers import AxTreeWriter, HtmlWriter, Node, TreeWalker, Writer
from webarena_gym.observation.writers import Elements as Elements
from webarena_gym.pages.dom import MAX_DEPTH, is_too_deep
from webarena_gym.pages.dom import field_value as field_value
from webarena_gym.pages.page import Page
from webarena_gym.pages.reading import SPACE, plain_name
from webarena_gym.pages.reading import visible_text as visible_text
from webarena_gym.texts import cut

Style = Literal["html", "axtree", "occam"]
"""The text formats of a page: simplified HTML, an accessibility tree, or AgentOccam's outline."""

_MAX_HEADER_LINE = 1_000  # characters of a URL or a dialog's text above the page
_MAX_NOTICES = 10
_NEAR = 0.6  # similarity of a label that an error calls near, from 0 to 1
_MAX_ADDRESS = 200  # characters of an agent's element address that are compared with labels
_SUFFIX = re.compile(r"(.*?) ?\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Observation:
    """A window of a page as text, and the addresses of all its elements.

    Attributes:
        text: header and visible lines of the window.
        nodes: element and line by address (id or label), for the whole page.
        top: index of the first visible line of the page.
        height: number of visible lines.
        total: number of lines of the whole page.

    """

    text: str
    nodes: dict[str, Node]
    top: int
    height: int
    total: int

    def element(self, address: str) -> HtmlElement:
        """Return the element with this id or label.

        Labels match without case, and by a part of a label that no other label contains.

        Raises:
            ActionError: if no element or several match; the message lists the nearest labels, or the first ones of the page.

        """
        address = SPACE.sub(" ", address.strip())
        node = self.nodes.get(address) or self._similar_node(address)
        return node.element

    def _similar_node(self, query: str) -> Node:
        """Return the node whose address equals `query` except for case, or the only one whose address contains it."""
        lowered = plain_name(query).lower()
        first = _SUFFIX.fullmatch(lowered)
        if first and first.group(2) == "1":
            lowered = first.group(1)
        names = {address: plain_name(address).lower() for address in self.nodes}
        same = [address for address, name in names.items() if name == lowered]
        if same:
            return self.nodes[same[0]]
        if not self.nodes:
            raise ActionError(f"there is no element {cut(query, _MAX_ADDRESS)!r}; the page has no interactive elements")
        if all(address.isdigit() for address in self.nodes):
            hint = "" if query.isdigit() else "elements are named by their ids, and "
            raise ActionError(
                f"there is no element {cut(query, _MAX_ADDRESS)!r}; {hint}the ids on this page are 0 to {len(self.nodes) - 1}"
            )
        containing = [address for address, name in names.items() if lowered and lowered in name]
        if len(containing) == 1:
            return self.nodes[containing[0]]
        query = cut(query, _MAX_ADDRESS)
        problem = f"the label {query!r} is ambiguous" if containing else f"there is no element {query!r}"
        if query.isdigit():
            problem = f"there is no element {query!r}; name the element by its label, not by a number"
        nearest = containing[:5] or difflib.get_close_matches(query, self.nodes, n=5, cutoff=_NEAR)
        hint = "the nearest labels are" if nearest and not query.isdigit() else "labels on this page include"
        raise ActionError(f"{problem}; {hint} {', '.join(map(repr, nearest or list(self.nodes)[:5]))}")


def observe(
    page: Page,
    *,
    elements: Elements = "id",
    style: Style = "html",
    bbox: bool = False,
    header: bool = True,
    window: int = 12_000,
    top: int = 0,
    max_text: int | None = None,
) -> Observation:
    """Return a page as text.

    Args:
        page: the page.
        elements: address elements by "id" or by "label".
        style: format of the text.
        bbox: write the attribute `data-bbox` that a browser with layout sets on elements; style "html" only.
        header: put the URL, the list of several tabs and the browser's notices before the page.
        window: maximum number of characters of the page in one observation. A longer line is split between words.
        top: index of the first visible line; see `scrolled_top`.
        max_text: number of characters after which a text is cut and ends with "..."; None shows all texts whole.

    """
    rendering = _render(page, style, elements, bbox, max_text)
    if rendering.longest > window:
        key = ("window", style, elements, bbox, max_text, page.focused, window)
        rendering = _split_lines(page, rendering, key, window)
    lines, nodes, ends, _ = rendering
    top = max(0, min(top, len(lines) - 1))
    above = ends[top - 1] if top else 0
    height = max(bisect_right(ends, above + window) - top, min(1, len(ends) - top))
    parts = header_lines(page, style) if header else []
    if top:
        parts.append(f"[{top} more lines above]")
    parts += lines[top : top + height]
    below = len(lines) - top - height
    if below:
        parts.append(f"[{below} more lines below]")
    return Observation("\n".join(parts), nodes, top, height, len(lines))


def scrolled_top(observation: Observation, *, down: bool) -> int:
    """Return the `top` of the window after scrolling by two thirds of its height; unchanged at either end of the page."""
    distance = max(1, observation.height * 2 // 3)
    if down:
        at_end = observation.top + observation.height >= observation.total
        return observation.top if at_end else observation.top + distance
    return max(0, observation.top - distance)


class Rendering(NamedTuple):
    """The text of a whole page.

    Attributes:
        lines: its lines.
        nodes: element and line by address.
        ends: the cumulative number of characters up to the end of each line, with a line break after each.
        longest: the number of characters of the longest line with its line break.

    """

    lines: list[str]
    nodes: dict[str, Node]
    ends: list[int]
    longest: int


def _rendering(lines: list[str], nodes: dict[str, Node]) -> Rendering:
    sizes = [len(line) + 1 for line in lines]
    return Rendering(lines, nodes, list(accumulate(sizes)), max(sizes, default=0))


def _split_lines(page: Page, rendering: Rendering, key: tuple[Hashable, ...], window: int) -> Rendering:
    """Return a rendering in which no line is longer than `window`, kept in the page's cache. A node is in its line's first part."""
    if key not in page.cache:
        parts, firsts = list[str](), list[int]()
        for line in rendering.lines:
            firsts.append(len(parts))
            parts += _split(line, max(1, window - 1))
        moved = {
            address: node._replace(line=firsts[min(node.line, len(firsts) - 1)]) for address, node in rendering.nodes.items()
        }
        page.cache[key] = _rendering(parts, moved)
    result: Rendering = page.cache[key]
    return result


def _split(line: str, limit: int) -> Iterator[str]:
    """Yield a line in parts of at most `limit` characters, split at spaces outside of tags if there are any."""
    start = 0
    while len(line) - start > limit:
        end = cut_at = start + limit
        while (end := line.rfind(" ", start + 1, end)) > 0:
            if line.rfind("<", start, end) <= line.rfind(">", start, end):
                cut_at = end
                break
        yield line[start:cut_at]
        start = cut_at + (line[cut_at] == " ")
    yield line[start:]


def _render(page: Page, style: Style, elements: Elements, bbox: bool, max_text: int | None) -> Rendering:
    """Return the rendering of a whole page. It is kept in the page's cache."""
    key = ("observation", style, elements, bbox, max_text, page.focused)
    if key not in page.cache:
        lines, nodes = [f"[This page cannot be shown: its elements are nested more than {MAX_DEPTH} deep.]"], dict[str, Node]()
        if not is_too_deep(page.root):
            writer: Writer
            match style:
                case "html":
                    writer = HtmlWriter(page.focused, max_text, bbox=bbox)
                case "axtree":
                    writer = AxTreeWriter(page.focused, max_text)
                case "occam":
                    writer = OccamWriter(max_text)
            walker = TreeWalker(page.root, writer, elements)
            walker.visit(page.root)
            writer.flush()
            lines, nodes = writer.lines, walker.nodes
        page.cache[key] = _rendering(lines, nodes)
    result: Rendering = page.cache[key]
    return result


def header_lines(page: Page, style: Style = "html") -> list[str]:
    """Return the lines above a page: its URL, the tabs if there are several, the browser's notices and the root node."""
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
    return [cut(part, _MAX_HEADER_LINE) for part in parts]
