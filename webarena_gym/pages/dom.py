"""HTML semantics of page elements: control types, form ownership, values, visibility and state.

Browsers and observations read pages with these pure functions. Live state is stored in the attributes; see
`webarena_gym.pages.page.Page`. Of styles, only the `style` attribute is read: browsers write what style sheets hide and show into
attributes.

Terms:

- An element is *rendered* if it has a box: no `hidden`, no `display: none`, and no closed dialog or details around it.
- It is *visible* if it is rendered and no `visibility` hides it. Only visible elements can be clicked or focused.
- It is *excluded* if its own markup removes it and its descendants from the page text. `aria-hidden` excludes, too.
"""

import re
from typing import Literal

from lxml import etree
from lxml.html import HtmlElement

DATE_TYPES = frozenset(("date", "month", "week", "time", "datetime-local"))
SINGLE_LINE_TYPES = DATE_TYPES | {"text", "search", "tel", "url", "email", "password", "number"}
TYPEABLE_TYPES = SINGLE_LINE_TYPES | {"range", "color", "textarea"}
BUTTON_TYPES = frozenset(("submit", "image", "reset", "button"))
SUBMIT_TYPES = frozenset(("submit", "image"))
CHECKABLE_TYPES = frozenset(("checkbox", "radio"))
FIELD_TAGS = frozenset(("input", "select", "textarea"))
CONTROL_TAGS = ("input", "select", "textarea", "button")
_INPUT_TYPES = SINGLE_LINE_TYPES | BUTTON_TYPES | CHECKABLE_TYPES | {"range", "color", "file", "hidden"}
_LABELABLE_TAGS = (*CONTROL_TAGS, "meter", "output", "progress")
MAX_DEPTH = 200
"""Maximum depth of nested elements that recursive functions read."""
EDITABLE_VALUES = ("", "true", "plaintext-only")
"""Values of `contenteditable` that make an element editable."""

is_too_deep = etree.XPath(f"boolean({'/*' * (MAX_DEPTH + 1)})")
"""XPath on a root element: true if elements are nested deeper than `MAX_DEPTH`."""
FORM_OWNER = "data-form-owner"
"""Attribute of forms, and of controls that belong to a form which is not around them, such as one between table rows: the form's number."""
_CONTROLS_NAMING_FORM = etree.XPath("//*[@form = $form]")
_OPTION_TEXTS = etree.XPath("descendant::text()[not(parent::script)]")
_OWNING_FORM = etree.XPath(f"//form[@{FORM_OWNER} = $number]")
_LINE_BREAK = re.compile(r"\r\n?")
_ASCII_SPACES = re.compile(r"[ \t\n\f\r]+")
UNREACHABLE = "data-unreachable"
"""Attribute of elements that have a box and can have the focus, but that nobody can see or click: clipped, or outside of the page."""
USER_VALIDITY = "data-user-validity"
"""Attribute of controls whose validity the pseudo-classes `:user-valid` and `:user-invalid` show."""
HIDING_ATTRIBUTES = frozenset(("hidden", "aria-hidden", "style", "popover", UNREACHABLE))
TOP_LAYER = "data-top-layer"
"""Attribute of live state: "popover" on each open popover, and "modal" on the modal dialog that makes the rest of the page inert."""
OPEN_POPOVERS = etree.XPath(f"//*[@{TOP_LAYER} = 'popover']")
_OPEN_DIALOGS = etree.XPath("//dialog[@open]")
_HIDDEN_TAGS = frozenset(("annotation", "annotation-xml", "datalist", "noembed", "noframes", "noscript", "rp", "template"))
_BOXLESS_TAGS = _HIDDEN_TAGS | {"audio", "dialog", "input"}
_BOX_ATTRIBUTES = frozenset(("hidden", "popover", "style"))
_FALLBACK_TAGS = frozenset(("audio", "canvas", "meter", "progress", "video"))
"""Elements whose content is shown only by a browser that does not support them."""
_CLOSABLE_TAGS = _FALLBACK_TAGS | {"details", "option", "select"}
_SHOWN_UNTIL_FOUND = frozenset(
    "a abbr b bdi bdo cite code data del dfn em font i ins kbd label mark q s samp small span strong sub sup time tt u var"  # noqa: SIM905
    " button iframe img input select textarea".split()
)
"""Inline elements, on which `hidden=until-found` has no effect, and those that have a box of their own."""
_INTEGER = re.compile(r"[ \t\n\f\r]*+([+-]?[0-9]{1,9})")
_VISIBILITIES = frozenset(("visible", "hidden", "collapse"))
_DISPLAYS = frozenset(
    "none block inline inline-block contents flow-root list-item flex inline-flex grid inline-grid table inline-table table-row"  # noqa: SIM905
    " table-cell table-caption table-column table-column-group table-row-group table-header-group table-footer-group ruby"
    " initial inherit unset".split()
)


def element_type(element: HtmlElement) -> str:
    """Return the type of an input or button, or the tag of any other element.

    Types are lower case. Unknown types become HTML's default: "text" for inputs; for buttons "submit", or "button" with a command.
    """
    if element.tag == "input":
        value = element.get("type", "").lower()
        return value if value in _INPUT_TYPES else "text"
    if element.tag == "button":
        value = element.get("type", "").lower()
        if value in BUTTON_TYPES - {"image"}:
            return str(value)
        return "button" if "command" in element.attrib or "commandfor" in element.attrib else "submit"
    return str(element.tag)


def normalize_space(text: str | None) -> str:
    """Return the text stripped, with each run of white space replaced by one space."""
    return " ".join((text or "").split())


def element_by_id(element: HtmlElement, identifier: str) -> HtmlElement | None:
    """Return the first element with this id in the document of `element`."""
    return element.getroottree().getroot().get_element_by_id(identifier, None) if identifier else None


def parse_non_negative_integer(text: str | None) -> int | None:
    """Return the integer that a text begins with; None if it begins with none, or with a negative one.

    https://html.spec.whatwg.org/multipage/common-microsyntaxes.html#rules-for-parsing-non-negative-integers
    """
    match = _INTEGER.match(text or "")
    return int(match[1]) if match and int(match[1]) >= 0 else None


# Forms, their controls and labels.


def form_owner(control: HtmlElement) -> HtmlElement | None:
    """Return the form of a control: named by its attribute `form`, or set by the parser, or else the nearest ancestor form.

    https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#form-owner
    """
    if "form" in control.attrib:
        form = element_by_id(control, control.get("form"))
        return form if form is not None and form.tag == "form" else None
    if FORM_OWNER in control.attrib:
        return next(iter(_OWNING_FORM(control, number=control.get(FORM_OWNER))), None)
    return next(control.iterancestors("form"), None)


def form_controls(form: HtmlElement) -> list[HtmlElement]:
    """Return the controls of a form in document order."""
    root = form.getroottree().getroot()
    # Scanning the whole document for each of many forms is slow, and few forms have controls outside of them.
    is_wide = FORM_OWNER in form.attrib or ("id" in form.attrib and _CONTROLS_NAMING_FORM(root, form=form.get("id")))
    scope = root if is_wide else form
    return [control for control in scope.iter(*CONTROL_TAGS) if form_owner(control) is form]


def radio_group(radio: HtmlElement) -> list[HtmlElement]:
    """Return the radio buttons of the same group, including `radio`; only one of them can be checked."""
    name, form = radio.get("name"), form_owner(radio)
    if not name:
        return [radio]
    return [
        member
        for member in radio.getroottree().getroot().iter("input")
        if member.get("name") == name and element_type(member) == "radio" and form_owner(member) is form
    ]


def labelled_control(label: HtmlElement) -> HtmlElement | None:
    """Return the labeled control of a label: the element named by `for`, or the first control inside."""
    if "for" in label.attrib:
        target = element_by_id(label, label.get("for"))
        candidates = iter([] if target is None else [target])
    else:
        candidates = label.iterdescendants(*_LABELABLE_TAGS)
    return next(
        (control for control in candidates if control.tag in _LABELABLE_TAGS and element_type(control) != "hidden"), None
    )


def labels_of(control: HtmlElement) -> list[HtmlElement]:
    """Return the labels of a control."""
    return [label for label in control.getroottree().getroot().iter("label") if labelled_control(label) is control]


def is_label_operable(control: HtmlElement) -> bool:
    """Return True if a click on the label operates the control, so that the control itself may be hidden."""
    return control.tag == "input" and element_type(control) in CHECKABLE_TYPES | {"file"}


def summary_of(details: HtmlElement) -> HtmlElement | None:
    """Return the summary of a `details` element, which opens and closes it."""
    return next(details.iterchildren("summary"), None)


def is_closed_details(element: HtmlElement) -> bool:
    """Return True for a closed `details` element, which shows only its summary."""
    return element.tag == "details" and "open" not in element.attrib


def is_link(element: HtmlElement) -> bool:
    """Return True if an element is a hyperlink that can be followed: in an editable element it is text."""
    return element.tag in {"a", "area"} and "href" in element.attrib and editing_host(element) is None


def editing_host(element: HtmlElement) -> HtmlElement | None:
    """Return the outermost of the editable elements in which an element is text; None outside of such elements.

    https://html.spec.whatwg.org/multipage/interaction.html#editing-host
    """
    host = None
    for part in (element, *element.iterancestors()):
        value = part.get("contenteditable")
        if value in EDITABLE_VALUES:
            host = part
        elif value == "false":
            break
    return host


def details_group(details: HtmlElement) -> list[HtmlElement]:
    """Return the other `details` elements with the same name, of which only one can be open.

    https://html.spec.whatwg.org/multipage/interactive-elements.html#details-name-group
    """
    name = details.get("name")
    every = details.getroottree().getroot().iter("details") if name else ()
    return [other for other in every if other is not details and other.get("name") == name]


def is_summary(element: HtmlElement) -> bool:
    """Return True if an element is the summary of its parent `details`."""
    parent = element.getparent()
    return element.tag == "summary" and parent.tag == "details" and summary_of(parent) is element


def command_target(button: HtmlElement) -> tuple[str, HtmlElement | None]:
    """Return the command of a button in lower case and the element that it acts on; ("", None) if it has none.

    `popovertarget` is read as the commands toggle-popover, show-popover and hide-popover.
    https://html.spec.whatwg.org/multipage/form-elements.html#the-button-element:activation-behaviour
    """
    if element_type(button) not in BUTTON_TYPES:
        return "", None
    if button.tag == "button" and "commandfor" in button.attrib:
        return button.get("command", "").lower(), element_by_id(button, button.get("commandfor"))
    if "popovertarget" in button.attrib:
        action = button.get("popovertargetaction", "").lower()
        action = action if action in ("show", "hide") else "toggle"
        return f"{action}-popover", element_by_id(button, button.get("popovertarget"))
    return "", None


def closed_by(dialog: HtmlElement) -> str:
    """Return what closes a dialog besides its controls: "any" (a click outside, and Escape), "closerequest" (Escape) or "none".

    https://html.spec.whatwg.org/multipage/interactive-elements.html#dom-dialog-closedby
    """
    value = dialog.get("closedby", "").lower()
    if value in ("any", "closerequest", "none"):
        return str(value)
    return "closerequest" if TOP_LAYER in dialog.attrib else "none"


def popover_kind(element: HtmlElement) -> Literal["auto", "hint", "manual"]:
    """Return how a popover closes: "auto" and "hint" by a click outside or Escape, "manual" only by its buttons.

    https://html.spec.whatwg.org/multipage/popover.html#attr-popover
    """
    value = element.get("popover", "").lower()
    return "auto" if value in ("", "auto") else "hint" if value == "hint" else "manual"


def takes_close_request(root: HtmlElement) -> bool:
    """Return True if Escape closes a popover or dialog."""
    if any(popover_kind(popover) != "manual" for popover in OPEN_POPOVERS(root)):
        return True
    return any(closed_by(dialog) != "none" for dialog in _OPEN_DIALOGS(root))


def invokers_of(popover: HtmlElement) -> list[HtmlElement]:
    """Return the buttons that open or close a popover."""
    buttons = popover.getroottree().getroot().iter("button", "input")
    return [button for button in buttons if command_target(button)[1] is popover]


# Values of controls.


def field_value(element: HtmlElement) -> str:
    """Return the live value of a text field. Line breaks of a textarea are normalized to line feeds (HTML's API value)."""
    if element.tag != "textarea":
        value: str = element.attrib.get("value", "")
        return value
    return _LINE_BREAK.sub("\n", element.text or "")


def option_label(option: HtmlElement) -> str:
    """Return the displayed text of an option."""
    return normalize_space(option.get("label") or option.text_content())


def option_value(option: HtmlElement) -> str:
    """Return the value that a form submits for an option.

    Without `value` it is the text with ASCII white space stripped and collapsed; a no-break space stays.
    https://html.spec.whatwg.org/multipage/form-elements.html#dom-option-text
    """
    value = option.get("value")
    if value is None:
        value = _ASCII_SPACES.sub(" ", "".join(_OPTION_TEXTS(option))).strip(" ")
    return str(value)


def display_size(select: HtmlElement) -> int:
    """Return the number of options that a select shows.

    https://html.spec.whatwg.org/multipage/form-elements.html#concept-select-size
    """
    size = parse_non_negative_integer(select.get("size"))
    return size or (4 if "multiple" in select.attrib else 1)


def selected_options(select: HtmlElement) -> list[HtmlElement]:
    """Return the selected options of a select."""
    return [option for option in select.iter("option") if "selected" in option.attrib]


def control_value(control: HtmlElement) -> str:
    """Return the value of a control; of several selected options, the first one's."""
    if control.tag == "select":
        return next(map(option_value, selected_options(control)), "")
    if control.tag == "input" and element_type(control) == "submit":
        return str(control.get("value", "Submit"))
    return field_value(control)


# Visibility.


def is_rendered(element: HtmlElement) -> bool:
    """Return True if the element has a box: neither it nor an ancestor removes it."""
    child = None
    for part in (element, *element.iterancestors()):
        tag = part.tag
        if tag in _CLOSABLE_TAGS and child is not None and _shows_no_content(part, child):
            return False
        # The common case is decided without a call.
        if (tag in _BOXLESS_TAGS or not _BOX_ATTRIBUTES.isdisjoint(part.keys())) and _has_no_box(part):
            return False
        child = part
    return True


def _shows_no_content(element: HtmlElement, child: HtmlElement) -> bool:
    """Return True if one of `_CLOSABLE_TAGS` with a box shows nothing of its child: it is closed, or shows something else instead."""
    if element.tag == "details":
        return is_closed_details(element) and child is not summary_of(element)
    if element.tag == "select":
        return bool(child.tag == "button")  # shown only with the style sheet of a customizable select
    return True  # a fallback, or an option, which shows its text only


def is_visible(element: HtmlElement) -> bool:
    """Return True if the element is rendered and the nearest `visibility` declaration does not hide it."""
    return is_rendered(element) and not _is_invisible(element)


def is_excluded(element: HtmlElement) -> bool:
    """Return True if the element's own markup removes it and its descendants from the page text."""
    tag, names = element.tag, element.keys()
    if tag == "input" and element_type(element) == "hidden":
        return True
    if HIDING_ATTRIBUTES.isdisjoint(names):  # the common case: one set operation is faster than a look-up of each name
        return (tag == "dialog" and "open" not in names) or tag in _HIDDEN_TAGS
    if element.get("aria-hidden") == "true" or UNREACHABLE in names or _has_no_box(element):
        return True
    style = element.get("style")
    return style is not None and _hides_by_visibility(style) and not any(map(is_visible, element.iterdescendants("*")))


def is_in_excluded(element: HtmlElement) -> bool:
    """Return True if the element or one of its ancestors is excluded from the page text."""
    return is_excluded(element) or any(map(is_excluded, element.iterancestors()))


def is_unclickable(element: HtmlElement) -> bool:
    """Return True if an element cannot be clicked: it is not visible and has no visible label that operates it."""
    if is_visible(element) and not any(UNREACHABLE in part.attrib for part in (element, *element.iterancestors())):
        return False
    return not (is_label_operable(element) and any(map(is_visible, labels_of(element))))


def _has_no_box(element: HtmlElement) -> bool:
    """Return True if the element itself is not displayed.

    https://html.spec.whatwg.org/multipage/rendering.html#hidden-elements. An element with `hidden=until-found` has a box in
    Chromium, but nothing in it.
    """
    tag, attributes = element.tag, element.attrib
    if tag == "input" and element_type(element) == "hidden":
        return True
    if "style" in attributes and (display := _declared_value(attributes["style"], "display")):
        return display == "none"  # the style overrides what the browser hides by default
    if "hidden" in attributes:
        return attributes["hidden"].lower() != "until-found" or tag not in _SHOWN_UNTIL_FOUND
    if "popover" in attributes and not is_summary(element):  # Chromium's style of a summary shows it
        return TOP_LAYER not in attributes and (tag != "dialog" or "open" not in attributes)
    return (
        (tag == "dialog" and "open" not in attributes)
        or tag in _HIDDEN_TAGS
        or (tag == "audio" and "controls" not in attributes)
    )


def _is_invisible(element: HtmlElement) -> bool:
    for part in (element, *element.iterancestors()):
        if "style" in part.attrib and _declared_value(part.get("style"), "visibility") in _VISIBILITIES:
            return _hides_by_visibility(part.get("style"))
    return False


def _hides_by_visibility(style: str) -> bool:
    return _declared_value(style, "visibility") in ("hidden", "collapse")


def _declared_value(style: str, name: str) -> str:
    """Return the value of `display` or `visibility` in a style attribute, "" if it has none.

    The last valid declaration counts; one with `!important` takes precedence.

    >>> _declared_value("Display:none; color: red; display: BLOCK; display: nonsense", "display")
    'block'
    """
    if name not in style.lower():
        return ""
    allowed = _DISPLAYS if name == "display" else _VISIBILITIES
    result, is_important = "", False
    for declaration in style.lower().split(";"):
        key, _, text = declaration.partition(":")
        value, mark, rest = text.partition("!")
        value = value.strip()
        if key.strip() == name and value in allowed and (not mark or rest.strip() == "important"):
            if mark or not is_important:
                result = value
            is_important = is_important or bool(mark)
    return result


# State.


def is_disabled(control: HtmlElement) -> bool:
    """Return True if a control or option is disabled, by its own attribute or by an ancestor."""
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


def modal_dialog(root: HtmlElement) -> HtmlElement | None:
    """Return the modal dialog that blocks the rest of the document; None if there is none."""
    return next((dialog for dialog in root.iter("dialog") if dialog.get(TOP_LAYER) == "modal"), None)


def tab_index(element: HtmlElement) -> int | None:
    """Return the value of the attribute `tabindex`, None if it is missing or not a number."""
    match = _INTEGER.match(element.get("tabindex", ""))
    return int(match[1]) if match else None
