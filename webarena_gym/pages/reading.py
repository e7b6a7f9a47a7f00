"""Texts and names of page elements: visible text, interactive elements and their accessible names."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple
from urllib.parse import unquote

from lxml import etree
from lxml.html import HtmlElement

from webarena_gym.pages.dom import (
    BUTTON_TYPES,
    CONTROL_TAGS,
    EDITABLE_VALUES,
    FIELD_TAGS,
    HIDING_ATTRIBUTES,
    element_type,
    field_value,
    is_closed_details,
    is_excluded,
    is_in_excluded,
    is_label_operable,
    is_rendered,
    normalize_space,
    option_label,
    tab_index,
)
from webarena_gym.texts import comparable, cut

# Characters of a field's value. An agent must see all of it to edit it, and the observation's window splits long ones.
MAX_VALUE = 20_000
MAX_LABEL = 80  # characters of one label
SPACE = re.compile(r"\s+")

SKIPPED_TAGS = frozenset(
    {
        "annotation",
        "annotation-xml",
        "head",
        "script",
        "style",
        "template",
        "noscript",
        "svg",
        "colgroup",
        "datalist",
        "canvas",
        "rp",
        "audio",
        "video",
        "noembed",
        "noframes",
    }
)
BLOCK_TAGS = frozenset(
    "address article aside blockquote body caption dd details dialog div dl dt fieldset figcaption figure footer form header"  # noqa: SIM905
    " hr html legend li main nav ol p pre section table tbody tfoot thead ul".split()
)
STRUCK_TAGS = frozenset({"s", "del", "strike"})
"""Tags whose text is shown struck through: it no longer applies, such as an old price."""
HEADING_TAGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_SEPARATED_TAGS = BLOCK_TAGS | HEADING_TAGS | {"br", "tr", "td", "th", "option", "button"}
_INTERACTIVE_TAGS = FIELD_TAGS | {"button", "summary"}
LISTENER_ATTRIBUTE = "data-listens"
"""Attribute by which a browser with scripts marks elements that listen to the mouse without saying so in their markup."""
_INTERACTIVE_ATTRIBUTES = frozenset({"onclick", "role", "contenteditable", "tabindex", "draggable", LISTENER_ATTRIBUTE})
_SIGNIFICANT_ATTRIBUTES = HIDING_ATTRIBUTES | _INTERACTIVE_ATTRIBUTES
_LINK_TAGS = frozenset({"a", "area"})
_SPECIAL_TAGS = _INTERACTIVE_TAGS | HEADING_TAGS | _LINK_TAGS | {"dialog", "iframe", "img", "label", "ol", "tr"} | STRUCK_TAGS
_VALUE_ROLES = frozenset({"combobox", "textbox", "searchbox", "spinbutton", "slider"})
INTERACTIVE_ROLES = _VALUE_ROLES | frozenset(
    "button link checkbox radio tab menuitem menuitemcheckbox menuitemradio option switch treeitem".split()  # noqa: SIM905
)
_DRAWN_TAGS = frozenset({"audio", "canvas", "embed", "iframe", "img", "object", "svg", "video"})
"""Tags of elements whose content is not in the tree."""
NAMING_ATTRIBUTES = frozenset(("aria-label", "aria-labelledby", "aria-placeholder", "data-placeholder"))
"""Attributes that name an element independently of its text."""
STRUCK_MARK = "~~"
_LABEL_TEXTS = etree.XPath("descendant::text()[not(ancestor::select or ancestor::textarea)]")
_ARROWS = re.compile("[\u2190-\u21ff\u25b2-\u25c5\u2b06\u2b07]")


def single_line(text: str, limit: int | None = None) -> str:
    """Return the text on one line, truncated to `limit` characters if there is a limit."""
    text = " ".join(text.split())
    return text if limit is None or len(text) <= limit else text[: limit - 3].rstrip() + "..."


def is_plain_container(tag: str, names: Sequence[str]) -> bool:
    """Return True if an element with this tag and these attribute names is a visible container without meaning.

    Most elements are; this test is a fast path that needs no look at attribute values.
    """
    return tag not in _SPECIAL_TAGS and _SIGNIFICANT_ATTRIBUTES.isdisjoint(names)


def is_plain_link(element: HtmlElement, names: Sequence[str]) -> bool:
    """Return True if an `a` element with these attribute names is a visible link that contains only text.

    Most links are; like `is_plain_container`, this is a fast path.
    """
    return "href" in names and not len(element) and _SIGNIFICANT_ATTRIBUTES.isdisjoint(names)


def is_interactive(element: HtmlElement) -> bool:
    """Return True if a user can click or fill the element."""
    tag = element.tag
    if tag in _INTERACTIVE_TAGS or (tag in _LINK_TAGS and element.get("href") is not None):
        return True
    if _INTERACTIVE_ATTRIBUTES.isdisjoint(element.keys()):
        return False
    return _is_declared_control(element) or is_untyped_control(element)


def _is_declared_control(element: HtmlElement) -> bool:
    return (
        "onclick" in element.attrib
        or element.get("role") in INTERACTIVE_ROLES
        or element.get("contenteditable") in EDITABLE_VALUES
    )


def is_untyped_control(element: HtmlElement) -> bool:
    """Return True if an element is interactive only by a listener, `draggable` or `tabindex`, not by its tag or role.

    Such an element may contain a whole section of the page.
    """
    has_type = element.tag in _INTERACTIVE_TAGS or (element.tag in _LINK_TAGS and element.get("href") is not None)
    if has_type or _is_declared_control(element):
        return False
    if LISTENER_ATTRIBUTE in element.attrib or element.get("draggable") == "true":
        return True
    index = tab_index(element)
    return index is not None and index >= 0 and not _is_focus_guard(element)


def _is_focus_guard(element: HtmlElement) -> bool:
    """Return True if an element with a `tabindex` has no name and no content: scripts use such elements to keep the focus in a dialog."""
    return (
        element.tag not in _DRAWN_TAGS
        and not element.get("title")
        and NAMING_ATTRIBUTES.isdisjoint(element.keys())
        and element.find("*") is None
        and not element.text_content().strip()
    )


def inner_controls(element: HtmlElement) -> list[HtmlElement]:
    """Return the interactive elements inside an element. Of nested ones, only the innermost are returned."""
    result: list[HtmlElement] = []
    for child in element.findall("summary")[:1] if is_closed_details(element) else element:
        if isinstance(child.tag, str) and child.tag not in SKIPPED_TAGS and not is_excluded(child):
            nested = [] if child.tag in FIELD_TAGS or is_editor(child) else inner_controls(child)
            result += nested or ([child] if is_interactive(child) else [])
    return result


def _contains_control(element: HtmlElement) -> bool:
    """Return True if `inner_controls` is not empty. Stops at the first one, so that nested wrappers take linear time."""
    return any(
        isinstance(child.tag, str)
        and child.tag not in SKIPPED_TAGS
        and not is_excluded(child)
        and (is_interactive(child) or _contains_control(child))
        for child in (element.findall("summary")[:1] if is_closed_details(element) else element)
    )


def is_control(element: HtmlElement) -> bool:
    """Return True if the element itself is the control, rather than an interactive element inside it."""
    return is_interactive(element) and (
        element.tag in FIELD_TAGS or not len(element) or is_editor(element) or not _contains_control(element)
    )


def is_editor(element: HtmlElement) -> bool:
    """Return True if the element's content is editable, so that links in it are text."""
    return element.get("contenteditable") in EDITABLE_VALUES and element.tag not in CONTROL_TAGS


def visible_text(element: HtmlElement, *, marks_struck: bool = False, for_name: bool = False) -> str:
    """Return the visible text of an element on one line: blocks separated by spaces, images as their alternative text.

    `marks_struck` encloses struck text in two tildes, as Markdown does. `for_name` returns the text that names a control: without
    fields in it, and with the `aria-label` of a part instead of its text.
    """
    if element.tag == "a" and not len(element) and not is_excluded(element):  # fast path for the most frequent case
        return " ".join((element.text or "").split())
    parts: list[str] = []
    _collect(element, parts, marks_struck, for_name)
    return " ".join("".join(parts).split())


def _collect(element: HtmlElement, parts: list[str], marks_struck: bool, for_name: bool) -> None:
    tag = element.tag
    if not isinstance(tag, str) or tag in SKIPPED_TAGS or is_excluded(element) or (for_name and tag in FIELD_TAGS):
        return
    if for_name and (label := element.get("aria-label", "").strip()):
        parts.append(label)
        return
    if tag in ("img", "area"):
        parts.append(" " + element.get("alt", ""))
    if is_closed_details(element):
        for summary in element.findall("summary")[:1]:
            _collect(summary, parts, marks_struck, for_name)
        return
    if element.text:
        parts.append(element.text)
    for child in element:
        is_separated = child.tag in _SEPARATED_TAGS
        mark = " " if is_separated else STRUCK_MARK if marks_struck and child.tag in STRUCK_TAGS else ""
        if mark:
            parts.append(mark)
        _collect(child, parts, marks_struck, for_name)
        if mark:
            parts.append(mark)
        if child.tail:
            parts.append(child.tail)


def displayed_value(element: HtmlElement) -> str:
    """Return the value that an element shows in addition to the name in its attributes; "" if it has none.

    That is the text of an element with a value, such as a combobox, or a text with digits and no letters, such as a counter.
    Any other text only repeats the name.
    """
    if element.tag in FIELD_TAGS or NAMING_ATTRIBUTES.isdisjoint(element.keys()):
        return ""
    text = visible_text(element)
    has_value = element.get("role") in _VALUE_ROLES or element.get("aria-haspopup", "false") != "false" or is_editor(element)
    is_number = any(map(str.isdigit, text)) and not any(map(str.isalpha, text))
    return text if (has_value or is_number) and (text not in element.get("aria-label", "") or is_editor(element)) else ""


def sort_order(header: HtmlElement) -> str:
    """Return the sort order of a table's column from `aria-sort`; "" if it has none or its header already shows an arrow."""
    order: str = header.get("aria-sort", "none")
    return "" if order == "none" or _ARROWS.search(visible_text(header)) else order


def label_text(label: HtmlElement) -> str:
    """Return the text of a label, without the text of fields in it.

    A label that a style sheet hides names its field in both browsers, only one of which knows the style sheet.
    """
    return visible_text(label, for_name=True) or single_line(" ".join(_LABEL_TEXTS(label)), MAX_LABEL)


def displayed_field_value(element: HtmlElement, limit: int = MAX_VALUE) -> str:
    """Return the value of a text field for display, truncated to `limit` characters.

    A single line is stripped and its white space collapsed; a text of several lines keeps its white space.
    """
    value = field_value(element).rstrip()
    return cut(value if "\n" in value else single_line(value), limit)


class Option(NamedTuple):
    """An option of a drop-down list, with the name that selects it and the label of its `optgroup` ("" without one)."""

    element: HtmlElement
    name: str
    group: str


def options(select: HtmlElement) -> list[Option]:
    """Return the options of a drop-down list. Of options with the same text, the second is named "Text [2]"."""
    counts: Counter[str] = Counter()
    result = []
    for element in select.iter("option"):
        label, parent = option_label(element), element.getparent()
        counts[label] += 1
        name = label if counts[label] == 1 or not label else f"{label} [{counts[label]}]"
        group = normalize_space(parent.get("label")) if parent.tag == "optgroup" else ""
        result.append(Option(element, "" if is_excluded(element) else name, group))
    return result


_NUMBER = re.compile(r" \[\d+\]$")


def split_number(label: str) -> tuple[str, str]:
    """Return a label without the number that distinguishes equal labels, and that number with its space and brackets.

    >>> split_number("View Order [2]"), split_number("View Order")
    (('View Order', ' [2]'), ('View Order', ''))
    """
    match = _NUMBER.search(label)
    return (label[: match.start()], match[0]) if match else (label, "")


def plain_name(text: str) -> str:
    """Return a name in the form in which names are compared: on one line, composed, without invisible characters."""
    return " ".join(comparable(text).split())


_NO_DESTINATION = re.compile(r"(?i)javascript:.*|#?")
_FILE_EXTENSION = re.compile(r"\.(html?|php|aspx?|jsp)$", re.IGNORECASE)


class Labels:
    """The accessible names of the elements of one document, and the fields of its `<label>` elements."""

    def __init__(self, root: HtmlElement) -> None:
        self._fields: dict[str, HtmlElement] = {}
        self._root = root
        self._referenced_texts: dict[str, str] = {}
        texts: defaultdict[str, list[str]] = defaultdict(list)  # of the labels of each field
        for element in root.iter("label", *FIELD_TAGS):
            if element.tag == "label":
                field = None if "for" in element.attrib else next(element.iterdescendants(*FIELD_TAGS), None)
                target = element.get("for", "") if field is None else field.get("id", "")
                if target:
                    texts[target].append(label_text(element))
            elif identity := element.attrib.get("id"):
                self._fields.setdefault(identity, element)
        self._texts = {target: " ".join(parts) for target, parts in texts.items()}

    def name_of(self, element: HtmlElement) -> str:
        """Return the accessible name of an element, at most MAX_LABEL characters; its tag if it has none.

        https://www.w3.org/TR/accname-1.2/ with Chromium's order of attributes. Values of fields are no part of names, which they would
        change, and a control without a name has one from its markup.
        """
        tag = element.tag
        is_named = not NAMING_ATTRIBUTES.isdisjoint(element.keys())
        name = (self._labelledby_text(element) or element.get("aria-label", "").strip()) if is_named else ""
        if not name and tag in FIELD_TAGS:
            type_name = element_type(element)
            if tag == "input" and type_name in BUTTON_TYPES:
                hints = {"image": ("alt", "value", "title"), "button": ("value", "title")}.get(type_name, ("value",))
                name = next(filter(None, map(element.get, hints)), "Submit" if type_name == "image" else type_name.title())
            else:
                name = self._label_element_text(element) or element.get("title") or element.get("placeholder") or ""
                name = name or element.get("name", "")
        elif not name:
            hint = element.get("aria-placeholder") or element.get("data-placeholder") if is_named and is_editor(element) else ""
            name = (
                hint
                or visible_text(element, marks_struck=True, for_name=True)
                or element.get("title")
                or _picture_name(element)
                or _fallback_name(element)
            )
        return single_line(name, MAX_LABEL) or tag

    def _labelledby_text(self, element: HtmlElement) -> str:
        """Return the text of the elements referenced by `aria-labelledby`."""
        references = element.get("aria-labelledby")
        return " ".join(self._referenced_text(identity) for identity in references.split()) if references else ""

    def _referenced_text(self, identity: str) -> str:
        """Return the text of the first element with this id. It is computed once, even if many elements reference it."""
        if identity in self._elements_by_id:
            target = self._elements_by_id.pop(identity)
            text = visible_text(target, for_name=True) or target.text_content()  # hidden elements name others, too
            self._referenced_texts[identity] = single_line(text, MAX_LABEL)
        return self._referenced_texts.get(identity, "")

    @cached_property
    def _elements_by_id(self) -> dict[str, HtmlElement]:
        """Elements by id, without those whose text is in `_referenced_texts`."""
        elements: dict[str, HtmlElement] = {}
        for element in self._root.iter("*"):
            if identity := element.get("id"):
                elements.setdefault(identity, element)
        return elements

    def _label_element_text(self, field: HtmlElement) -> str:
        """Return the text of the `<label>` of a field."""
        text = self._texts.get(field.attrib.get("id", ""), "")
        if text:
            return text
        parent = next(field.iterancestors("label"), None)
        return "" if parent is None else label_text(parent)

    def control_of(self, label: HtmlElement) -> HtmlElement | None:
        """Return the field of a label."""
        target = label.attrib.get("for")
        return self._fields.get(target) if target else next(label.iterdescendants(*FIELD_TAGS), None)

    def is_shown_by_control(self, label: HtmlElement) -> bool:
        """Return True if the label's text is already shown as the name of its field, so that it need not be repeated."""
        control = self.control_of(label)
        if control is None or _is_hidden(control) or "aria-label" in control.attrib:
            return False
        return element_type(control) not in BUTTON_TYPES

    def hidden_control_of(self, label: HtmlElement) -> HtmlElement | None:
        """Return the hidden checkbox, radio button or file field that this label replaces; None if there is none."""
        control = self.control_of(label)
        is_replaced = control is not None and is_label_operable(control) and _is_hidden(control)
        return control if is_replaced else None


def _is_hidden(control: HtmlElement) -> bool:
    return is_in_excluded(control) or (next(control.iterancestors("details"), None) is not None and not is_rendered(control))


def _picture_name(element: HtmlElement) -> str:
    """Return the name or title of a picture in an element; "" if it has none."""
    for part in element.iterdescendants():
        name = part.text if part.tag == "title" else part.get("aria-label") or part.get("title") or part.get("alt")
        if isinstance(part.tag, str) and name and name.strip():
            return str(name)
    return ""


def _fallback_name(element: HtmlElement) -> str:
    """Return a name from invisible markup: the end of a link's address, else its value, name, id or class."""
    address = element.get("href", "").strip() if element.tag in _LINK_TAGS else ""
    if not _NO_DESTINATION.fullmatch(address):
        parts = [part for part in re.split(r"[/#]", address.removeprefix("mailto:")) if part]
        return _FILE_EXTENSION.sub("", unquote(parts[-1])) if parts else "/"
    hints = (element.get(name) for name in ("value", "name", "id"))
    classes = (part.get("class") for part in (*element.iterdescendants("i", "span", "svg"), element))
    return next(filter(None, (*hints, *classes)), "")
