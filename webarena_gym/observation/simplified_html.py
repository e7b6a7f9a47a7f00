"""Pages as simplified HTML, in the manner of WebArena-Lite's agents."""

from lxml.html import HtmlElement

from webarena_gym.observation.walk import Walk
from webarena_gym.pages.dom import BUTTON_KINDS, FIELDS, TICK_KINDS, field_value, is_withheld, kind
from webarena_gym.pages.reading import MAX_TEXT, SPACE, clean, is_control, options, order_of, value_beside, written_value

_FLAGS = ("checked", "disabled", "readonly", "multiple", "open")
_ARIA = ("aria-expanded", "aria-checked", "aria-pressed", "aria-selected", "aria-valuenow", "aria-valuetext")
_NAMING = frozenset(("aria-label", "aria-labelledby"))
_STATES = frozenset((*_FLAGS, *_ARIA, "aria-disabled"))


class HtmlWriter:
    """A `Writer` of one block a line, interactive elements with their ids, no wrappers.

    Args:
        focused: the element that has the focus.
        bbox: whether to write the `data-bbox` that a browser with layout has stamped on the elements.

    """

    def __init__(self, focused: HtmlElement | None, *, bbox: bool) -> None:
        self.lines: list[str] = []
        self._focused = focused
        self._bbox = bbox
        self._line: list[str] = []
        self._depth = 0  # of rows and headings, which are one line each

    @property
    def is_in_row(self) -> bool:
        return self._depth > 0

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

    def reserve_line(self) -> int:
        return len(self.lines)

    def control(self, element: HtmlElement, name: str, number: str | None) -> None:
        tag = element.tag
        if tag == "textarea" and not self._depth:
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
        if "\n" in written and not self._depth:
            self.flush()

    def heading(self, element: HtmlElement, walk: Walk) -> None:
        self._enclose(element, walk)

    def row(self, element: HtmlElement, walk: Walk) -> None:
        self.flush()
        self._depth += 1
        self._line.append("<tr>")
        for cell in element:
            if cell.tag not in ("td", "th") or is_control(cell):
                walk.visit(cell)
            elif not is_withheld(cell):
                self._enclose(cell, walk)
        self._line.append("</tr>")
        self._depth -= 1
        self.flush()

    def flush(self) -> None:
        if not self._line:
            return
        if self._depth:
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
            if what not in TICK_KINDS | {"password", "file"} and field_value(element):
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
        if not _NAMING.isdisjoint(names) and (value := value_beside(element)):
            written.append(f'value="{_attribute(clean(value))}"')
        if element is self._focused:
            written.append("focused")
        if self._bbox and "data-bbox" in element.attrib:
            written.append(f'data-bbox="{_attribute(element.get("data-bbox"))}"')
        return written

    def _enclose(self, element: HtmlElement, walk: Walk) -> None:
        """Write the content of a heading or cell between its tags, on one line."""
        if not self._depth:
            self.flush()
        start = len(self._line)
        self._depth += 1
        walk.enter(element)
        self._depth -= 1
        inner = "".join(self._line[start:]).strip()
        del self._line[start:]
        tag = element.tag
        order = order_of(element) if tag == "th" else ""
        if inner or tag in ("td", "th"):
            opening = f'{tag} aria-sort="{_attribute(clean(order))}"' if order else tag
            self._line.append(f"<{opening}>{inner}</{tag}>")
        if not self._depth:
            self.flush()


def _is_button(element: HtmlElement) -> bool:
    return element.tag == "input" and kind(element) in BUTTON_KINDS


def _attribute(text: str) -> str:
    return text.replace("<", "&lt;").replace('"', "&quot;")
