"""The walk over the tree of a page, which tells a `Writer` of texts and controls in document order, and the writers of both plain styles."""

from abc import ABC, abstractmethod
from collections import Counter
from typing import Literal, NamedTuple

from lxml.html import HtmlElement

from webarena_gym.pages.dom import BUTTON_KINDS, FIELDS, TICK_KINDS, field_value, is_closed, is_withheld, kind
from webarena_gym.pages.reading import (
    BLOCKS,
    HEADINGS,
    MAX_LABEL,
    MAX_TEXT,
    MAX_VALUE,
    NAMING,
    SKIPPED,
    SPACE,
    Labels,
    clean,
    controls,
    is_control,
    is_editor,
    is_loose,
    is_plain,
    is_plain_link,
    options,
    order_of,
    value_beside,
    visible_text,
    written_value,
)

Elements = Literal["id", "label"]

_BLOCKS = BLOCKS | {"tr", "td", "th"}


class Node(NamedTuple):
    """An interactive element of an observation, and the line of the whole page that it stands on."""

    element: HtmlElement
    line: int


class Writer(ABC):
    """Puts the pieces of a page down in lines. Headings and rows hold more pieces, for which it sends the walk on."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0  # of rows of tables and headings around what comes next

    def reserve_line(self) -> int:
        """Make room for a control, which comes next; return the number of its line."""
        return len(self.lines)

    @abstractmethod
    def text(self, text: str) -> None: ...

    @abstractmethod
    def image(self, alt: str) -> None: ...

    @abstractmethod
    def control(self, element: HtmlElement, name: str, number: str | None) -> None:
        """Write an interactive element with its name, and its number where it is addressed by that."""

    @abstractmethod
    def heading(self, element: HtmlElement, walk: "Walk") -> None: ...

    @abstractmethod
    def row(self, element: HtmlElement, walk: "Walk") -> None: ...

    @abstractmethod
    def flush(self) -> None:
        """End the current line."""


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
            is_unnamed = is_loose(element) or (is_editor(element) and NAMING.isdisjoint(names))
            if is_unnamed and len(visible_text(element)) > MAX_LABEL:  # more than its name tells
                self.enter(element)
        elif tag in HEADINGS:
            self._writer.heading(element, self)
        elif tag == "tr" and not self._writer.depth and element.find(".//table") is None:
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

    def use(self, element: HtmlElement) -> None:
        """Write an interactive element under the next address."""
        line = self._writer.reserve_line()
        address = name = self._labels.of(element)
        if self._by_label:
            while True:  # with its number among equal ones, or the next if another's own label reads so
                self._counts[name] += 1
                if self._counts[name] > 1:
                    address = f"{name} [{self._counts[name]}]"
                if address not in self.nodes:
                    break
            name, number = address, None
        else:
            address = number = str(len(self.nodes))
        self.nodes[address] = Node(element, line)
        self._writer.control(element, name, number)


_ROLES = {"checkbox": "checkbox", "radio": "radio", "number": "spinbutton", "search": "searchbox"}
_ARIA = ("aria-expanded", "aria-checked", "aria-pressed", "aria-selected", "aria-valuenow", "aria-valuetext")


class AxTreeWriter(Writer):
    """Writes one node a line: `[12] link 'My Account'`."""

    def __init__(self, focused: HtmlElement | None) -> None:
        super().__init__()
        self._focused = focused
        self._text: list[str] = []  # of the node to come

    def text(self, text: str) -> None:
        self._text.append(text)

    def image(self, alt: str) -> None:
        self.flush()
        self.lines.append(f"{self._indent()}img '{alt}'")

    def reserve_line(self) -> int:
        self.flush()
        return len(self.lines)

    def control(self, element: HtmlElement, name: str, number: str | None) -> None:
        role, properties = described(element)
        if element is self._focused:
            properties.append("focused: True")
        mark = "" if number is None else f"[{number}] "
        self.lines.append(" ".join([f"{self._indent()}{mark}{role} '{name}'", *properties]))

    def heading(self, element: HtmlElement, walk: Walk) -> None:
        self.flush()
        own = clean(visible_text(element))
        if own:
            self.lines.append(f"{self._indent()}heading '{own}'")
        self.depth += 1
        for control in controls(element):
            walk.use(control)
        self.depth -= 1

    def row(self, element: HtmlElement, walk: Walk) -> None:
        self.flush()
        self.lines.append(f"{self._indent()}row")
        self.depth += 1
        for cell in element:
            walk.visit(cell)
            if cell.tag == "th" and (order := order_of(cell)):
                self.text(f" sorted: {order}")
        self.depth -= 1
        self.flush()

    def flush(self) -> None:
        line = clean("".join(self._text))
        self._text.clear()
        if line:
            self.lines.append(f"{self._indent()}StaticText '{line}'")

    def _indent(self) -> str:
        return "\t" * (self.depth + 1)


def described(element: HtmlElement) -> tuple[str, list[str]]:
    """Return the role of an interactive element, and what is said of it beside its name."""
    tag, attributes = element.tag, element.attrib
    what = kind(element)
    properties = []
    if tag == "select":
        role = "combobox"
        properties.append("options: " + ", ".join(f"'{text}'" + " (selected)" * on for text, on in options(element)))
    elif tag == "textarea" or (tag == "input" and what not in BUTTON_KINDS):
        role = _ROLES.get(what, "textbox") if tag == "input" else "textbox"
        if role in ("checkbox", "radio"):
            properties.append(f"checked: {str('checked' in attributes).lower()}")
        elif what != "password":
            value = written_value(
                element
            )  # each node has one line, so in a value of several a break is \\n and a backslash \\\\
            written = value.replace("\\", "\\\\").replace("\n", "\\n") if "\n" in value else value
            properties.append(f"value: '{written}'")
    else:
        role = clean(attributes.get("role", "")) or {"a": "link"}.get(tag, "button")
        properties += [f"{name.removeprefix('aria-')}: {clean(element.get(name))}" for name in _ARIA if element.get(name)]
        if value := value_beside(element):
            properties.append(f"value: '{clean(value, MAX_VALUE)}'")
    properties += [f"{flag}: True" for flag in ("disabled", "readonly") if flag in attributes]
    if attributes.get("aria-disabled") == "true" and "disabled" not in attributes:
        properties.append("disabled: True")
    return role, properties


_FLAGS = ("checked", "disabled", "readonly", "multiple", "open")
_STATES = frozenset((*_FLAGS, *_ARIA, "aria-disabled"))


class HtmlWriter(Writer):
    """Writes one block a line, interactive elements with their ids, no wrappers; with `bbox`, the `data-bbox` of elements."""

    def __init__(self, focused: HtmlElement | None, *, bbox: bool) -> None:
        super().__init__()
        self._focused = focused
        self._bbox = bbox
        self._line: list[str] = []

    def text(self, text: str) -> None:
        line = self._line
        at_start = not line or line[-1].endswith(" ")
        if text.isspace():  # what stands between most elements
            if not at_start:
                line.append(" ")
            return
        if "  " in text or not text.isprintable():  # else the only white space in it is single spaces
            text = SPACE.sub(" ", text)
        text = text.replace("<", "&lt;")
        if at_start:
            text = text.lstrip()
        if text:
            line.append(text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 3].rstrip() + "...")

    def image(self, alt: str) -> None:
        self._line.append(f'<img alt="{_attribute(alt)}"> ')

    def control(self, element: HtmlElement, name: str, number: str | None) -> None:
        tag = element.tag
        if tag == "textarea" and not self.depth:
            self.flush()
        attributes = [] if number is None else [f'id="{number}"']
        if tag in FIELDS and not _is_button(element):
            attributes.append(f'label="{_attribute(name)}"')
            opening = " ".join([tag, *attributes, *self._state(element)])
            if tag == "select":
                written = f"<{opening}>" + "".join(
                    f"<option{' selected' if chosen else ''}>{text.replace('<', '&lt;')}</option>"
                    for text, chosen in options(element)
                )
                written += "</select>"
            elif tag == "textarea":
                written = f"<{opening}>{written_value(element).replace('<', '&lt;')}</textarea>"
            else:
                written = f"<{opening}>"
        else:
            tag = "button" if tag == "input" else tag
            opening = " ".join([tag, *attributes, *self._state(element)])
            written = f"<{opening}>{name.replace('<', '&lt;')}</{tag}>"
        if self._line and not self._line[-1].endswith((" ", ">")):
            self._line.append(" ")
        self._line.append(written + " ")
        if "\n" in written and not self.depth:
            self.flush()

    def heading(self, element: HtmlElement, walk: Walk) -> None:
        self._enclose(element, walk)

    def row(self, element: HtmlElement, walk: Walk) -> None:
        self.flush()
        self.depth += 1
        self._line.append("<tr>")
        for cell in element:
            if cell.tag not in ("td", "th") or is_control(cell):
                walk.visit(cell)
            elif not is_withheld(cell):
                self._enclose(cell, walk)
        self._line.append("</tr>")
        self.depth -= 1
        self.flush()

    def flush(self) -> None:
        if not self._line:
            return
        if self.depth:
            if not self._line[-1].endswith(" "):
                self._line.append(" ")
            return
        line = "".join(self._line).strip()
        self._line.clear()
        if line:
            self.lines += line.split("\n")

    def _state(self, element: HtmlElement) -> list[str]:
        written = []
        if element.tag == "input" and not _is_button(element):
            what = kind(element)
            if what not in ("text", "search"):
                written.append(f'type="{what}"')
            if what not in TICK_KINDS | {"password"} and field_value(element):
                written.append(f'value="{_attribute(clean(field_value(element)))}"')
            elif what == "password" and field_value(element):
                written.append('value="(hidden)"')
        names = element.keys()
        if not _STATES.isdisjoint(names):
            written += [flag for flag in _FLAGS if flag in element.attrib]
            if element.get("aria-disabled") == "true" and "disabled" not in element.attrib:
                written.append("disabled")
            if element.tag not in FIELDS:
                written += [f'{name}="{_attribute(clean(element.get(name)))}"' for name in _ARIA if element.get(name)]
        if not NAMING.isdisjoint(names) and (value := value_beside(element)):
            written.append(f'value="{_attribute(clean(value, MAX_VALUE))}"')
        if element is self._focused:
            written.append("focused")
        if self._bbox and "data-bbox" in element.attrib:
            written.append(f'data-bbox="{_attribute(element.get("data-bbox"))}"')
        return written

    def _enclose(self, element: HtmlElement, walk: Walk) -> None:
        """Write the content of a heading or cell between its tags, on one line."""
        if not self.depth:
            self.flush()
        start = len(self._line)
        self.depth += 1
        walk.enter(element)
        self.depth -= 1
        inner = "".join(self._line[start:]).strip()
        del self._line[start:]
        tag = element.tag
        order = order_of(element) if tag == "th" else ""
        if inner or tag in ("td", "th"):
            opening = f'{tag} aria-sort="{_attribute(clean(order))}"' if order else tag
            self._line.append(f"<{opening}>{inner}</{tag}>")
        if not self.depth:
            self.flush()


def _is_button(element: HtmlElement) -> bool:
    return element.tag == "input" and kind(element) in BUTTON_KINDS


def _attribute(text: str) -> str:
    return text.replace("<", "&lt;").replace('"', "&quot;")
