"""Forms and links: what reacts to a click, which option is meant, which button Enter presses, and names for messages.

All functions read a tree and change nothing; the facts of HTML that they go by are in `webarena_gym.pages.dom`.
"""

from urllib.parse import unquote

from lxml.html import HtmlElement

from webarena_gym.errors import ActionError
from webarena_gym.pages import dom
from webarena_gym.pages.labels import Labels


def indicated(root: HtmlElement, fragment: str) -> HtmlElement | None:
    """Return the element that a URL's fragment leads to, written as it is or percent-encoded; None for the top and for none."""
    for name in (fragment, unquote(fragment)) if fragment else ():
        found = root.get_element_by_id(name, None)
        if found is None:
            found = next((anchor for anchor in root.iter("a") if anchor.get("name") == name), None)
        if found is not None:
            return found
    return None


def is_forgotten(element: HtmlElement) -> bool:
    """Return whether what was done to an element is lost when its page is left, and does not come back with it."""
    return element.tag == "details" or dom.kind(element) == "password" or _autocomplete(element) == "off"


def _autocomplete(control: HtmlElement) -> str:
    form = dom.owner(control)
    own = control.get("autocomplete", "" if form is None else form.get("autocomplete", ""))
    return str(own).strip().lower()


def click_target(element: HtmlElement) -> HtmlElement | None:
    """Return what reacts to a click on an element: itself, the nearest around it, or the control of a label."""
    for target in (element, *element.iterancestors()):
        if target.tag in (*dom.CONTROL_TAGS, "option") or dom.is_link(target) or dom.is_summary(target):
            return target
        if target.tag == "label":
            control = dom.labelled_control(target)
            if control is not None and control is not element:
                return click_target(control)
    return None


def find_option(select: HtmlElement, wanted: str) -> HtmlElement:
    """Return the option with that text, else the first that contains it, without case. Raises ActionError for none."""
    wanted = dom.squeeze(wanted)
    options = list(select.iter("option"))
    found = [option for option in options if dom.option_label(option) == wanted]
    if not found and wanted:
        found = [option for option in options if wanted.casefold() in dom.option_label(option).casefold()]
    if not found:
        available = ", ".join(f'"{dom.option_label(option)}"' for option in options if not dom.is_disabled(option))
        raise ActionError(f'{describe(select)} has no option "{wanted}"; it has {available or "none"}')
    return next((option for option in found if not dom.is_disabled(option)), found[0])


def value(control: HtmlElement) -> str:
    """Return what a control holds, in one string."""
    if control.tag == "select":
        return next(map(dom.option_value, dom.selected_options(control)), "")
    if control.tag == "input" and dom.kind(control) == "submit":
        return str(control.get("value", "Submit"))
    return dom.field_value(control)


def describe(element: HtmlElement) -> str:
    """Return a short name of an element for a message: its tag, and in quotes the name that observations give it."""
    name = Labels(element.getroottree().getroot()).of(element)
    return str(element.tag) if name == element.tag else f'{element.tag} "{name[:60]}"'


def default_button(form: HtmlElement) -> HtmlElement | None:
    """Return the button that Enter in a field presses: the form's first submit button, disabled or not."""
    return next((control for control in dom.controls(form) if dom.kind(control) in dom.SUBMIT_KINDS), None)
