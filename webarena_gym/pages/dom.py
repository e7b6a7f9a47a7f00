"""Facts of HTML about the elements of a page: their kinds, their values, their visibility and their focus.

Browsers and observations both read pages by these functions. All are pure. Live state stands in the attributes, as
`webarena_gym.pages.page` says. Style sheets are a matter of browsers with layout; of styles, the attribute alone is read.

Four words are kept apart:

- an element is *rendered* when nothing takes its box away: no `hidden`, no `display: none`, no closed dialog or details around it;
- it is *visible* when it is rendered and no `visibility` hides it: what can be clicked, and with some more conditions have the focus;
- it is *withheld* when its own markup keeps it, and all that is in it, from who reads the page: also by `aria-hidden`;
- it is *focusable* when keys can be brought to it, and a *tab stop* when the Tab key does so.
"""

import re
from collections.abc import Iterable, Iterator
from math import inf

from lxml import etree
from lxml.html import HtmlElement

SINGLE_LINE_KINDS = frozenset(
    ("text", "search", "tel", "url", "email", "password", "number", "date", "month", "week", "time", "datetime-local")
)
TYPEABLE_KINDS = SINGLE_LINE_KINDS | {"range", "color", "textarea"}
BUTTON_KINDS = frozenset(("submit", "image", "reset", "button"))
SUBMIT_KINDS = frozenset(("submit", "image"))
TICK_KINDS = frozenset(("checkbox", "radio"))
FIELDS = frozenset(("input", "select", "textarea"))
CONTROL_TAGS = ("input", "select", "textarea", "button")
_INPUT_KINDS = SINGLE_LINE_KINDS | BUTTON_KINDS | TICK_KINDS | {"range", "color", "file", "hidden"}
_LABELABLE_TAGS = (*CONTROL_TAGS, "meter", "output", "progress")
DEEPEST = 200
"""The depth of nested elements to which recursive readers go."""
EDITABLE = ("", "true", "plaintext-only")
"""The values of `contenteditable` that let a person write."""

is_too_deep = etree.XPath(f"boolean({'/*' * (DEEPEST + 1)})")
"""Says of a root whether elements are nested deeper than that."""
_NAMING_FORM = etree.XPath("//*[@form = $form]")
_LINE_BREAK = re.compile(r"\r\n?")
WITHHOLDING = frozenset(("hidden", "aria-hidden", "style"))
_INTEGER = re.compile(r"[ \t\n\f\r]*+([+-]?[0-9]{1,9})")
_VISIBILITIES = frozenset(("visible", "hidden", "collapse"))
_DISPLAYS = frozenset(
    "none block inline inline-block contents flow-root list-item flex inline-flex grid inline-grid table inline-table table-row"  # noqa: SIM905
    " table-cell table-caption table-column table-column-group table-row-group table-header-group table-footer-group ruby"
    " initial inherit unset".split()
)


def kind(element: HtmlElement) -> str:
    """Return the type of an input or button, in lower case with HTML's default, or else the tag."""
    if element.tag == "input":
        given = element.get("type", "").strip().lower()
        return given if given in _INPUT_KINDS else "text"
    if element.tag == "button":
        given = element.get("type", "").strip().lower()
        return given if given in BUTTON_KINDS - {"image"} else "submit"
    return str(element.tag)


def squeeze(text: str | None) -> str:
    """Return the text with every run of white space made one space, and none at the ends."""
    return " ".join((text or "").split())


def by_id(element: HtmlElement, wanted: str) -> HtmlElement | None:
    """Return the first element of the same document with that id."""
    return element.getroottree().getroot().get_element_by_id(wanted, None) if wanted else None


# Whose a control is.


def owner(control: HtmlElement) -> HtmlElement | None:
    """Return the form that a control belongs to: the one its attribute `form` names, or the one around it."""
    if "form" in control.attrib:
        named = by_id(control, control.get("form"))
        return named if named is not None and named.tag == "form" else None
    return next(control.iterancestors("form"), None)


def controls(form: HtmlElement) -> list[HtmlElement]:
    """Return the controls that belong to a form, in document order."""
    root = form.getroottree().getroot()
    # Looking through the whole document takes long on a page of many forms, and few forms have controls elsewhere.
    scope = root if "id" in form.attrib and _NAMING_FORM(root, form=form.get("id")) else form
    return [control for control in scope.iter(*CONTROL_TAGS) if owner(control) is form]


def radio_group(radio: HtmlElement) -> list[HtmlElement]:
    """Return the radios of which only one can be ticked, this one among them."""
    name, form = radio.get("name"), owner(radio)
    if not name:
        return [radio]
    return [
        other
        for other in radio.getroottree().getroot().iter("input")
        if other.get("name") == name and kind(other) == "radio" and owner(other) is form
    ]


def labelled_control(label: HtmlElement) -> HtmlElement | None:
    """Return the control that a click on a label reaches: the one `for` names, or the first inside."""
    if "for" in label.attrib:
        named = by_id(label, label.get("for"))
        candidates = iter([] if named is None else [named])
    else:
        candidates = label.iterdescendants(*_LABELABLE_TAGS)
    return next((control for control in candidates if control.tag in _LABELABLE_TAGS and kind(control) != "hidden"), None)


def labels_of(control: HtmlElement) -> list[HtmlElement]:
    """Return the labels of which a click reaches a control."""
    return [label for label in control.getroottree().getroot().iter("label") if labelled_control(label) is control]


def is_ticked_by_label(control: HtmlElement) -> bool:
    """Say whether a click on a control's label is as good as one on the control, so that this may be hidden."""
    return control.tag == "input" and kind(control) in TICK_KINDS | {"file"}


def summary_of(details: HtmlElement) -> HtmlElement | None:
    """Return the element that opens and closes `details`."""
    return next(details.iterchildren("summary"), None)


def is_closed(element: HtmlElement) -> bool:
    """Say whether the element shows its summary alone."""
    return element.tag == "details" and "open" not in element.attrib


def is_link(element: HtmlElement) -> bool:
    """Return whether an element leads somewhere."""
    return element.tag in {"a", "area"} and "href" in element.attrib


def is_summary(element: HtmlElement) -> bool:
    """Return whether an element opens and closes the `details` around it."""
    parent = element.getparent()
    return element.tag == "summary" and parent.tag == "details" and summary_of(parent) is element


# What a control holds.


def field_value(element: HtmlElement) -> str:
    """Return the live value of a text field; the line breaks of a textarea are those of HTML's API value, line feeds."""
    if element.tag != "textarea":
        value: str = element.attrib.get("value", "")
        return value
    return _LINE_BREAK.sub("\n", element.text or "")


def option_label(option: HtmlElement) -> str:
    """Return the text that the list shows for an option."""
    return squeeze(option.get("label") or option.text_content())


def option_value(option: HtmlElement) -> str:
    """Return what an option sends."""
    return str(option.get("value", squeeze(option.text_content())))


def selected_options(select: HtmlElement) -> list[HtmlElement]:
    """Return the options that are chosen."""
    return [option for option in select.iter("option") if "selected" in option.attrib]


# What is shown.


def is_rendered(element: HtmlElement) -> bool:
    """Say whether nothing, on the element or around it, takes its box away."""
    inner = None
    for part in (element, *element.iterancestors()):
        if _has_no_box(part) or (is_closed(part) and inner is not None and inner is not summary_of(part)):
            return False
        inner = part
    return True


def is_visible(element: HtmlElement) -> bool:
    """Say whether a person could see the element: it is rendered, and the nearest word on its visibility is none against it."""
    return is_rendered(element) and not _is_invisible(element)


def is_withheld(element: HtmlElement) -> bool:
    """Say whether the element's own markup keeps it, and all that is in it, from who reads the page."""
    tag, names = element.tag, element.keys()
    if tag == "input" and kind(element) == "hidden":
        return True
    if WITHHOLDING.isdisjoint(names):  # as most elements: one look at all names is faster than one for each
        return tag == "dialog" and "open" not in names
    if element.get("aria-hidden") == "true" or _has_no_box(element):
        return True
    style = element.get("style")
    return style is not None and _hides(style) and not any(map(is_visible, element.iterdescendants("*")))


def is_out_of_sight(element: HtmlElement) -> bool:
    """Say whether the markup of the element, or of what is around it, keeps it from who reads the page."""
    return is_withheld(element) or any(map(is_withheld, element.iterancestors()))


def is_out_of_reach(element: HtmlElement) -> bool:
    """Say whether nobody can click an element: it is not visible, and no label that is visible ticks it."""
    if is_visible(element):
        return False
    return not (is_ticked_by_label(element) and any(map(is_visible, labels_of(element))))


def _has_no_box(element: HtmlElement) -> bool:
    if element.tag == "input" and kind(element) == "hidden":
        return True
    attributes = element.attrib
    if "style" in attributes and (display := _declared(attributes["style"], "display")):
        return display == "none"  # a style goes before what the browser itself would hide
    return "hidden" in attributes or (element.tag == "dialog" and "open" not in attributes)


def _is_invisible(element: HtmlElement) -> bool:
    for part in (element, *element.iterancestors()):
        if "style" in part.attrib and _declared(part.get("style"), "visibility") in _VISIBILITIES:
            return _hides(part.get("style"))
    return False


def _hides(style: str) -> bool:
    return _declared(style, "visibility") in ("hidden", "collapse")


def _declared(style: str, name: str) -> str:
    """Return the value that a style attribute gives to `display` or `visibility`: the last valid one, or the important one.

    >>> _declared("Display:none; color: red; display: BLOCK; display: nonsense", "display")
    'block'
    """
    if name not in style.lower():
        return ""
    allowed = _DISPLAYS if name == "display" else _VISIBILITIES
    found, is_important = "", False
    for declaration in style.lower().split(";"):
        key, _, given = declaration.partition(":")
        value, mark, rest = given.partition("!")
        value = value.strip()
        if key.strip() == name and value in allowed and (not mark or rest.strip() == "important"):
            if mark or not is_important:
                found = value
            is_important = is_important or bool(mark)
    return found


# What takes the focus.


def is_disabled(control: HtmlElement) -> bool:
    """Return whether a control or option is disabled, itself or by what is around it."""
    if "disabled" in control.attrib:
        return True
    if control.tag == "option":
        return any("disabled" in group.attrib for group in control.iterancestors("optgroup"))
    for fieldset in control.iterancestors("fieldset"):
        if "disabled" in fieldset.attrib:
            legend = next(fieldset.iterchildren("legend"), None)
            if legend is None or legend not in control.iterancestors("legend"):
                return True
    return False


def is_focusable(element: HtmlElement) -> bool:
    """Return whether a click can bring keys to an element."""
    if element.tag in CONTROL_TAGS:
        can_be = not is_disabled(element)
    else:
        can_be = (
            is_link(element)
            or is_summary(element)
            or tab_index(element) is not None
            or element.get("contenteditable") in EDITABLE
        )
    return can_be and is_visible(element) and not any("inert" in part.attrib for part in (element, *element.iterancestors()))


def tab_stops(root: HtmlElement) -> list[HtmlElement]:
    """Return the elements to which the Tab key goes, in its order.

    Positive values of `tabindex` come first, in their order; a group of radios is gone to once. A `details` is a scope of its own, as
    in Chromium: what is in it follows it directly, and is left out with it where its `tabindex` is negative.
    """
    return list(_stops_in([root]))


def _stops_in(parts: Iterable[HtmlElement]) -> Iterator[HtmlElement]:
    """Yield the stops of a scope: of these elements and all that is in them, but for what a nested `details` keeps together."""
    found = [(index, each) for part in parts for each in _members(part) if (index := tab_index(each) or 0) >= 0]
    for _, element in sorted(found, key=lambda pair: pair[0] or inf):  # equal ones stay in the order of the document
        if is_focusable(element) and _is_stop_of_its_group(element):
            yield element
        if element.tag == "details":
            summary = summary_of(element)
            yield from _stops_in([] if summary is None else [summary])
            yield from _stops_in(child for child in element.iterchildren("*") if child is not summary)


def _members(element: HtmlElement) -> Iterator[HtmlElement]:
    yield element
    if element.tag != "details":
        for child in element.iterchildren("*"):
            yield from _members(child)


def next_stop(root: HtmlElement, start: HtmlElement | None, *, backwards: bool) -> HtmlElement | None:
    """Return the element to which the Tab key goes from `start`, or from where the document begins; None after the last."""
    stops = tab_stops(root)
    if backwards:
        stops.reverse()
    if start is None:
        return next(iter(stops), None)
    if start in stops:
        return next(iter(stops[stops.index(start) + 1 :]), None)
    elements = list(root.iter("*"))
    if backwards:
        elements.reverse()
    places = {element: place for place, element in enumerate(elements)}
    return next((stop for stop in stops if places[stop] > places[start]), None)


def tab_index(element: HtmlElement) -> int | None:
    """Return what the attribute `tabindex` says; None without a number."""
    given = _INTEGER.match(element.get("tabindex", ""))
    return int(given[1]) if given else None


def _is_stop_of_its_group(element: HtmlElement) -> bool:
    """Say whether the Tab key goes to a radio: to the ticked one of its group, or where none is that takes the focus, to any."""
    if kind(element) != "radio" or "checked" in element.attrib:
        return True
    return not any("checked" in radio.attrib and is_focusable(radio) for radio in radio_group(element))
