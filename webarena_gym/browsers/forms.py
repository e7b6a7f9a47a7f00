"""Reading pages as HTML defines them: what controls there are, whose they are, what they hold and what reacts to a click.

All functions read a tree and change nothing. Live state stands in the attributes, as `webarena_gym.pages.page` says.
"""

from urllib.parse import unquote

from lxml import etree
from lxml.html import HtmlElement

from webarena_gym.errors import ActionError

SINGLE_LINE_KINDS = frozenset(
    ("text", "search", "tel", "url", "email", "password", "number", "date", "month", "week", "time", "datetime-local")
)
TYPEABLE_KINDS = SINGLE_LINE_KINDS | {"range", "color", "textarea"}
BUTTON_KINDS = frozenset(("submit", "image", "reset", "button"))
SUBMIT_KINDS = frozenset(("submit", "image"))
TICK_KINDS = frozenset(("checkbox", "radio"))
_INPUT_KINDS = SINGLE_LINE_KINDS | BUTTON_KINDS | TICK_KINDS | {"range", "color", "file", "hidden"}
_CONTROL_TAGS = ("input", "select", "textarea", "button")
_NAMING_FORM = etree.XPath("//*[@form = $form]")
_LABELABLE_TAGS = (*_CONTROL_TAGS, "meter", "output", "progress")


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
    return [control for control in scope.iter(*_CONTROL_TAGS) if owner(control) is form]


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


def is_hidden(element: HtmlElement) -> bool:
    """Return whether an element is not shown at all; style sheets are not looked at."""
    inner = None
    for part in (element, *element.iterancestors()):
        attributes = part.attrib
        if "hidden" in attributes or (part.tag == "input" and kind(part) == "hidden"):
            return True
        if "style" in attributes and "display:none" in attributes["style"].replace(" ", "").lower():
            return True
        if part.tag == "dialog" and "open" not in attributes:
            return True
        if part.tag == "details" and "open" not in attributes and inner is not None and inner is not summary_of(part):
            return True
        inner = part
    return False


def is_out_of_reach(element: HtmlElement) -> bool:
    """Return whether nobody can click an element: it is hidden, and no label that is shown ticks it."""
    if not is_hidden(element):
        return False
    by_label = element.tag == "input" and kind(element) in TICK_KINDS | {"file"}
    return not (by_label and any(not is_hidden(label) for label in labels_of(element)))


def labels_of(control: HtmlElement) -> list[HtmlElement]:
    """Return the labels of which a click reaches a control."""
    return [label for label in control.getroottree().getroot().iter("label") if labelled_control(label) is control]


def summary_of(details: HtmlElement) -> HtmlElement | None:
    """Return the element that opens and closes `details`."""
    return next(details.iterchildren("summary"), None)


def is_link(element: HtmlElement) -> bool:
    """Return whether an element leads somewhere."""
    return element.tag in {"a", "area"} and "href" in element.attrib


def is_summary(element: HtmlElement) -> bool:
    """Return whether an element opens and closes the `details` around it."""
    return element.tag == "summary" and summary_of(element.getparent()) is element


def indicated(root: HtmlElement, fragment: str) -> HtmlElement | None:
    """Return the element that a URL's fragment leads to, written as it is or percent-encoded; None for the top and for none."""
    for name in (fragment, unquote(fragment)) if fragment else ():
        found = root.get_element_by_id(name, None)
        if found is None:
            found = next((anchor for anchor in root.iter("a") if anchor.get("name") == name), None)
        if found is not None:
            return found
    return None


def is_focusable(element: HtmlElement) -> bool:
    """Return whether a click or the Tab key can bring keys to an element."""
    if element.tag in _CONTROL_TAGS:
        return not is_disabled(element) and not is_hidden(element)
    return is_link(element) or is_summary(element) or "tabindex" in element.attrib


def is_forgotten(element: HtmlElement) -> bool:
    """Return whether what was done to an element is lost when its page is left, and does not come back with it."""
    return element.tag == "details" or kind(element) == "password" or _autocomplete(element) == "off"


def _autocomplete(control: HtmlElement) -> str:
    form = owner(control)
    own = control.get("autocomplete", "" if form is None else form.get("autocomplete", ""))
    return str(own).strip().lower()


def click_target(element: HtmlElement) -> HtmlElement | None:
    """Return what reacts to a click on an element: itself, the nearest around it, or the control of a label."""
    for target in (element, *element.iterancestors()):
        if target.tag in (*_CONTROL_TAGS, "option") or is_link(target) or is_summary(target):
            return target
        if target.tag == "label":
            control = labelled_control(target)
            if control is not None and control is not element:
                return click_target(control)
    return None


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


def option_label(option: HtmlElement) -> str:
    """Return the text that the list shows for an option."""
    return squeeze(option.get("label") or option.text_content())


def option_value(option: HtmlElement) -> str:
    """Return what an option sends."""
    return str(option.get("value", squeeze(option.text_content())))


def selected_options(select: HtmlElement) -> list[HtmlElement]:
    """Return the options that are chosen."""
    return [option for option in select.iter("option") if "selected" in option.attrib]


def find_option(select: HtmlElement, wanted: str) -> HtmlElement:
    """Return the option with that text, else the first that contains it, without case. Raises ActionError for none."""
    wanted = squeeze(wanted)
    options = list(select.iter("option"))
    found = [option for option in options if option_label(option) == wanted]
    if not found and wanted:
        found = [option for option in options if wanted.casefold() in option_label(option).casefold()]
    if not found:
        available = ", ".join(f'"{option_label(option)}"' for option in options if not is_disabled(option))
        raise ActionError(f'{describe(select)} has no option "{wanted}"; it has {available or "none"}')
    return next((option for option in found if not is_disabled(option)), found[0])


def value(control: HtmlElement) -> str:
    """Return what a control holds, in one string."""
    if control.tag == "textarea":
        return control.text or ""
    if control.tag == "select":
        return next(map(option_value, selected_options(control)), "")
    default = "Submit" if control.tag == "input" and kind(control) == "submit" else ""
    return str(control.get("value", default))


def labelled_control(label: HtmlElement) -> HtmlElement | None:
    """Return the control that a click on a label reaches: the one `for` names, or the first inside."""
    if "for" in label.attrib:
        named = by_id(label, label.get("for"))
        candidates = iter([] if named is None else [named])
    else:
        candidates = label.iterdescendants(*_LABELABLE_TAGS)
    return next((control for control in candidates if control.tag in _LABELABLE_TAGS and kind(control) != "hidden"), None)


def describe(element: HtmlElement) -> str:
    """Return a short name of an element for a message: its tag, and what it is called in quotes."""
    labels = labels_of(element)
    texts = (
        element.get("aria-label"),
        *("".join(label.xpath(".//text()[not(ancestor::select or ancestor::textarea)]")) for label in labels),
        element.text_content() if element.tag not in {"select", "textarea"} else "",
        element.get("value") if kind(element) in BUTTON_KINDS else "",
        element.get("placeholder"),
        element.get("name"),
    )
    name = next(filter(None, map(squeeze, texts)), "")
    return f'{element.tag} "{name[:60]}"' if name else str(element.tag)


def default_button(form: HtmlElement) -> HtmlElement | None:
    """Return the button that Enter in a field presses: the form's first submit button, disabled or not."""
    return next((control for control in controls(form) if kind(control) in SUBMIT_KINDS), None)
