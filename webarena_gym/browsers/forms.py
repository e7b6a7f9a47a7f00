"""Rules of interaction for both browsers: clicks, selections, typing, keys and form submission.

All functions are pure; HTML semantics are in `webarena_gym.pages.dom`. A key without an effect on the page text is rejected
with a message. Examples are keys that move the caret, scroll, step a number, or open a list whose options are already in the
page text.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType
from urllib.parse import quote

from lxml.html import HtmlElement

from webarena_gym.browsers.document import INVALID_XML
from webarena_gym.browsers.http import Request, is_web, referrer_for
from webarena_gym.errors import ActionError
from webarena_gym.pages import dom, focus, form_data
from webarena_gym.pages.constraints import LENGTH_TYPES
from webarena_gym.pages.input_values import convert_string_to_number, parse_color, restored_time
from webarena_gym.pages.reading import Labels, options, plain_name


def is_reset_on_leave(element: HtmlElement) -> bool:
    """Return True if an element's live state is reset when the user leaves the page and comes back."""
    form = dom.form_owner(element)
    completes = element.get("autocomplete", "" if form is None else form.get("autocomplete", "")).strip().lower()
    is_control = element.tag in (*dom.CONTROL_TAGS, "option")
    return not is_control or dom.element_type(element) in ("password", "file") or completes == "off"


def restored_times(root: HtmlElement) -> Iterator[tuple[HtmlElement, str, str]]:
    """Yield the new state (element, attribute, value) of each time input of a page to which the user has come back."""
    for field in root.iter("input"):
        if dom.element_type(field) == "time" and not (
            is_reset_on_leave(field) or dom.is_disabled(field) or "readonly" in field.attrib
        ):
            yield field, "value", restored_time(field)


def click_target(element: HtmlElement) -> HtmlElement | None:
    """Return the element that handles a click on `element`: itself, an ancestor, or the control of a label; None if none does.

    A control without an effect of its own, such as a text field, leaves the click to a link around it, unless it is disabled.
    https://dom.spec.whatwg.org/#eventtarget-activation-behavior
    """
    operates_label = True
    for target in (element, *element.iterancestors()):
        if target.tag in dom.CONTROL_TAGS and not _handles_clicks(target) and not dom.is_disabled(target):
            return next(filter(dom.is_link, target.iterancestors("a")), target)
        if target.tag in dom.CONTROL_TAGS or dom.is_link(target) or dom.is_summary(target):
            return target
        if target.tag == "option" and next(target.iterancestors("select"), None) is not None:
            return target
        if target.tag == "label" and operates_label:
            control = dom.labelled_control(target)
            if control is not None and control is not element:
                return click_target(control)
        # A label around interactive content leaves clicks to it: https://html.spec.whatwg.org/multipage/dom.html#interactive-content.
        is_media = target.tag in ("audio", "video") and "controls" in target.attrib
        is_map = target.tag == "img" and "usemap" in target.attrib
        if target.tag in ("details", "embed", "iframe", "label") or is_media or is_map:
            operates_label = False
    return None


def details_by_key(key: str, focused: HtmlElement | None) -> HtmlElement | None:
    """Return the `details` that a key opens or closes besides what the key does in the focused element; None if there is none.

    That is one whose summary contains the element, which lets the key pass, or one without a summary that has the focus itself.
    """
    if focused is None or key not in ("Enter", *_SPACE_KEYS):
        return None
    if focused.tag == "details":
        return focused if dom.summary_of(focused) is None else None
    if focused.tag in dom.CONTROL_TAGS and (key == "Enter" or dom.element_type(focused) not in dom.TYPEABLE_TYPES):
        return None
    if key == "Enter" and (dom.is_link(focused) or dom.editing_host(focused) is not None):
        return None
    summary = next(filter(dom.is_summary, focused.iterancestors("summary")), None)
    return None if summary is None else summary.getparent()


def _handles_clicks(control: HtmlElement) -> bool:
    type_name = dom.element_type(control)
    if type_name in dom.BUTTON_TYPES:
        return dom.is_disabled(control) or (type_name != "button" and dom.form_owner(control) is not None)
    return type_name in dom.CHECKABLE_TYPES or type_name in _PICKER_TYPES


def check_visible(element: HtmlElement) -> None:
    """Raise ActionError if an element is inert, or is hidden and has no visible label that operates it."""
    if dom.is_unclickable(element):
        raise ActionError(f"{describe(element)} is hidden")
    if focus.is_inert(element):
        modal = dom.modal_dialog(element.getroottree().getroot())
        reason = "cannot be used: it is inert" if modal is None else "is behind an open dialog: close that first"
        raise ActionError(f"{describe(element)} {reason}")


def check_enabled(control: HtmlElement) -> None:
    """Raise ActionError if a control is disabled."""
    if dom.is_disabled(control):
        raise ActionError(f"{describe(control)} is disabled")


def usable_click_target(element: HtmlElement) -> HtmlElement | None:
    """Return `click_target(element)`. Raises ActionError if `element` is hidden or the target is disabled."""
    check_visible(element)
    target = click_target(element)
    if target is not None and target.tag in dom.CONTROL_TAGS:
        check_enabled(target)
    return target


def focusable_ancestor(element: HtmlElement) -> HtmlElement | None:
    """Return the element that a click on `element` focuses: itself or its nearest focusable ancestor; None if there is none."""
    host = dom.editing_host(element)
    inner = element if host is None else host
    # Of an open `details` without a summary, Chromium's own summary takes the focus.
    parts = (inner, *(part for part in inner.iterancestors() if part.tag != "details" or dom.tab_index(part) is not None))
    return next(filter(focus.is_focusable, parts), None)


def selection_after(select: HtmlElement, option: HtmlElement, *, toggle: bool = False) -> list[HtmlElement]:
    """Return the selected options of a select after `option` is selected. Raises ActionError if it is disabled.

    In a select for several options, the others stay selected, and `toggle` deselects a selected option.
    """
    if dom.is_disabled(option):
        raise ActionError(f'the option "{dom.option_label(option)}" of {describe(select)} is disabled')
    if "multiple" not in select.attrib:
        return [option]
    rest = [selected for selected in dom.selected_options(select) if selected is not option]
    return rest if toggle and "selected" in option.attrib else [*rest, option]


def find_option(select: HtmlElement, text: str) -> HtmlElement:
    """Return the option with this text or name, or else the first that contains it (case-insensitive); enabled ones first.

    Texts are compared by `plain_name`. The second option with the same text is named "Text [2]".

    Raises:
        ActionError: if no option matches, or the element is not an enabled select.

    """
    if select.tag != "select":
        raise ActionError(f"cannot select an option in {describe(select)}: it is not a drop-down list")
    check_enabled(select)
    text = plain_name(text)
    choices = options(select)
    labels = [(choice.element, plain_name(dom.option_label(choice.element))) for choice in choices]
    matches = [option for option, label in labels if label == text]
    if not matches and text:
        matches = [choice.element for choice in choices if plain_name(choice.name) == text]
    if not matches and text:
        matches = [option for option, label in labels if text.casefold() in label.casefold()]
    if not matches:
        available = ", ".join(
            f'"{choice.name or dom.option_label(choice.element)}"' for choice in choices if not dom.is_disabled(choice.element)
        )
        raise ActionError(f'{describe(select)} has no option "{text}"; it has {available or "none"}')
    return next((option for option in matches if not dom.is_disabled(option)), matches[0])


def file_selection(field: HtmlElement, name: str, files: Collection[str], *, add: bool = False) -> list[str]:
    """Return the names of the files in a file field after a file is chosen; the name "" clears the field.

    `add` keeps the chosen files of a field for several. Raises ActionError if there is no such file.
    """
    check_enabled(field)
    earlier = form_data.file_names(field.get("value", ""), files) if add and "multiple" in field.attrib else []
    return [*(old for old in earlier if old != name), find_file(name, files, describe(field))] if name else []


def find_file(name: str, files: Collection[str], field: str) -> str:
    """Return the available file with this name, or else the first that matches it without case.

    Raises ActionError, with the description of the `field`, if there is none.
    """
    match = name if name in files else next((file for file in files if file.lower() == name.strip().lower()), "")
    if not match:
        raise ActionError(f'{field} takes a file by its name, not "{name}"; {available_files(files)}')
    return match


def chooser_notice(files: Collection[str]) -> str:
    """Return the notice about the file chooser that a click has opened."""
    if not files:
        return "A file chooser was opened and closed: no files here."
    return f"A file chooser is open: select a file by its name in the clicked element; {available_files(files)}"


def available_files(files: Collection[str]) -> str:
    """Return the part of a message that lists the available files."""
    return f"available files: {', '.join(files) or 'none'}"


def describe(element: HtmlElement) -> str:
    """Return a description of an element for messages: its tag and its accessible name in quotes, also of a hidden element."""
    name = ""
    if element.tag not in dom.FIELD_TAGS and not dom.is_visible(element):
        name = element.get("aria-label") or dom.normalize_space(element.text_content())
    name = name or Labels(element.getroottree().getroot()).name_of(element)
    return str(element.tag) if name == element.tag else f'{element.tag} "{name[:60]}"'


def refusal(control: HtmlElement, problem: str) -> ActionError:
    """Return the error for a form that is not sent because of an invalid control. A browser shows the reason only in a bubble."""
    return ActionError(f"the form was not sent: {describe(control)} {problem}")


def default_button(form: HtmlElement) -> HtmlElement | None:
    """Return the default button of a form, which Enter in a field presses: its first submit button, even if disabled."""
    return next((control for control in dom.form_controls(form) if dom.element_type(control) in dom.SUBMIT_TYPES), None)


_EXAMPLES = {
    "number": "12.5", "range": "12.5", "date": "2023-03-05", "month": "2023-03", "week": "2023-W10", "time": "15:07",
    "datetime-local": "2023-03-05T15:07", "color": "#ff8800",
}  # fmt: skip


def format_problem(type_name: str, text: str) -> str:
    """Return why a field of this type cannot have the value `text`; "" if it can. Any field can be empty."""
    if not text or type_name not in _EXAMPLES:
        return ""
    is_valid = bool(parse_color(text)) if type_name == "color" else convert_string_to_number(type_name, text) is not None
    return "" if is_valid else f'takes a {type_name} such as {_EXAMPLES[type_name]}, not "{text}"'


def text_after_typing(element: HtmlElement, text: str, *, prefix: int = 0) -> str:
    """Return the value of a field after `text` is typed into it. Raises ActionError if the element does not accept it.

    The first `prefix` characters are there already, so `maxlength` does not remove them.
    """
    type_name = dom.element_type(element)
    if type_name not in dom.TYPEABLE_TYPES:
        reason = "it is no text field" if type_name == element.tag else f"its type is {type_name}"
        raise ActionError(f"cannot type into {describe(element)}: {reason}")
    if dom.is_disabled(element):
        raise ActionError(f"{describe(element)} is disabled")
    if "readonly" in element.attrib:
        raise ActionError(f"{describe(element)} is read-only")
    if element.get("hidden", "").lower() == "until-found":  # it takes the focus, but no text
        raise ActionError(f"{describe(element)} is hidden")
    text = INVALID_XML.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    if type_name != "textarea":
        text = text.replace("\n", "")
    if type_name in _EXAMPLES or type_name == "email":
        text = text.strip()
    if problem := format_problem(type_name, text):
        raise ActionError(f"{describe(element)} {problem}")
    max_length = dom.parse_non_negative_integer(element.get("maxlength"))
    if max_length is None or type_name not in LENGTH_TYPES:
        return text
    # The length is counted in UTF-16, and half a character is no character.
    limited = text.encode("utf-16-le")[: 2 * max_length].decode("utf-16-le", "ignore")
    return max(limited, text[:prefix], key=len)


_UNQUOTED_IN_QUERY = "!$%&()*+,/:;=?@[\\]^`{|}"
"""The ASCII characters, besides those that `quote` never quotes, that stay in a query.

https://url.spec.whatwg.org/#special-query-percent-encode-set
"""


def form_request(
    form: HtmlElement,
    button: HtmlElement | None,
    page_url: str,
    resolve: Callable[[str], str],
    files: Mapping[str, bytes] = MappingProxyType({}),
    document_encoding: str = "UTF-8",
) -> Request | None:
    """Return the request that submits a form; None if its action is not a web address.

    https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#form-submission-algorithm

    Args:
        form: the form.
        button: the pressed button, whose `formaction`, `formmethod` and `formenctype` override the form's attributes.
        page_url: address of the page.
        resolve: returns the absolute URL of a reference on the page.
        files: content of the available files by name.
        document_encoding: encoding of the page, in which the form is sent unless it has another.

    """
    overrides = {} if button is None else button.attrib
    method = overrides.get("formmethod", form.get("method", "")).lower()
    action = overrides.get("formaction", form.get("action", "")).strip(" \t\n\f\r")
    enctype = overrides.get("formenctype", form.get("enctype", "")).lower()
    is_post_form = form.get("method", "").lower() == "post"
    url = resolve(action) if action else page_url
    if method == "dialog" or not is_web(url):
        return None
    charset = form_data.pick_encoding(form, document_encoding)
    entries = form_data.construct_entry_list(form, button, files, charset)
    if method == "post":
        is_urlencoded = enctype == form_data.PLAIN and not is_post_form  # with the type text/plain, as in Chromium
        content_type, body = form_data.encode_entries(entries, form_data.URLENCODED if is_urlencoded else enctype, charset)
        content_type = form_data.PLAIN if is_urlencoded else content_type
        return Request(url, "POST", content_type, body, referrer_for(page_url, url))
    address, mark, fragment = url.partition("#")
    # Chromium takes text/plain from the button, but its use in addresses and bodies from the method of the form itself.
    is_plain = enctype == form_data.PLAIN and is_post_form
    _, query = form_data.encode_entries(entries, form_data.PLAIN if is_plain else form_data.URLENCODED, charset)
    text = quote(query.translate(None, b"\t\r\n").decode("latin-1"), safe=_UNQUOTED_IN_QUERY) if is_plain else query.decode()
    url = f"{address.partition('?')[0]}?{text}{mark}{fragment}"
    return Request(url, referrer=referrer_for(page_url, url))


def submitted_dialog(form: HtmlElement, button: HtmlElement | None) -> HtmlElement | None:
    """Return the dialog that a form closes when `button` submits it; None unless its method is dialog.

    https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#form-submission-algorithm
    """
    method = form.get("method", "") if button is None else button.get("formmethod", form.get("method", ""))
    return next(form.iterancestors("dialog"), None) if method.lower() == "dialog" else None


_MODIFIER_KEYS = frozenset(("Shift", "Control", "Alt", "Meta", "ControlOrMeta"))
_FORWARD_KEYS, _BACKWARD_KEYS = frozenset(("ArrowDown", "ArrowRight")), frozenset(("ArrowUp", "ArrowLeft"))
_NAMED_KEYS = _MODIFIER_KEYS | _FORWARD_KEYS | _BACKWARD_KEYS | frozenset(f"F{number}" for number in range(1, 13)) | frozenset((
    "PageUp", "PageDown", "Home", "End", "Enter", "Tab", "Backspace", "Delete", "Space", "Escape", "Insert", "CapsLock", "ContextMenu",
))  # fmt: skip
_SHIFTED = dict(zip("`1234567890-=[]\\;',./", '~!@#$%^&*()_+{}|:"<>?', strict=True))


def check_key(key: str) -> None:
    """Raise ActionError if `key` is not the name of a key, with or without modifiers."""
    *modifiers, last = _split_key(key)
    if not (last in _NAMED_KEYS or (len(last) == 1 and last.isprintable())) or not set(modifiers) <= _MODIFIER_KEYS:
        raise ActionError(f'unknown key "{key}"; keys are named as in Enter, Tab, Escape, ArrowDown, PageDown, Control+A')


def key_text(key: str) -> str:
    """Return the text that a key types into a field; "" if it types none.

    >>> key_text("a"), key_text("Space"), key_text("Shift+1"), key_text("Control+a")
    ('a', ' ', '!', '')
    """
    *modifiers, last = _split_key(key)
    last = " " if last == "Space" else last
    if len(last) > 1 or not set(modifiers) <= {"Shift"}:
        return ""
    return _SHIFTED.get(last, last.upper()) if modifiers else last


def _split_key(key: str) -> list[str]:
    return [*key[:-2].split("+"), "+"] if key.endswith("++") else [key] if key == "+" else key.split("+")


_HORIZONTAL_KEYS = frozenset(("ArrowLeft", "ArrowRight"))
_DELETION_KEYS = frozenset(("Backspace", "Delete", "Control+A", "ControlOrMeta+A"))
_SPACE_KEYS = frozenset((" ", "Space"))
_PICKER_TYPES = frozenset(("color", "file"))  # Enter opens a picker of the browser
_TEXT_TYPES = dom.SINGLE_LINE_TYPES - dom.DATE_TYPES


def choice_by_key(key: str, focused: HtmlElement | None) -> HtmlElement | None:
    """Return the option or radio button that a key selects in the focused control; None if it selects none."""
    if focused is None:
        return None
    if focused.tag == "select":
        return _option_by_key(key, focused)
    if dom.element_type(focused) == "radio" and key in _FORWARD_KEYS | _BACKWARD_KEYS:
        group = dom.radio_group(focused)
        radios = [radio for radio in group if radio is focused or (dom.is_visible(radio) and not dom.is_disabled(radio))]
        neighbour = radios[(radios.index(focused) + (1 if key in _FORWARD_KEYS else -1)) % len(radios)]
        return None if neighbour is focused else neighbour
    return None


def text_after_backspace(field: HtmlElement) -> str:
    """Return the text of a field without its last character and, in a number, the decimal point before it."""
    rest = dom.control_value(field)[:-1]
    return rest[:-1] if len(rest) > 1 and rest.endswith(".") and dom.element_type(field) == "number" else rest


def clears_search(key: str, focused: HtmlElement | None) -> bool:
    """Return True if Escape empties the focused search field; only the next one closes the dialog or popover around it."""
    if key != "Escape" or focused is None or dom.element_type(focused) != "search":
        return False
    return dom.control_value(focused) != "" and "readonly" not in focused.attrib


def check_key_effect(key: str, focused: HtmlElement | None, root: HtmlElement) -> None:
    """Raise ActionError for a key that has no effect on the focused element or the page, or none that the page text shows."""
    if key in ("Tab", "Shift+Tab") or choice_by_key(key, focused) is not None:
        return
    if (key == "Escape" and dom.takes_close_request(root)) or details_by_key(key, focused) is not None:
        return
    if focused is None:
        raise ActionError(f'the key "{key}" does nothing here: no element has the focus')
    if len(key) == 1 and (problem := format_problem(dom.element_type(focused), dom.control_value(focused) + key)):
        raise ActionError(f"{describe(focused)} {problem}")
    if not _has_effect(key, focused):
        raise ActionError(f'the key "{key}" does nothing in {describe(focused)}{_alternative(key, focused)}')
    if key == "Backspace" and (problem := format_problem(dom.element_type(focused), text_after_backspace(focused))):
        raise ActionError(f"{describe(focused)} {problem}")  # Chromium would not send the form


def _has_effect(key: str, focused: HtmlElement) -> bool:
    type_name = dom.element_type(focused)
    presses = type_name in dom.BUTTON_TYPES or dom.is_summary(focused)
    if key == "Enter":
        if (type_name == "textarea" and "readonly" not in focused.attrib) or presses or dom.is_link(focused):
            return True
        return submits_implicitly(focused)
    if key == "Escape":
        return clears_search(key, focused)
    if key in _SPACE_KEYS and (presses or type_name in dom.CHECKABLE_TYPES):
        return type_name != "radio" or "checked" not in focused.attrib
    if (
        type_name not in dom.TYPEABLE_TYPES - {"range", "color"}
        or "readonly" in focused.attrib
        or focused.get("hidden", "").lower() == "until-found"
    ):
        return False
    if type_name in dom.DATE_TYPES and key in _DELETION_KEYS | _SPACE_KEYS:
        return False  # they would delete a part, so that the form could not be sent, or open a picker of the browser
    writes = len(key) == 1 or key in _SPACE_KEYS or (key.startswith("Shift+") and len(key) == len("Shift+") + 1)
    return writes or (key in _DELETION_KEYS and dom.control_value(focused) != "")


def _alternative(key: str, focused: HtmlElement) -> str:
    """Return a hint for the message about a key without effect: the action to use instead."""
    if focused.tag == "select":
        return ": choose an option by its text"
    if key == "Enter":
        return ": a form is sent by its button" if dom.form_owner(focused) is not None else ""
    if "readonly" in focused.attrib:
        return ": it is read-only"
    return ": type its whole text" if dom.element_type(focused) in dom.TYPEABLE_TYPES else ""


def submits_implicitly(control: HtmlElement) -> bool:
    """Return True if Enter in a control submits its form: by the default button or, without one, from its only text field.

    https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#implicit-submission

    As in Chromium, Enter opens a color or file picker or a drop-down list instead, and fields of dates are no text fields.
    """
    form, type_name = dom.form_owner(control), dom.element_type(control)
    is_list = control.tag == "select" and dom.display_size(control) > 1
    if form is None or not (is_list or (control.tag == "input" and type_name not in _PICKER_TYPES)):
        return False
    button = default_button(form)
    if button is not None:
        return not dom.is_disabled(button)
    text_types = [dom.element_type(field) for field in dom.form_controls(form) if dom.element_type(field) in _TEXT_TYPES]
    return type_name in _TEXT_TYPES and len(text_types) == 1


def _option_by_key(key: str, select: HtmlElement) -> HtmlElement | None:
    if "multiple" in select.attrib:
        return None
    options = [option for option in select.iter("option") if "selected" in option.attrib or not dom.is_disabled(option)]
    selected = next(iter(dom.selected_options(select)), None)
    position = -1 if selected is None else options.index(selected)
    if key in _HORIZONTAL_KEYS and dom.display_size(select) > 1:
        return None
    if key in _FORWARD_KEYS:
        candidates = list(filter(dom.is_rendered, options[position + 1 :]))
    elif key in _BACKWARD_KEYS:
        candidates = list(filter(dom.is_rendered, options[:position][::-1])) if position > 0 else []
    elif key in ("Home", "End"):
        candidates = list(filter(dom.is_rendered, options if key == "Home" else options[::-1]))
    elif len(key) == 1 and not key.isspace():
        rotated = [*options[position + 1 :], *options[: position + 1]]
        candidates = [option for option in rotated if dom.option_label(option).lower().startswith(key.lower())]
    else:
        return None
    choice = next((option for option in candidates if not dom.is_disabled(option)), None)
    return None if choice is selected else choice
