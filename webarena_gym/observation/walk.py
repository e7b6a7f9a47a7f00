"""The walk over the tree of a page that tells a `Writer` of texts and controls in document order, and numbers the controls."""

from collections import Counter
from typing import Literal, NamedTuple, Protocol

from lxml.html import HtmlElement

from webarena_gym.pages.dom import is_closed, is_withheld
from webarena_gym.pages.reading import (
    BLOCKS,
    HEADINGS,
    MAX_LABEL,
    SKIPPED,
    Labels,
    clean,
    controls,
    is_control,
    is_loose,
    is_plain,
    is_plain_link,
    visible_text,
)

Elements = Literal["id", "label"]

_BLOCKS = BLOCKS | {"tr", "td", "th"}


class Node(NamedTuple):
    """An interactive element of an observation, and the line of the whole page that it stands on."""

    element: HtmlElement
    line: int


class Writer(Protocol):
    """Puts the pieces of a page down in lines. Headings and rows hold more pieces, for which it sends the walk on."""

    @property
    def lines(self) -> list[str]:
        """The lines that have ended."""
        ...

    @property
    def is_in_row(self) -> bool:
        """Whether what comes next stands in the row of a table, or in a heading."""
        ...

    def text(self, text: str) -> None:
        """Write plain text."""
        ...

    def image(self, alt: str) -> None:
        """Write an image by its alternative text."""
        ...

    def reserve_line(self) -> int:
        """Make room for a control, which comes next; return the number of its line."""
        ...

    def control(self, element: HtmlElement, name: str, number: str | None) -> None:
        """Write an interactive element with its name, and its number where it is addressed by that."""
        ...

    def heading(self, element: HtmlElement, walk: "Walk") -> None:
        """Write a heading and what is in it."""
        ...

    def row(self, element: HtmlElement, walk: "Walk") -> None:
        """Write a row of a table."""
        ...

    def flush(self) -> None:
        """End the current line."""
        ...


def write(root: HtmlElement, writer: Writer, elements: Elements) -> dict[str, Node]:
    """Let a writer put down a whole document; returns the interactive elements by their addresses."""
    walk = Walk(root, writer, elements)
    walk.visit(root)
    writer.flush()
    return walk.nodes


class Walk:
    """Visits the elements of a document, tells a writer of what it finds, and gives controls their addresses."""

    def __init__(self, root: HtmlElement, writer: Writer, elements: Elements) -> None:
        self.nodes: dict[str, Node] = {}
        self._writer = writer
        self._by_label = elements == "label"
        self._labels = Labels(root)
        self._counts: Counter[str] = Counter()
        self._stood_in: set[HtmlElement] = set()

    def visit(self, element: HtmlElement) -> None:
        """Write an element and all that is in it, but not what follows it."""
        tag = element.tag
        if tag in SKIPPED or not isinstance(tag, str):
            return
        if is_plain(tag, names := element.keys()):
            self.enter(element)
            return
        if tag == "a" and is_plain_link(element, names):
            self.use(element)
            return
        if is_withheld(element):
            return
        if tag == "label" and (hidden := self._labels.hidden_control_of(element)) is not None:
            self._stand_in(element, hidden)
        elif is_control(element):
            self.use(element)
            if is_loose(element) and len(visible_text(element)) > MAX_LABEL:  # more than its name tells
                self.enter(element)
        elif tag in HEADINGS:
            self._writer.heading(element, self)
        elif tag == "tr" and not self._writer.is_in_row and element.find(".//table") is None:
            self._writer.row(element, self)
        elif tag == "label" and self._labels.is_shown_by_its_control(element):
            for control in controls(element):
                self.use(control)
        elif tag == "img":
            if alt := clean(element.get("alt", "")):
                self._writer.image(alt)
        else:
            if tag == "iframe":
                self._writer.text("[frame] ")
            self.enter(element)

    def enter(self, element: HtmlElement) -> None:
        """Write what is in an element, in lines of its own if it is a block."""
        writer = self._writer
        block = element.tag in _BLOCKS
        if block:
            writer.flush()
        if is_closed(element):
            for summary in element.findall("summary")[:1]:
                self.visit(summary)
        else:
            if text := element.text:
                writer.text(text)
            for child in element:
                if child.tag == "br":
                    writer.flush()
                else:
                    self.visit(child)
                if tail := child.tail:
                    writer.text(tail)
        if block:
            writer.flush()

    def _stand_in(self, label: HtmlElement, hidden: HtmlElement) -> None:
        """Write a hidden control in the place of its label, by which it is used; once, if it has several."""
        if hidden not in self._stood_in:
            self._stood_in.add(hidden)
            self.use(hidden)
        for control in controls(label):
            self.use(control)

    def _free_address(self, label: str) -> str:
        """Return the label with its number among equal ones, or the next number if another's own label reads so."""
        while True:
            self._counts[label] += 1
            count = self._counts[label]
            address = label if count == 1 else f"{label} [{count}]"
            if address not in self.nodes:
                return address

    def use(self, element: HtmlElement) -> None:
        """Write an interactive element under the next address."""
        line = self._writer.reserve_line()
        label = self._labels.of(element)
        if self._by_label:
            address = name = self._free_address(label)
            number = None
        else:
            address = number = str(len(self.nodes))
            name = label
        self.nodes[address] = Node(element, line)
        self._writer.control(element, name, number)
