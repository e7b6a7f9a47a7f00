"""What a person could not do, refused before Chromium is asked, by the rules and in the words of the in-process browser."""

from lxml.html import HtmlElement

from webarena_gym.browsers import forms, urls, validity
from webarena_gym.errors import ActionError
from webarena_gym.pages import dom


def typed_address(url: str) -> str:
    """Return the address that is meant by what was typed. Raises ActionError when there is none."""
    try:
        return urls.typed(url)
    except ValueError:
        raise ActionError(f'"{url}" is no address that can be opened') from None


def typed_text(element: HtmlElement, text: str) -> str:
    """Return what an element holds after a text was typed into it. Raises ActionError for what takes no such text."""
    if element.get("contenteditable") in ("", "true") or element.get("role") in ("textbox", "combobox", "searchbox"):
        return text
    return validity.entered_text(element, text)


def is_typeable(focused: HtmlElement | None) -> bool:
    """Return whether keys write into the focused element."""
    return focused is not None and dom.kind(focused) in dom.TYPEABLE_KINDS


def chosen_options(select: HtmlElement, option: HtmlElement, *, toggle: bool) -> list[int]:
    """Return the places of the options that are chosen after one is. Raises ActionError when that is disabled.

    In a list for several it is chosen beside the others, and `toggle` takes a chosen one back.
    """
    if dom.is_disabled(option):
        raise ActionError(f'the option "{dom.option_label(option)}" of {forms.describe(select)} is disabled')
    options = list(select.iter("option"))
    wanted = {options.index(option)}
    if "multiple" in select.attrib:
        chosen = {index for index, each in enumerate(options) if "selected" in each.attrib}
        wanted = chosen ^ wanted if toggle else chosen | wanted
    return sorted(wanted)


def check_shown(element: HtmlElement) -> None:
    """Raise ActionError when an element is hidden, and no label of it is shown."""
    if dom.is_out_of_reach(element):
        raise ActionError(f"{forms.describe(element)} is hidden")


def unnoticed_drag(element: HtmlElement) -> ActionError:
    """Return what is raised where something is dragged that no script could notice."""
    return ActionError(f"dragging {forms.describe(element)} does nothing: the page has no scripts")


def check_enabled(control: HtmlElement) -> None:
    """Raise ActionError when a control is disabled."""
    if dom.is_disabled(control):
        raise ActionError(f"{forms.describe(control)} is disabled")


def check_form(button: HtmlElement) -> None:
    """Raise ActionError for what Chromium would only say in a bubble: that a form is not filled in rightly."""
    form = dom.owner(button)
    if form is None or "novalidate" in form.attrib or "formnovalidate" in button.attrib:
        return
    if problem := validity.form_problem(form):
        raise ActionError(f"the form was not sent: {problem}")


def check_implicit_submission(focused: HtmlElement | None) -> None:
    """Raise ActionError when Enter in the focused element would send a form that is not filled in rightly."""
    if focused is None or focused.tag != "input" or dom.kind(focused) in dom.BUTTON_KINDS:
        return
    form = dom.owner(focused)
    if form is not None:
        button = forms.default_button(form)
        if button is None or not dom.is_disabled(button):
            check_form(focused if button is None else button)
