"""What a person could read and use in an element of a page."""

import re

from lxml.html import HtmlElement

MAX_TEXT = 500  # characters of one piece of text
SPACE = re.compile(r"\s+")
_LINE_BREAK = re.compile(r"\r\n?")

SKIPPED = frozenset(
    {"head", "script", "style", "template", "noscript", "svg", "colgroup", "datalist", "object", "canvas", "rp"}
)
BLOCKS = frozenset(
    "address article aside blockquote body caption dd details dialog div dl dt fieldset figcaption figure footer form header"  # noqa: SIM905
    " hr html legend li main nav ol p pre section table tbody tfoot thead ul".split()
)
HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
FIELDS = frozenset({"input", "select", "textarea"})
BUTTON_TYPES = frozenset({"submit", "button", "reset", "image"})
_APART = BLOCKS | HEADINGS | {"br", "tr", "td", "th", "option", "button"}
_HIDING = frozenset({"hidden", "aria-hidden", "style"})
_USABLE = FIELDS | {"button", "summary"}
LISTENS = "data-listens"
"""What a browser with scripts stamps on elements that react to the mouse, of which their markup says nothing."""
_ENABLING = frozenset({"onclick", "role", "contenteditable", "tabindex", "draggable", LISTENS})
_HOLDING = frozenset({"combobox", "textbox", "searchbox", "spinbutton", "slider"})  # roles of what has a value
_ROLES = _HOLDING | frozenset(
    "button link checkbox radio tab menuitem menuitemcheckbox menuitemradio option switch treeitem".split()  # noqa: SIM905
)
_EDITABLE = ("", "true", "plaintext-only")
_TICKED = frozenset({"checkbox", "radio", "file"})
_ARROWS = re.compile("[\u2190-\u21ff\u25b2-\u25c5\u2b06\u2b07]")


def clean(text: str, limit: int = MAX_TEXT) -> str:
    """Return the text on one line, cut at `limit` characters."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 3].rstrip() + "..."


def is_hidden(element: HtmlElement) -> bool:
    """Say whether the markup itself hides the element; style sheets are a matter of browsers with layout."""
    tag, names = element.tag, element.keys()
    if (tag == "input" and element.get("type", "").lower() == "hidden") or (tag == "dialog" and "open" not in names):
        return True
    if _HIDING.isdisjoint(names):  # as most elements: one look at all names is faster than one for each
        return False
    if "hidden" in element.attrib or element.get("aria-hidden") == "true":
        return True
    style = element.get("style")
    return style is not None and ("display:none" in style.replace(" ", "") or "visibility:hidden" in style.replace(" ", ""))


def is_closed(element: HtmlElement) -> bool:
    """Say whether the element shows its summary alone."""
    return element.tag == "details" and "open" not in element.attrib


def is_interactive(element: HtmlElement) -> bool:
    """Say whether a person could click or fill the element."""
    tag = element.tag
    if tag in _USABLE or (tag == "a" and element.get("href") is not None):
        return True
    if _ENABLING.isdisjoint(element.keys()):
        return False
    return _has_use(element) or is_loose(element)


def _has_use(element: HtmlElement) -> bool:
    return "onclick" in element.attrib or element.get("role") in _ROLES or element.get("contenteditable") in _EDITABLE


def is_loose(element: HtmlElement) -> bool:
    """Say whether an element can be used though it is of no kind that says so: it may well be a whole part of the page."""
    if element.tag in _USABLE or element.tag == "a" or _has_use(element):
        return False
    place = element.get("tabindex", "").strip()
    return LISTENS in element.attrib or element.get("draggable") == "true" or place.isdecimal()


def is_ticked_by_label(control: HtmlElement) -> bool:
    """Say whether a click on a control's label is as good as one on the control, so that this may be hidden."""
    return control.tag == "input" and control.get("type", "").strip().lower() in _TICKED


def controls(element: HtmlElement) -> list[HtmlElement]:
    """Return what can be used inside an element; a clickable wrapper around other clickables gives way to them."""
    found: list[HtmlElement] = []
    for child in element.findall("summary")[:1] if is_closed(element) else element:
        if isinstance(child.tag, str) and child.tag not in SKIPPED and not is_hidden(child):
            inner = [] if child.tag in FIELDS else controls(child)
            found += inner or ([child] if is_interactive(child) else [])
    return found


def _holds_control(element: HtmlElement) -> bool:
    """Say whether `controls` finds any; this stops at the first, so that wrappers in wrappers do not cost the square."""
    return any(
        isinstance(child.tag, str)
        and child.tag not in SKIPPED
        and not is_hidden(child)
        and (is_interactive(child) or _holds_control(child))
        for child in (element.findall("summary")[:1] if is_closed(element) else element)
    )


def is_control(element: HtmlElement) -> bool:
    """Say whether the element is used as a whole, and not by what is inside it."""
    return is_interactive(element) and (element.tag in FIELDS or not len(element) or not _holds_control(element))


def visible_text(element: HtmlElement) -> str:
    """Return the text that a person would read in the element, blocks apart, images by their alternative text."""
    if element.tag == "a" and not len(element) and not is_hidden(element):  # as most that are asked for
        return " ".join((element.text or "").split())
    parts: list[str] = []
    _collect(element, parts)
    return " ".join("".join(parts).split())


def _collect(element: HtmlElement, parts: list[str]) -> None:
    tag = element.tag
    if not isinstance(tag, str) or tag in SKIPPED or is_hidden(element):
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
    if element.tag in FIELDS or ("aria-label" not in element.attrib and "aria-labelledby" not in element.attrib):
        return ""
    text = visible_text(element)
    holds = (
        element.get("role") in _HOLDING
        or element.get("aria-haspopup", "false") != "false"
        or element.get("contenteditable") in _EDITABLE
    )
    is_number = any(map(str.isdigit, text)) and not any(map(str.isalpha, text))
    return text if (holds or is_number) and text not in element.get("aria-label", "") else ""


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


def field_value(element: HtmlElement) -> str:
    """Return the live value of a text field; the line breaks of a textarea are those of HTML's API value, line feeds."""
    if element.tag != "textarea":
        value: str = element.attrib.get("value", "")
        return value
    return _LINE_BREAK.sub("\n", element.text or "")


def written_value(element: HtmlElement, limit: int = MAX_TEXT) -> str:
    """Return the value of a text field as it is shown: on one line, or where it has several lines, as it is; cut at `limit`."""
    value = field_value(element).rstrip()
    if "\n" not in value:
        return clean(value, limit)
    return value if len(value) <= limit else value[: limit - 3].rstrip() + "..."


def options(element: HtmlElement) -> list[tuple[str, bool]]:
    """Return the text of each option of a drop-down list, and whether it is chosen."""
    return [(visible_text(option), "selected" in option.attrib) for option in element.iter("option")]
