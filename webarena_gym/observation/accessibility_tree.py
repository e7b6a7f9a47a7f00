"""Pages as accessibility trees, in WebArena's manner."""

from lxml.html import HtmlElement

from webarena_gym.observation.walk import Walk
from webarena_gym.pages.dom import BUTTON_KINDS, kind
from webarena_gym.pages.reading import clean, controls, options, order_of, value_beside, visible_text, written_value

_ROLES = {"checkbox": "checkbox", "radio": "radio", "number": "spinbutton", "search": "searchbox"}
_ARIA = ("aria-expanded", "aria-checked", "aria-pressed", "aria-selected", "aria-valuenow", "aria-valuetext")


class AxTreeWriter:
    """A `Writer` of one node a line: `[12] link 'My Account'`.

    Args:
        focused: the element that has the focus.

    """

    def __init__(self, focused: HtmlElement | None) -> None:
        self.lines: list[str] = []
        self._focused = focused
        self._text: list[str] = []  # of the node to come
        self._depth = 0  # of rows and headings, whose nodes are indented

    @property
    def is_in_row(self) -> bool:
        return self._depth > 0

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
        self._depth += 1
        for control in controls(element):
            walk.use(control)
        self._depth -= 1

    def row(self, element: HtmlElement, walk: Walk) -> None:
        self.flush()
        self.lines.append(f"{self._indent()}row")
        self._depth += 1
        for cell in element:
            walk.visit(cell)
            if cell.tag == "th" and (order := order_of(cell)):
                self.text(f" sorted: {order}")
        self._depth -= 1
        self.flush()

    def flush(self) -> None:
        line = clean("".join(self._text))
        self._text.clear()
        if line:
            self.lines.append(f"{self._indent()}StaticText '{line}'")

    def _indent(self) -> str:
        return "\t" * (self._depth + 1)


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
            properties.append(f"value: '{_one_line(written_value(element))}'")
    else:
        role = clean(attributes.get("role", "")) or {"a": "link"}.get(tag, "button")
        properties += [f"{name.removeprefix('aria-')}: {clean(element.get(name))}" for name in _ARIA if element.get(name)]
        if value := value_beside(element):
            properties.append(f"value: '{clean(value)}'")
    properties += [f"{flag}: True" for flag in ("disabled", "readonly") if flag in attributes]
    if attributes.get("aria-disabled") == "true" and "disabled" not in attributes:
        properties.append("disabled: True")
    return role, properties


def _one_line(value: str) -> str:
    r"""Return a value on one line, as each node has one: a line break is written \n, and in such a value a backslash \\."""
    return value.replace("\\", "\\\\").replace("\n", "\\n") if "\n" in value else value
