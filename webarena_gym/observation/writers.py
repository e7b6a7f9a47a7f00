"""The tree walk that passes the texts and controls of a page to a `Writer`, and the writers of the HTML and axtree styles."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from typing import Literal, NamedTuple

from lxml.html import HtmlElement

from webarena_gym.pages.dom import (
    BUTTON_TYPES,
    CHECKABLE_TYPES,
    FIELD_TAGS,
    element_type,
    field_value,
    is_closed_details,
    is_disabled,
    is_excluded,
)
from webarena_gym.pages.reading import (
    BLOCK_TAGS,
    HEADING_TAGS,
    MAX_LABEL,
    MAX_VALUE,
    NAMING_ATTRIBUTES,
    SKIPPED_TAGS,
    SPACE,
    STRUCK_MARK,
    STRUCK_TAGS,
    Labels,
    Option,
    displayed_field_value,
    displayed_value,
    inner_controls,
    is_control,
    is_editor,
    is_plain_container,
    is_plain_link,
    is_untyped_control,
    options,
    single_line,
    sort_order,
    visible_text,
)
from webarena_gym.pages.tables import RowSpans, list_markers, span_of

Elements = Literal["id", "label"]
"""Names of elements in actions: their number in the page, or their visible label."""

_BLOCKS = BLOCK_TAGS | {"tr", "td", "th"}


class Node(NamedTuple):
    """An interactive element of an observation and its line number in the whole page text.

    Attributes:
        element: the element of the page's tree.
        line: index of its line in the text of the whole page, from 0.

    """

    element: HtmlElement
    line: int


class Writer(ABC):
    """Writes the texts and controls of a page as lines. For headings and table rows it calls back into the walker.

    Args:
        max_text: number of characters after which a text is cut and ends with "..."; None writes all texts whole.

    """

    def __init__(self, max_text: int | None) -> None:
        self.lines: list[str] = []
        self._max_text = max_text
        self.depth = 0  # number of table rows and headings around the current position

    def reserve_line(self) -> int:
        """Return the line number of the control that is written next."""
        return len(self.lines)

    @abstractmethod
    def text(self, text: str) -> None: ...

    def struck(self, element: HtmlElement, walker: "TreeWalker") -> None:
        """Write struck text between marks."""
        self.text(STRUCK_MARK)
        walker.visit_children(element)
        self.text(STRUCK_MARK)

    def _clip(self, text: str) -> str:
        limit = self._max_text
        return text if limit is None or len(text) <= limit else text[: limit - 3].rstrip() + "..."

    @abstractmethod
    def image(self, alt: str) -> None: ...

    @abstractmethod
    def control(self, element: HtmlElement, name: str, number: str | None) -> None:
        """Write an interactive element with its name, and with its number if elements are addressed by number."""

    @abstractmethod
    def heading(self, element: HtmlElement, walker: "TreeWalker") -> None: ...

    @abstractmethod
    def row(self, element: HtmlElement, walker: "TreeWalker") -> None: ...

    @abstractmethod
    def flush(self) -> None:
        """End the current line."""


class TreeWalker:
    """Visits the elements of a document in order, calls a writer for each text and control, and assigns addresses to controls.

    After `visit(root)`, `nodes` maps each address (number or label) to its element and line.
    """

    def __init__(self, root: HtmlElement, writer: Writer, elements: Elements) -> None:
        self.nodes: dict[str, Node] = {}
        self._writer = writer
        self._by_label = elements == "label"
        self._labels = Labels(root)
        self._counts: Counter[str] = Counter()
        self._written_hidden_controls: set[HtmlElement] = set()
        self._markers: dict[HtmlElement, str] = {}  # of list items
        self._spans = RowSpans()

    def visit(self, element: HtmlElement) -> None:
        """Write an element with its descendants, without its tail text."""
        tag = element.tag
        if tag in SKIPPED_TAGS or not isinstance(tag, str):
            return
        if is_plain_container(tag, names := element.keys()):
            self.visit_children(element)
            return
        if tag == "a" and is_plain_link(element, names):
            self.write_control(element)
            return
        if is_excluded(element):
            return
        if tag == "label" and (hidden := self._labels.hidden_control_of(element)) is not None:
            self._write_hidden_control(element, hidden)
        elif is_control(element):
            self.write_control(element)
            is_unnamed = is_untyped_control(element) or (is_editor(element) and NAMING_ATTRIBUTES.isdisjoint(names))
            if is_unnamed and len(visible_text(element)) > MAX_LABEL:  # its name is cut, so the text is written, too
                self.visit_children(element)
        elif tag in HEADING_TAGS:
            self._writer.heading(element, self)
        elif tag == "tr" and not self._writer.depth and element.find(".//table") is None:
            self._writer.row(element, self)
        elif tag == "label" and self._labels.is_shown_by_control(element):
            for control in inner_controls(element):
                self.write_control(control)
        else:
            self._write_content(element)

    def _write_content(self, element: HtmlElement) -> None:
        tag = element.tag
        if tag in STRUCK_TAGS:
            self._writer.struck(element, self)
        elif tag == "img":
            if alt := single_line(element.get("alt", "")):
                self._writer.image(alt)
        else:
            if tag == "iframe":
                self._writer.text("[frame] ")
            elif tag == "ol":
                self._markers |= list_markers(element)
            self.visit_children(element)

    def visit_children(self, element: HtmlElement) -> None:
        """Write the content of an element, on separate lines if it is a block."""
        writer = self._writer
        block = element.tag in _BLOCKS
        if block:
            writer.flush()
        if is_closed_details(element):
            for summary in element.findall("summary")[:1]:
                self.visit(summary)
        else:
            if self._markers and (marker := self._markers.get(element)):
                writer.text(f"{marker} ")
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

    def row_cells(self, row: HtmlElement) -> Iterator[tuple[HtmlElement | None, str]]:
        """Yield (cell, "") for each child of a table row and (None, text) for each cell of an earlier row that spans it."""
        return self._spans.cells(row)

    def _write_hidden_control(self, label: HtmlElement, hidden: HtmlElement) -> None:
        """Write a hidden control at the position of the label that operates it; only once if it has several labels."""
        if hidden not in self._written_hidden_controls:
            self._written_hidden_controls.add(hidden)
            self.write_control(hidden)
        for control in inner_controls(label):
            self.write_control(control)

    def write_control(self, element: HtmlElement) -> None:
        """Write an interactive element under the next address."""
        line = self._writer.reserve_line()
        address = name = self._labels.name_of(element)
        if self._by_label:
            while True:  # number equal names; skip a numbered name that is the real name of another element
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
    """Writes one node per line: `[12] link 'My Account'`."""

    def __init__(self, focused: HtmlElement | None, max_text: int | None = None) -> None:
        super().__init__(max_text)
        self._focused = focused
        self._text: list[str] = []  # parts of the next text node

    def text(self, text: str) -> None:
        self._text.append(text)

    def image(self, alt: str) -> None:
        self.flush()
        self.lines.append(f"{self._indent()}img '{alt}'")

    def reserve_line(self) -> int:
        self.flush()
        return len(self.lines)

    def control(self, element: HtmlElement, name: str, number: str | None) -> None:
        role, properties = role_and_properties(element)
        if element is self._focused:
            properties.append("focused: True")
        mark = "" if number is None else f"[{number}] "
        self.lines.append(" ".join([f"{self._indent()}{mark}{role} '{name}'", *properties]))

    def heading(self, element: HtmlElement, walker: TreeWalker) -> None:
        self.flush()
        title = self._clip(visible_text(element, marks_struck=True))
        if title:
            self.lines.append(f"{self._indent()}heading '{title}'")
        self.depth += 1
        for control in inner_controls(element):
            walker.write_control(control)
        self.depth -= 1

    def row(self, element: HtmlElement, walker: TreeWalker) -> None:
        self.flush()
        self.lines.append(f"{self._indent()}row")
        self.depth += 1
        for cell, text in walker.row_cells(element):
            if cell is None:
                self.text(f" {text}")
                self.flush()
                continue
            walker.visit(cell)
            if cell.tag == "th" and (order := sort_order(cell)):
                self.text(f" sorted: {order}")
        self.depth -= 1
        self.flush()

    def flush(self) -> None:
        line = self._clip(single_line("".join(self._text)))
        self._text.clear()
        if line:
            self.lines.append(f"{self._indent()}StaticText '{line}'")

    def _indent(self) -> str:
        return "\t" * (self.depth + 1)


def role_and_properties(element: HtmlElement) -> tuple[str, list[str]]:
    """Return the role of an interactive element and its properties, such as "checked: true"."""
    tag, attributes = element.tag, element.attrib
    type_name = element_type(element)
    properties = []
    if tag == "select":
        role = "combobox"
        properties.append("options: " + ", ".join(map(_option_text, options(element))))
    elif tag == "textarea" or (tag == "input" and type_name not in BUTTON_TYPES):
        role = _ROLES.get(type_name, "textbox") if tag == "input" else "textbox"
        if role in ("checkbox", "radio"):
            properties.append(f"checked: {str('checked' in attributes).lower()}")
        elif type_name != "password":
            value = displayed_field_value(element)
            # Each node is one line, so line breaks and backslashes of a value with several lines are escaped.
            escaped = value.replace("\\", "\\\\").replace("\n", "\\n") if "\n" in value else value
            properties.append(f"value: '{escaped}'")
    else:
        role = single_line(attributes.get("role", "")) or {"a": "link", "area": "link"}.get(tag, "button")
        properties += [f"{name.removeprefix('aria-')}: {single_line(element.get(name))}" for name in _ARIA if element.get(name)]
        if value := displayed_value(element):
            properties.append(f"value: '{single_line(value, MAX_VALUE)}'")
    properties += [f"{flag}: True" for flag in ("disabled", "readonly") if flag in attributes]
    if attributes.get("aria-disabled") == "true" and "disabled" not in attributes:
        properties.append("disabled: True")
    return role, properties


def _option_text(option: Option) -> str:
    attributes = option.element.attrib
    return (
        f"'{option.name}'"
        + " (selected)" * ("selected" in attributes)
        + " (disabled)" * is_disabled(option.element)
        + f" (in '{option.group}')" * bool(option.group)
    )


_FLAGS = ("checked", "disabled", "readonly", "multiple", "open")
_STATES = frozenset((*_FLAGS, *_ARIA, "aria-disabled"))


class HtmlWriter(Writer):
    """Writes simplified HTML: one block per line, interactive elements with their ids, no wrapper elements.

    With `bbox`, the attribute `data-bbox` of elements is written, too.
    """

    def __init__(self, focused: HtmlElement | None, max_text: int | None = None, *, bbox: bool) -> None:
        super().__init__(max_text)
        self._focused = focused
        self._bbox = bbox
        self._line: list[str] = []

    def text(self, text: str) -> None:
        line = self._line
        at_start = not line or line[-1].endswith(" ")
        if text.isspace():  # fast path: most text between elements
            if not at_start:
                line.append(" ")
            return
        if "  " in text or not text.isprintable():  # otherwise its only white space is single spaces
            text = SPACE.sub(" ", text)
        text = text.replace("<", "&lt;")
        if at_start:
            text = text.lstrip()
        if text:
            line.append(self._clip(text))

    def struck(self, element: HtmlElement, walker: TreeWalker) -> None:
        self._line.append(f"<{element.tag}>")
        walker.visit_children(element)
        self._line.append(f"</{element.tag}>")

    def image(self, alt: str) -> None:
        self._line.append(f'<img alt="{_escape(alt)}"> ')

    def control(self, element: HtmlElement, name: str, number: str | None) -> None:
        tag = element.tag
        if tag == "textarea" and not self.depth:
            self.flush()
        attributes = [] if number is None else [f'id="{number}"']
        if tag in FIELD_TAGS and not _is_button(element):
            attributes.append(f'label="{_escape(name)}"')
            start_tag = " ".join([tag, *attributes, *self._state_attributes(element)])
            if tag == "select":
                markup = f"<{start_tag}>{_options_markup(element)}</select>"
            elif tag == "textarea":
                markup = f"<{start_tag}>{displayed_field_value(element).replace('<', '&lt;')}</textarea>"
            else:
                markup = f"<{start_tag}>"
        else:
            tag = "button" if tag == "input" else tag
            start_tag = " ".join([tag, *attributes, *self._state_attributes(element)])
            markup = f"<{start_tag}>{name.replace('<', '&lt;')}</{tag}>"
        if self._line and not self._line[-1].endswith((" ", ">")):
            self._line.append(" ")
        self._line.append(markup + " ")
        if "\n" in markup and not self.depth:
            self.flush()

    def heading(self, element: HtmlElement, walker: TreeWalker) -> None:
        self._enclose(element, walker)

    def row(self, element: HtmlElement, walker: TreeWalker) -> None:
        self.flush()
        self.depth += 1
        self._line.append("<tr>")
        for cell in element:
            if cell.tag not in ("td", "th") or is_control(cell):
                walker.visit(cell)
            elif not is_excluded(cell):
                self._enclose(cell, walker)
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

    def _state_attributes(self, element: HtmlElement) -> list[str]:
        """Return the attributes that describe an element's state, such as `type="checkbox"` and `checked`."""
        attributes = []
        if element.tag == "input" and not _is_button(element):
            type_name = element_type(element)
            if type_name not in ("text", "search"):
                attributes.append(f'type="{type_name}"')
            if type_name not in CHECKABLE_TYPES | {"password"} and field_value(element):
                attributes.append(f'value="{_escape(displayed_field_value(element))}"')
            elif type_name == "password" and field_value(element):
                attributes.append('value="(hidden)"')
        names = element.keys()
        if not _STATES.isdisjoint(names):
            attributes += [flag for flag in _FLAGS if flag in element.attrib]
            if element.get("aria-disabled") == "true" and "disabled" not in element.attrib:
                attributes.append("disabled")
            if element.tag not in FIELD_TAGS:
                attributes += [f'{name}="{_escape(single_line(element.get(name)))}"' for name in _ARIA if element.get(name)]
        if not NAMING_ATTRIBUTES.isdisjoint(names) and (value := displayed_value(element)):
            attributes.append(f'value="{_escape(single_line(value, MAX_VALUE))}"')
        if element is self._focused:
            attributes.append("focused")
        if self._bbox and "data-bbox" in element.attrib:
            attributes.append(f'data-bbox="{_escape(element.get("data-bbox"))}"')
        return attributes

    def _enclose(self, element: HtmlElement, walker: TreeWalker) -> None:
        """Write the content of a heading or table cell between its tags, on one line."""
        if not self.depth:
            self.flush()
        start = len(self._line)
        self.depth += 1
        walker.visit_children(element)
        self.depth -= 1
        content = "".join(self._line[start:]).strip()
        del self._line[start:]
        tag = element.tag
        order = sort_order(element) if tag == "th" else ""
        if content or tag in ("td", "th"):
            start_tag = f'{tag} aria-sort="{_escape(single_line(order))}"' if order else tag
            if not _SPANS.isdisjoint(names := element.keys()):
                start_tag += "".join(f' {name}="{span_of(element, name)}"' for name in names if name in _SPANS)
            self._line.append(f"<{start_tag}>{content}</{tag}>")
        if not self.depth:
            self.flush()


_SPANS = frozenset(("colspan", "rowspan"))


def _options_markup(select: HtmlElement) -> str:
    parts, group = [], None
    for element, name, label in options(select):
        parent = element.getparent() if label else None
        if parent is not group:
            parts.append("</optgroup>" * (group is not None) + f'<optgroup label="{_escape(label)}">' * (parent is not None))
            group = parent
        flags = " selected" * ("selected" in element.attrib) + " disabled" * is_disabled(element)
        parts.append(f"<option{flags}>{name.replace('<', '&lt;')}</option>")
    return "".join(parts) + "</optgroup>" * (group is not None)


def _is_button(element: HtmlElement) -> bool:
    return element.tag == "input" and element_type(element) in BUTTON_TYPES


def _escape(text: str) -> str:
    return text.replace("<", "&lt;").replace('"', "&quot;")
