"""The texts and names of the elements of a page: what can be read, what can be used, and the label that each control shows."""

import re
from collections.abc import Sequence
from functools import cached_property
from urllib.parse import unquote

from lxml.html import HtmlElement

from webarena_gym.pages.dom import (
    BUTTON_KINDS,
    EDITABLE,
    FIELDS,
    WITHHOLDING,
    field_value,
    is_closed,
    is_out_of_sight,
    is_ticked_by_label,
    is_withheld,
    kind,
    option_label,
    tab_index,
)

MAX_TEXT = 500  # characters of one piece of text
MAX_VALUE = (
    20_000  # characters of a field's value, which must be read whole to be edited; the window of the page cuts it into parts
)
SPACE = re.compile(r"\s+")

SKIPPED = frozenset(
    {"head", "script", "style", "template", "noscript", "svg", "colgroup", "datalist", "object", "canvas", "rp"}
)
BLOCKS = frozenset(
    "address article aside blockquote body caption dd details dialog div dl dt fieldset figcaption figure footer form header"  # noqa: SIM905
    " hr html legend li main nav ol p pre section table tbody tfoot thead ul".split()
)
HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_APART = BLOCKS | HEADINGS | {"br", "tr", "td", "th", "option", "button"}
_USABLE = FIELDS | {"button", "summary"}
LISTENS = "data-listens"
"""The attribute with which a browser with scripts marks elements that react to the mouse, of which their markup says nothing."""
_ENABLING = frozenset({"onclick", "role", "contenteditable", "tabindex", "draggable", LISTENS})
_TELLING = WITHHOLDING | _ENABLING
_MORE_THAN_TEXT = _USABLE | HEADINGS | {"a", "dialog", "iframe", "img", "label", "tr"}
_HOLDING = frozenset({"combobox", "textbox", "searchbox", "spinbutton", "slider"})  # roles of what has a value
_ROLES = _HOLDING | frozenset(
    "button link checkbox radio tab menuitem menuitemcheckbox menuitemradio option switch treeitem".split()  # noqa: SIM905
)
NAMING = frozenset(("aria-label", "aria-labelledby", "aria-placeholder", "data-placeholder"))
"""The attributes that name what shows another text, or none."""
_ARROWS = re.compile("[\u2190-\u21ff\u25b2-\u25c5\u2b06\u2b07]")


def clean(text: str, limit: int = MAX_TEXT) -> str:
    """Return the text on one line, cut at `limit` characters."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 3].rstrip() + "..."


def is_plain(tag: str, names: Sequence[str]) -> bool:
    """Say whether an element is shown and only holds others, by its tag and the names of its attributes, as that of most does."""
    return tag not in _MORE_THAN_TEXT and _TELLING.isdisjoint(names)


def is_plain_link(element: HtmlElement, names: Sequence[str]) -> bool:
    """Say whether an `a`, with attributes of these names, is shown, leads somewhere and holds text alone, as most do."""
    return "href" in names and not len(element) and _TELLING.isdisjoint(names)


def is_interactive(element: HtmlElement) -> bool:
    """Say whether a person could click or fill the element."""
    tag = element.tag
    if tag in _USABLE or (tag == "a" and element.get("href") is not None):
        return True
    if _ENABLING.isdisjoint(element.keys()):
        return False
    return _has_use(element) or is_loose(element)


def _has_use(element: HtmlElement) -> bool:
    return "onclick" in element.attrib or element.get("role") in _ROLES or element.get("contenteditable") in EDITABLE


def is_loose(element: HtmlElement) -> bool:
    """Say whether an element can be used though it is of no kind that says so: it may well be a whole part of the page."""
    if element.tag in _USABLE or element.tag == "a" or _has_use(element):
        return False
    index = tab_index(element)
    return LISTENS in element.attrib or element.get("draggable") == "true" or (index is not None and index >= 0)


def controls(element: HtmlElement) -> list[HtmlElement]:
    """Return what can be used inside an element; a clickable wrapper around other clickables gives way to them."""
    found: list[HtmlElement] = []
    for child in element.findall("summary")[:1] if is_closed(element) else element:
        if isinstance(child.tag, str) and child.tag not in SKIPPED and not is_withheld(child):
            inner = [] if child.tag in FIELDS or is_editor(child) else controls(child)
            found += inner or ([child] if is_interactive(child) else [])
    return found


def _holds_control(element: HtmlElement) -> bool:
    """Say whether `controls` finds any; this stops at the first, so that wrappers in wrappers do not cost the square."""
    return any(
        isinstance(child.tag, str)
        and child.tag not in SKIPPED
        and not is_withheld(child)
        and (is_interactive(child) or _holds_control(child))
        for child in (element.findall("summary")[:1] if is_closed(element) else element)
    )


def is_control(element: HtmlElement) -> bool:
    """Say whether the element is used as a whole, and not by what is inside it."""
    return is_interactive(element) and (
        element.tag in FIELDS or not len(element) or is_editor(element) or not _holds_control(element)
    )


def is_editor(element: HtmlElement) -> bool:
    """Say whether a person writes into the element, so that links in it are text."""
    return element.get("contenteditable") in EDITABLE


def visible_text(element: HtmlElement) -> str:
    """Return the text that a person would read in the element, blocks apart, images by their alternative text."""
    if element.tag == "a" and not len(element) and not is_withheld(element):  # as most that are asked for
        return " ".join((element.text or "").split())
    parts: list[str] = []
    _collect(element, parts)
    return " ".join("".join(parts).split())


def _collect(element: HtmlElement, parts: list[str]) -> None:
    tag = element.tag
    if not isinstance(tag, str) or tag in SKIPPED or is_withheld(element):
        return
    if tag == "img":
        parts.append(" " + element.get("alt", ""))
    if is_closed(element):
        for summary in element.findall("summary")[:1]:
            _collect(summary, parts)
        return
    if element.text:
        parts.append(element.text)
    for child in element:
        apart = child.tag in _APART
        if apart:
            parts.append(" ")
        _collect(child, parts)
        if apart:
            parts.append(" ")
        if child.tail:
            parts.append(child.tail)


def value_beside(element: HtmlElement) -> str:
    """Return what an element shows beside the name that an attribute gives it: what it holds, or a bare number; else "".

    Words beside such a name say the same more briefly.
    """
    if element.tag in FIELDS or NAMING.isdisjoint(element.keys()):
        return ""
    text = visible_text(element)
    holds = element.get("role") in _HOLDING or element.get("aria-haspopup", "false") != "false" or is_editor(element)
    is_number = any(map(str.isdigit, text)) and not any(map(str.isalpha, text))
    return text if (holds or is_number) and (text not in element.get("aria-label", "") or is_editor(element)) else ""


def order_of(header: HtmlElement) -> str:
    """Return how a table is sorted by a column, unless an arrow in the column's header shows it; "" if it is not."""
    order: str = header.get("aria-sort", "none")
    return "" if order == "none" or _ARROWS.search(visible_text(header)) else order


def label_text(label: HtmlElement) -> str:
    """Return the text of a label that wraps its field, without the field's own text."""
    parts = [label.text or ""]
    for child in label.iterdescendants():
        if isinstance(child.tag, str) and child.tag not in (*FIELDS, "option", "optgroup"):
            parts.append(child.text or "")
        if child.tag not in ("option", "optgroup"):
            parts.append(child.tail or "")
    return clean(" ".join(parts))


def written_value(element: HtmlElement, limit: int = MAX_VALUE) -> str:
    """Return the value of a text field as it is shown: on one line, or where it has several lines, as it is; cut at `limit`."""
    value = field_value(element).rstrip()
    if "\n" not in value:
        return clean(value, limit)
    return value if len(value) <= limit else value[: limit - 3].rstrip() + "..."


def options(element: HtmlElement) -> list[tuple[str, bool]]:
    """Return the text of each option of a drop-down list, and whether it is chosen."""
    return [
        ("" if is_withheld(option) else option_label(option), "selected" in option.attrib) for option in element.iter("option")
    ]


MAX_LABEL = 80  # characters of one label
_NO_PLACE = re.compile(r"(?i)javascript:.*|#?")
_ENDING = re.compile(r"\.(html?|php|aspx?|jsp)$", re.IGNORECASE)


class Labels:
    """The labels of one document: what its <label>s say, and of which fields."""

    def __init__(self, root: HtmlElement) -> None:
        self._texts: dict[str, str] = {}
        self._fields: dict[str, HtmlElement] = {}
        self._root = root
        self._named: dict[str, str] = {}
        for element in root.iter("label", *FIELDS):
            if element.tag == "label":
                if (target := element.attrib.get("for")) and not self._texts.get(target):
                    self._texts[target] = visible_text(element)
            elif identity := element.attrib.get("id"):
                self._fields.setdefault(identity, element)

    def of(self, element: HtmlElement) -> str:
        """Return the name by which a person would call the element; its tag when it has none."""
        tag = element.tag
        name = element.get("aria-label") or self._named_by(element)
        if not name and tag in FIELDS:
            what = kind(element)
            if tag == "input" and what in BUTTON_KINDS:
                name = element.get("value") or element.get("alt") or what.title()
            else:
                name = self._beside(element) or element.get("placeholder") or element.get("title") or ""
                name = name or element.get("name", "")
        elif not name:
            hint = element.get("aria-placeholder") or element.get("data-placeholder") if is_editor(element) else ""
            name = hint or visible_text(element) or element.get("title") or _pictured(element) or _hinted(element)
        return clean(name, MAX_LABEL) or tag

    def _named_by(self, element: HtmlElement) -> str:
        """Return the text of the elements that `aria-labelledby` names."""
        wanted = element.get("aria-labelledby")
        return " ".join(self._text_of(each) for each in wanted.split()) if wanted else ""

    def _text_of(self, identity: str) -> str:
        """Return what a label shows of the first element with that id; read once, however many elements are named by it."""
        if identity in self._elements:
            named = self._elements.pop(identity)
            self._named[identity] = clean(visible_text(named) or named.text_content(), MAX_LABEL)  # also of what is hidden
        return self._named.get(identity, "")

    @cached_property
    def _elements(self) -> dict[str, HtmlElement]:
        """The elements with an id, by the id, as far as `_named` has not their texts."""
        found: dict[str, HtmlElement] = {}
        for element in self._root.iter("*"):
            if identity := element.get("id"):
                found.setdefault(identity, element)
        return found

    def _beside(self, field: HtmlElement) -> str:
        """Return the text of the <label> that belongs to a field."""
        known = self._texts.get(field.attrib.get("id", ""), "")
        if known:
            return known
        parent = next(field.iterancestors("label"), None)
        return "" if parent is None else label_text(parent)

    def control_of(self, label: HtmlElement) -> HtmlElement | None:
        """Return the field that a label belongs to."""
        target = label.attrib.get("for")
        return self._fields.get(target) if target else next(label.iterdescendants(*FIELDS), None)

    def is_shown_by_its_control(self, label: HtmlElement) -> bool:
        """Say whether a field of the page already carries this label's text, so that it need not stand twice."""
        control = self.control_of(label)
        return control is not None and not is_out_of_sight(control) and "aria-label" not in control.attrib

    def hidden_control_of(self, label: HtmlElement) -> HtmlElement | None:
        """Return the field that cannot be seen and is used by this label of it: a styled checkbox, radio or file field."""
        control = self.control_of(label)
        stands_for = control is not None and is_ticked_by_label(control) and is_out_of_sight(control)
        return control if stands_for else None


def _pictured(element: HtmlElement) -> str:
    """Return what the picture in an element without text is said to show."""
    for inner in element.iterdescendants():
        named = inner.text if inner.tag == "title" else inner.get("aria-label") or inner.get("title") or inner.get("alt")
        if isinstance(inner.tag, str) and named and named.strip():
            return str(named)
    return ""


def _hinted(element: HtmlElement) -> str:
    """Return what nobody sees, but is better than no name: where a link leads, what scripts or styles call an icon."""
    address = element.get("href", "").strip() if element.tag == "a" else ""
    if not _NO_PLACE.fullmatch(address):
        parts = [part for part in re.split(r"[/#]", address.removeprefix("mailto:")) if part]
        return _ENDING.sub("", unquote(parts[-1])) if parts else "/"
    hints = (element.get(name) for name in ("value", "name", "id"))
    looks = (each.get("class") for each in (*element.iterdescendants("i", "span", "svg"), element))
    return next(filter(None, (*hints, *looks)), "")
