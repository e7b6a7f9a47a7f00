"""The two ways to write a page down, after one walk over its tree."""

from abc import ABC, abstractmethod
from collections import Counter
from typing import Literal, NamedTuple

from lxml.html import HtmlElement

from webarena_gym.observation.reading import (
    BLOCKS,
    BUTTON_TYPES,
    FIELDS,
    HEADINGS,
    MAX_TEXT,
    SKIPPED,
    SPACE,
    clean,
    field_value,
    is_closed,
    is_hidden,
    is_interactive,
    label_text,
    options,
    visible_text,
)

Elements = Literal["id", "label"]

MAX_LABEL = 80  # characters of one label
_BLOCKS = BLOCKS | {"tr", "td", "th"}
_WITH_A_WAY_OF_THEIR_OWN = HEADINGS | {"tr", "label", "img", "iframe"}
_FLAGS = ("checked", "disabled", "readonly", "multiple", "open")
_STATES = frozenset((*_FLAGS, "aria-expanded"))
_AX_INPUTS = {"checkbox": "checkbox", "radio": "radio", "number": "spinbutton", "search": "searchbox"}


class Node(NamedTuple):
    """An interactive element of an observation, and the line of the whole page that it stands on."""

    element: HtmlElement
    line: int


def _controls(element: HtmlElement) -> list[HtmlElement]:
    """Return what can be used inside an element; a clickable wrapper around other clickables gives way to them."""
    found: list[HtmlElement] = []
    for child in element.findall("summary")[:1] if is_closed(element) else element:
        if isinstance(child.tag, str) and child.tag not in SKIPPED and not is_hidden(child):
            inner = [] if child.tag in FIELDS else _controls(child)
            found += inner or ([child] if is_interactive(child) else [])
    return found


def _holds_control(element: HtmlElement) -> bool:
    """Say whether `_controls` finds any; it stops at the first, so that wrappers in wrappers do not cost the square."""
    return any(
        isinstance(child.tag, str)
        and child.tag not in SKIPPED
        and not is_hidden(child)
        and (is_interactive(child) or _holds_control(child))
        for child in (element.findall("summary")[:1] if is_closed(element) else element)
    )


def _is_control(element: HtmlElement) -> bool:
    """Say whether the element is used as a whole, and not by what is inside it."""
    return is_interactive(element) and (element.tag in FIELDS or not len(element) or not _holds_control(element))


class Writer(ABC):
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
        if not self._line:
            return
        if self._row_depth:
            if not self._line[-1].endswith(" "):
                self._line.append(" ")
            return
        line = "".join(self._line).strip()
        self._line.clear()
        if line:
            self.lines.append(line)

    def document(self, root: HtmlElement) -> None:
        """Write a whole document."""
        for element in root.iter("label", *FIELDS):
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
        if tag in SKIPPED or not isinstance(tag, str) or is_hidden(element):
            return
        if _is_control(element):
            self._interactive(element)
        elif tag not in _WITH_A_WAY_OF_THEIR_OWN:
            self.content(element)
        elif tag in HEADINGS:
            self.heading(element)
        elif tag == "tr" and not self._row_depth and element.find(".//table") is None:
            self.row(element)
        elif tag == "label" and self._is_shown_by_its_control(element):
            for control in _controls(element):
                self._interactive(control)
        elif tag == "img":
            if alt := clean(element.get("alt", "")):
                self.image(alt)
        else:
            if tag == "iframe":
                self.text("[frame] ")
            self.content(element)

    def content(self, element: HtmlElement) -> None:
        """Write what is in an element, in lines of its own if it is a block."""
        block = element.tag in _BLOCKS
        if block:
            self.flush()
        if is_closed(element):
            for summary in element.findall("summary")[:1]:
                self.walk(summary)
        else:
            if text := element.text:
                self.text(text)
            for child in element:
                if child.tag == "br":
                    self.flush()
                else:
                    self.walk(child)
                if tail := child.tail:
                    self.text(tail)
        if block:
            self.flush()

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
        tag = element.tag
        name = element.get("aria-label", "")
        if not name and tag in FIELDS:
            kind = element.get("type", "").lower()
            if tag == "input" and kind in BUTTON_TYPES:
                name = element.get("value") or element.get("alt") or kind.title()
            else:
                name = self._label_of(element) or element.get("placeholder") or element.get("title") or ""
                name = name or element.get("name", "")
        elif not name:
            name = visible_text(element) or element.get("title", "")
        return clean(name, MAX_LABEL) or tag

    def _label_of(self, element: HtmlElement) -> str:
        """The text of the <label> that belongs to a field."""
        known = self._label_texts.get(element.attrib.get("id", ""), "")
        if known:
            return known
        parent = next(element.iterancestors("label"), None)
        return "" if parent is None else label_text(parent)

    def _is_shown_by_its_control(self, label: HtmlElement) -> bool:
        """Whether a field of the page already carries this label's text, so that it need not stand twice."""
        target = label.attrib.get("for")
        control = self._fields.get(target) if target else next(label.iterdescendants(*FIELDS), None)
        return control is not None and not is_hidden(control) and "aria-label" not in control.attrib


class HtmlWriter(Writer):
    """Simplified HTML: one block a line, interactive elements with their ids, no wrappers."""

    def __init__(self, elements: Elements, bbox: bool) -> None:
        super().__init__(elements)
        self._bbox = bbox

    def text(self, text: str) -> None:
        at_start = not self._line or self._line[-1].endswith(" ")
        if text.isspace():  # what stands between most elements
            if not at_start:
                self._line.append(" ")
            return
        text = SPACE.sub(" ", text).replace("<", "&lt;")
        if at_start:
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
            if cell.tag not in ("td", "th") or _is_control(cell):
                self.walk(cell)
            elif not is_hidden(cell):
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
        if tag in FIELDS and not self._is_button(element):
            name.append(f'label="{_attribute(shown)}"')
            opening = " ".join([tag, *name, *self._state(element)])
            if tag == "select":
                written = f"<{opening}>" + "".join(
                    f"<option{' selected' if chosen else ''}>{text.replace('<', '&lt;')}</option>"
                    for text, chosen in options(element)
                )
                written += "</select>"
            elif tag == "textarea":
                written = f"<{opening}>{clean(field_value(element)).replace('<', '&lt;')}</textarea>"
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
        return element.tag == "input" and element.get("type", "").lower() in BUTTON_TYPES

    def _state(self, element: HtmlElement) -> list[str]:
        written = []
        if element.tag == "input" and not self._is_button(element):
            kind = element.get("type", "text").lower()
            if kind not in ("text", "search"):
                written.append(f'type="{_attribute(kind)}"')
            if kind not in ("checkbox", "radio", "password", "file") and field_value(element):
                written.append(f'value="{_attribute(clean(field_value(element)))}"')
            elif kind == "password" and field_value(element):
                written.append('value="(hidden)"')
        if not _STATES.isdisjoint(element.keys()):
            written += [flag for flag in _FLAGS if flag in element.attrib]
            if element.tag not in FIELDS and element.get("aria-expanded"):
                written.append(f'aria-expanded="{_attribute(element.get("aria-expanded"))}"')
        if element is self.focused:
            written.append("focused")
        if self._bbox and "data-bbox" in element.attrib:
            written.append(f'data-bbox="{_attribute(element.get("data-bbox"))}"')
        return written


def _attribute(text: str) -> str:
    return text.replace("<", "&lt;").replace('"', "&quot;")


class AxTreeWriter(Writer):
    """An accessibility tree in WebArena's manner: `[12] link 'My Account'`, one node a line."""

    def _interactive(self, element: HtmlElement) -> None:
        self.flush()
        super()._interactive(element)

    def flush(self) -> None:
        line = clean("".join(self._line))
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
        own = clean(visible_text(element))
        if own:
            self.lines.append(f"{self._indent()}heading '{own}'")
        self._row_depth += 1
        for control in _controls(element):
            self._interactive(control)
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
            properties.append("options: " + ", ".join(f"'{text}'" + " (selected)" * on for text, on in options(element)))
        elif tag == "textarea" or (tag == "input" and kind not in BUTTON_TYPES):
            role = _AX_INPUTS.get(kind, "textbox") if tag == "input" else "textbox"
            if role in ("checkbox", "radio"):
                properties.append(f"checked: {str('checked' in attributes).lower()}")
            elif kind != "password":
                properties.append(f"value: '{clean(field_value(element))}'")
        else:
            role = attributes.get("role") or {"a": "link"}.get(tag, "button")
        properties += [f"{flag}: True" for flag in ("disabled", "readonly") if flag in attributes]
        if element is self.focused:
            properties.append("focused: True")
        mark = "" if self.by_label else f"[{address}] "
        name = address if self.by_label else label
        self.lines.append(" ".join([f"{self._indent()}{mark}{role} '{name}'", *properties]))
