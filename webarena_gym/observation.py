"""Pages as text: simplified HTML or an accessibility tree, with the interactive elements numbered or named by their labels.

A pure function of a `Page`. One walk over the tree finds what can be read and what can be used; two small writers put it
down. Elements are addressed by their number in document order (`elements="id"`) or by their visible label
(`elements="label"`), where the second of a name is `Name [2]`.
"""

import difflib
import re
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from typing import Literal, NamedTuple

from lxml.html import HtmlElement

from webarena_gym.errors import ActionError
from webarena_gym.page import Page

Elements = Literal["id", "label"]
Style = Literal["html", "axtree"]

MAX_TEXT = 500  # characters of one piece of text
MAX_LABEL = 80  # characters of one label
_SPACE = re.compile(r"\s+")
_SUFFIX = re.compile(r"(.*?)\s*\[(\d+)\]")

_SKIPPED = frozenset({"head", "script", "style", "template", "noscript", "svg", "colgroup", "datalist", "object", "canvas"})
_BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "caption",
        "dd",
        "details",
        "dialog",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "header",
        "hr",
        "html",
        "legend",
        "li",
        "main",
        "nav",
        "ol",
        "p",
        "pre",
        "section",
        "table",
        "tbody",
        "tfoot",
        "thead",
        "ul",
    ]
)
_APART = frozenset({"br", "h1", "h2", "h3", "h4", "h5", "h6", "tr", "td", "th", "option", "button"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_ROLES = frozenset({"button", "link", "checkbox", "radio", "tab", "menuitem", "option", "switch", "combobox", "textbox"})
_FIELDS = frozenset({"input", "select", "textarea"})
_BUTTON_TYPES = frozenset({"submit", "button", "reset", "image"})
_AX_INPUTS = {"checkbox": "checkbox", "radio": "radio", "number": "spinbutton", "search": "searchbox"}


class Node(NamedTuple):
    """An interactive element of an observation, and the line of the whole page that it stands on."""

    element: HtmlElement
    line: int


@dataclass(frozen=True, slots=True)
class Observation:
    """What an agent sees of a page.

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
        wanted = _SPACE.sub(" ", address.strip())
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
            raise ActionError(f"there is no element {wanted!r}; the page has no interactive elements")
        if wanted.isdigit() and all(address.isdigit() for address in self.nodes):
            raise ActionError(f"there is no element {wanted!r}; the ids on this page are 0 to {len(self.nodes) - 1}")
        containing = [address for address in self.nodes if lowered and lowered in address.lower()]
        if len(containing) == 1:
            return self.nodes[containing[0]]
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
    writer = _HtmlWriter(elements, bbox) if style == "html" else _AxTreeWriter(elements)
    writer.focused = page.focused
    writer.document(page.root)
    lines = writer.lines
    top = max(0, min(top, len(lines) - 1))
    shown = _fitting(lines, top, window)
    parts = _header(page, style) if header else []
    if top:
        parts.append(f"[{top} more lines above]")
    parts += lines[top : top + shown]
    below = len(lines) - top - shown
    if below:
        parts.append(f"[{below} more lines below]")
    return Observation("\n".join(parts), writer.nodes, top, shown, len(lines))


def scrolled(observation: Observation, *, down: bool) -> int:
    """Return the `top` of the view after scrolling by two thirds of what is shown.

    The last line is never scrolled past; at either end the view stays where it is.
    """
    distance = max(1, observation.shown * 2 // 3)
    if down:
        at_end = observation.top + observation.shown >= observation.total
        return observation.top if at_end else observation.top + distance
    return max(0, observation.top - distance)


def _fitting(lines: list[str], top: int, window: int) -> int:
    room = window
    for count, line in enumerate(lines[top:]):
        room -= len(line) + 1
        if room < 0:
            return max(count, 1)
    return len(lines) - top


def _header(page: Page, style: Style) -> list[str]:
    parts = [f"URL: {page.url}"]
    if len(page.tabs) > 1:
        marks = ("*" if index == page.active_tab else "" for index in range(len(page.tabs)))
        tabs = (f"[{index}]{mark} {tab.title}" for index, (mark, tab) in enumerate(zip(marks, page.tabs, strict=True)))
        parts.append("Tabs: " + " | ".join(tabs))
    if style == "axtree":
        parts.append(f"RootWebArea '{page.title}'")
    return parts


def _clean(text: str, limit: int = MAX_TEXT) -> str:
    text = _SPACE.sub(" ", text).strip()
    return text if len(text) <= limit else text[: limit - 3].rstrip() + "..."


def _is_hidden(element: HtmlElement) -> bool:
    attributes = element.attrib
    if "hidden" in attributes or attributes.get("aria-hidden") == "true":
        return True
    if element.tag == "input" and attributes.get("type", "").lower() == "hidden":
        return True
    style = attributes.get("style")
    return style is not None and ("display:none" in style.replace(" ", "") or "visibility:hidden" in style.replace(" ", ""))


def is_interactive(element: HtmlElement) -> bool:
    """Say whether a person could click or fill the element."""
    tag, attributes = element.tag, element.attrib
    if tag in _FIELDS or tag in {"button", "summary"}:
        return True
    if tag == "a":
        return "href" in attributes
    return "onclick" in attributes or attributes.get("role") in _ROLES or attributes.get("contenteditable") in ("", "true")


def visible_text(element: HtmlElement) -> str:
    """Return the text that a person would read in the element, blocks apart, images by their alternative text."""
    parts: list[str] = []

    def collect(node: HtmlElement) -> None:
        if not isinstance(node.tag, str) or node.tag in _SKIPPED or _is_hidden(node):
            return
        if node.tag == "img":
            parts.append(" " + node.attrib.get("alt", ""))
        if node.text:
            parts.append(node.text)
        for child in node:
            apart = child.tag in _BLOCKS or child.tag in _APART
            if apart:
                parts.append(" ")
            collect(child)
            if apart:
                parts.append(" ")
            if child.tail:
                parts.append(child.tail)

    collect(element)
    return " ".join("".join(parts).split())


class _Writer(ABC):
    """Walks a document once and writes lines; subclasses decide how pieces look."""

    def __init__(self, elements: Elements) -> None:
        self.by_label = elements == "label"
        self.focused: HtmlElement | None = None
        self.lines: list[str] = []
        self.nodes: dict[str, Node] = {}
        self._names: Counter[str] = Counter()
        self._label_texts: dict[str, str] = {}
        self._fields: dict[str, HtmlElement] = {}
        self._line: list[str] = []
        self._row_depth = 0

    @abstractmethod
    def text(self, text: str) -> None:
        """Write plain text."""

    @abstractmethod
    def control(self, element: HtmlElement, address: str, label: str) -> None:
        """Write an interactive element."""

    @abstractmethod
    def heading(self, element: HtmlElement) -> None:
        """Write a heading and what is in it."""

    @abstractmethod
    def row(self, element: HtmlElement) -> None:
        """Write a row of a table."""

    @abstractmethod
    def image(self, alt: str) -> None:
        """Write an image by its alternative text."""

    def flush(self) -> None:
        """End the current line, unless inside a table row, which is one line."""
        if self._row_depth:
            if self._line and not self._line[-1].endswith(" "):
                self._line.append(" ")
            return
        line = "".join(self._line).strip()
        self._line.clear()
        if line:
            self.lines.append(line)

    def document(self, root: HtmlElement) -> None:
        """Write a whole document."""
        for element in root.iter("label", *_FIELDS):
            if element.tag == "label":
                if target := element.attrib.get("for"):
                    self._label_texts.setdefault(target, visible_text(element))
            elif identity := element.attrib.get("id"):
                self._fields.setdefault(identity, element)
        self.walk(root)
        self.flush()

    def walk(self, element: HtmlElement) -> None:
        """Write an element and all that is in it, but not what follows it."""
        tag = element.tag
        if not isinstance(tag, str) or tag in _SKIPPED or _is_hidden(element):
            return
        if is_interactive(element) and not self._wraps_interactive(element):
            self._interactive(element)
        elif tag in _HEADINGS:
            self.heading(element)
        elif tag == "tr" and not self._row_depth and element.find(".//table") is None:
            self.row(element)
        elif tag == "label" and self._is_shown_by_its_control(element):
            for child in element.iterdescendants(*_FIELDS, "a", "button"):
                self.walk(child)
        elif tag == "img":
            alt = _clean(element.attrib.get("alt", ""))
            if alt:
                self.image(alt)
        elif tag == "iframe":
            self.text("[frame] ")
        else:
            self.content(element)

    def content(self, element: HtmlElement) -> None:
        """Write what is in an element, in lines of its own if it is a block."""
        block = element.tag in _BLOCKS or element.tag in ("tr", "td", "th")
        if block:
            self.flush()
        if element.text:
            self.text(element.text)
        for child in element:
            if child.tag == "br":
                self.flush()
            else:
                self.walk(child)
            if child.tail:
                self.text(child.tail)
        if block:
            self.flush()

    def _wraps_interactive(self, element: HtmlElement) -> bool:
        """A clickable wrapper around other clickables gives way to them: only the innermost are kept."""
        if element.tag in _FIELDS or len(element) == 0:
            return False
        return any(
            isinstance(node.tag, str) and is_interactive(node) and not _is_hidden(node) for node in element.iterdescendants()
        )

    def _interactive(self, element: HtmlElement) -> None:
        label = self.label(element)
        self._names[label] += 1
        number = self._names[label]
        if self.by_label:
            address = label if number == 1 else f"{label} [{number}]"
        else:
            address = str(len(self.nodes))
        self.nodes[address] = Node(element, len(self.lines))
        if element.tag == "textarea" and not self._row_depth:
            self.flush()
        self.control(element, address, label)

    def label(self, element: HtmlElement) -> str:
        """Return the name by which a person would call the element; its tag when it has none."""
        attributes, tag = element.attrib, element.tag
        name = attributes.get("aria-label", "")
        if not name and tag in _FIELDS:
            kind = attributes.get("type", "").lower()
            if tag == "input" and kind in _BUTTON_TYPES:
                name = attributes.get("value") or attributes.get("alt") or kind.title()
            else:
                name = self._label_of(element) or attributes.get("placeholder") or attributes.get("title") or ""
                name = name or attributes.get("name", "")
        elif not name:
            name = visible_text(element) or attributes.get("title", "")
        return _clean(name, MAX_LABEL) or tag

    def _label_of(self, element: HtmlElement) -> str:
        """The text of the <label> that belongs to a field."""
        known = self._label_texts.get(element.attrib.get("id", ""), "")
        if known:
            return known
        parent = next(element.iterancestors("label"), None)
        return "" if parent is None else _label_text(parent)

    def _is_shown_by_its_control(self, label: HtmlElement) -> bool:
        """Whether a field of the page already carries this label's text, so that it need not stand twice."""
        target = label.attrib.get("for")
        control = self._fields.get(target) if target else next(label.iterdescendants(*_FIELDS), None)
        return control is not None and not _is_hidden(control) and "aria-label" not in control.attrib


def _label_text(label: HtmlElement) -> str:
    """The text of a label that wraps its field, without the field's own text."""
    parts = [label.text or ""]
    for child in label.iterdescendants():
        if isinstance(child.tag, str) and child.tag not in (*_FIELDS, "option", "optgroup"):
            parts.append(child.text or "")
        if child.tag not in ("option", "optgroup"):
            parts.append(child.tail or "")
    return _clean(" ".join(parts))


def field_value(element: HtmlElement) -> str:
    """Return the live value of a text field."""
    return (element.text or "") if element.tag == "textarea" else element.attrib.get("value", "")


def _options(element: HtmlElement) -> list[tuple[str, bool]]:
    return [(visible_text(option), "selected" in option.attrib) for option in element.iter("option")]


class _HtmlWriter(_Writer):
    """Simplified HTML: one block a line, interactive elements with their ids, no wrappers."""

    def __init__(self, elements: Elements, bbox: bool) -> None:
        super().__init__(elements)
        self._bbox = bbox

    def text(self, text: str) -> None:
        text = _SPACE.sub(" ", text).replace("<", "&lt;")
        if not self._line or self._line[-1].endswith(" "):
            text = text.lstrip()
        if text:
            self._line.append(text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 3].rstrip() + "...")

    def image(self, alt: str) -> None:
        self._line.append(f'<img alt="{_attribute(alt)}"> ')

    def heading(self, element: HtmlElement) -> None:
        self._enclosed(element, element.tag)

    def row(self, element: HtmlElement) -> None:
        self.flush()
        self._row_depth += 1
        self._line.append("<tr>")
        for cell in element:
            if cell.tag not in ("td", "th"):
                self.walk(cell)
            elif not _is_hidden(cell):
                self._enclosed(cell, cell.tag)
        self._line.append("</tr>")
        self._row_depth -= 1
        self.flush()

    def _enclosed(self, element: HtmlElement, tag: str) -> None:
        """Write the content of a heading or cell between its tags, on one line."""
        if not self._row_depth:
            self.flush()
        start = len(self._line)
        self._row_depth += 1
        self.content(element)
        self._row_depth -= 1
        inner = "".join(self._line[start:]).strip()
        del self._line[start:]
        if inner or tag in ("td", "th"):
            self._line.append(f"<{tag}>{inner}</{tag}>")
        if not self._row_depth:
            self.flush()

    def control(self, element: HtmlElement, address: str, label: str) -> None:
        tag = element.tag
        name = [] if self.by_label else [f'id="{address}"']
        shown = address if self.by_label else label
        if tag in _FIELDS and not self._is_button(element):
            name.append(f'label="{_attribute(shown)}"')
            opening = " ".join([tag, *name, *self._state(element)])
            if tag == "select":
                options = "".join(
                    f"<option{' selected' if chosen else ''}>{text.replace('<', '&lt;')}</option>"
                    for text, chosen in _options(element)
                )
                written = f"<{opening}>{options}</select>"
            elif tag == "textarea":
                written = f"<{opening}>{_clean(field_value(element)).replace('<', '&lt;')}</textarea>"
            else:
                written = f"<{opening}>"
        else:
            tag = "button" if tag == "input" else tag
            opening = " ".join([tag, *name, *self._state(element)])
            written = f"<{opening}>{shown.replace('<', '&lt;')}</{tag}>"
        if self._line and not self._line[-1].endswith((" ", ">")):
            self._line.append(" ")
        self._line.append(written + " ")

    @staticmethod
    def _is_button(element: HtmlElement) -> bool:
        return element.tag == "input" and element.attrib.get("type", "").lower() in _BUTTON_TYPES

    def _state(self, element: HtmlElement) -> list[str]:
        attributes = element.attrib
        written = []
        kind = attributes.get("type", "text").lower()
        if element.tag == "input" and not self._is_button(element):
            if kind not in ("text", "search"):
                written.append(f'type="{_attribute(kind)}"')
            if kind not in ("checkbox", "radio", "password", "file") and field_value(element):
                written.append(f'value="{_attribute(_clean(field_value(element)))}"')
            elif kind == "password" and field_value(element):
                written.append('value="(hidden)"')
        for flag in ("checked", "disabled", "readonly", "multiple", "open"):
            if flag in attributes:
                written.append(flag)
        if element.tag not in _FIELDS and attributes.get("aria-expanded"):
            written.append(f'aria-expanded="{_attribute(attributes["aria-expanded"])}"')
        if element is self.focused:
            written.append("focused")
        if self._bbox and "data-bbox" in attributes:
            written.append(f'data-bbox="{_attribute(attributes["data-bbox"])}"')
        return written


def _attribute(text: str) -> str:
    return text.replace("<", "&lt;").replace('"', "&quot;")


class _AxTreeWriter(_Writer):
    """An accessibility tree in WebArena's manner: `[12] link 'My Account'`, one node a line."""

    def _interactive(self, element: HtmlElement) -> None:
        self.flush()
        super()._interactive(element)

    def flush(self) -> None:
        line = _clean("".join(self._line))
        self._line.clear()
        if line:
            self.lines.append(f"{self._indent()}StaticText '{line}'")

    def _indent(self) -> str:
        return "\t" * (self._row_depth + 1)

    def text(self, text: str) -> None:
        self._line.append(text)

    def image(self, alt: str) -> None:
        self.flush()
        self.lines.append(f"{self._indent()}img '{alt}'")

    def heading(self, element: HtmlElement) -> None:
        self.flush()
        own = _clean(visible_text(element))
        if own:
            self.lines.append(f"{self._indent()}heading '{own}'")
        for child in element.iterdescendants():
            if isinstance(child.tag, str) and is_interactive(child) and not _is_hidden(child):
                self._row_depth += 1
                self._interactive(child)
                self._row_depth -= 1

    def row(self, element: HtmlElement) -> None:
        self.flush()
        self.lines.append(f"{self._indent()}row")
        self._row_depth += 1
        for cell in element:
            self.walk(cell)
        self._row_depth -= 1
        self.flush()

    def control(self, element: HtmlElement, address: str, label: str) -> None:
        self.flush()
        tag, attributes = element.tag, element.attrib
        kind = attributes.get("type", "text").lower()
        properties = []
        if tag == "select":
            role = "combobox"
            properties.append("options: " + ", ".join(f"'{text}'" + " (selected)" * on for text, on in _options(element)))
        elif tag == "textarea" or (tag == "input" and kind not in _BUTTON_TYPES):
            role = _AX_INPUTS.get(kind, "textbox") if tag == "input" else "textbox"
            if role in ("checkbox", "radio"):
                properties.append(f"checked: {str('checked' in attributes).lower()}")
            elif kind != "password":
                properties.append(f"value: '{_clean(field_value(element))}'")
        else:
            role = attributes.get("role") or {"a": "link"}.get(tag, "button")
        properties += [f"{flag}: True" for flag in ("disabled", "readonly") if flag in attributes]
        if element is self.focused:
            properties.append("focused: True")
        mark = "" if self.by_label else f"[{address}] "
        name = address if self.by_label else label
        self.lines.append(" ".join([f"{self._indent()}{mark}{role} '{name}'", *properties]))
