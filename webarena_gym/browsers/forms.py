"""Rules of interaction for both browsers: clicks, selections, typing, keys, form submission and HTML's constraint validation.

All functions are pure; HTML semantics are in `webarena_gym.pages.dom`. A key without an effect on the page text is rejected
with a message. Examples are keys that move the caret, scroll, step a number, or open a list whose options are already in the
page text.
"""

import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from mimetypes import MimeTypes
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import quote_plus

from lxml.html import HtmlElement

from webarena_gym.browsers.document import INVALID_XML
from webarena_gym.browsers.http import Request, is_web, referrer_for
from webarena_gym.errors import ActionError
from webarena_gym.pages import dom
from webarena_gym.pages.reading import Labels, options, plain_name


def is_reset_on_leave(element: HtmlElement) -> bool:
    """Return True if an element's live state is reset when the user leaves the page and comes back."""
    form = dom.form_owner(element)
    completes = element.get("autocomplete", "" if form is None else form.get("autocomplete", "")).strip().lower()
    return element.tag == "details" or dom.element_type(element) == "password" or completes == "off"


def click_target(element: HtmlElement) -> HtmlElement | None:
    """Return the element that handles a click on `element`: itself, an ancestor, or the control of a label; None if none does."""
    for target in (element, *element.iterancestors()):
        if target.tag in (*dom.CONTROL_TAGS, "option") or dom.is_link(target) or dom.is_summary(target):
            return target
        if target.tag == "label":
            control = dom.labelled_control(target)
            if control is not None and control is not element:
                return click_target(control)
    return None


def check_visible(element: HtmlElement) -> None:
    """Raise ActionError if an element is hidden and has no visible label that operates it."""
    if dom.is_unclickable(element):
        raise ActionError(f"{describe(element)} is hidden")


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
    return next((part for part in (element, *element.iterancestors()) if dom.is_focusable(part)), None)


def check_form(form: HtmlElement, button: HtmlElement | None) -> None:
    """Raise ActionError if constraint validation prevents the submission of a form by `button`.

    A browser shows the reason only in a bubble, which is not part of the page.
    """
    checks = "novalidate" not in form.attrib and (button is None or "formnovalidate" not in button.attrib)
    for control in dom.form_controls(form) if checks else ():
        if problem := control_problem(control):
            raise ActionError(f"the form was not sent: {describe(control)} {problem}")


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
        raise ActionError(f"cannot select in {describe(select)}: it is no select")
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
    earlier = file_names(field.get("value", ""), files) if add and "multiple" in field.attrib else []
    return [*(old for old in earlier if old != name), find_file(name, files, describe(field))] if name else []


def find_file(name: str, files: Collection[str], field: str) -> str:
    """Return the available file with this name, or else the first that matches it without case.

    Raises ActionError, with the description of the `field`, if there is none.
    """
    match = name if name in files else next((file for file in files if file.lower() == name.strip().lower()), "")
    if not match:
        raise ActionError(f'{field} takes a file by its name, not "{name}"; {available_files(files)}')
    return match


def file_names(value: str, files: Collection[str]) -> list[str]:
    """Return the file names in the value of a file field. A comma in the name of an available file does not separate."""
    return [value] if value in files else [name for name in value.split(", ") if name]


def file_type(name: str) -> str:
    """Return the media type of a file by its name. Unlike `mimetypes.guess_type`, it does not depend on the machine."""
    return MimeTypes().guess_type(name)[0] or "application/octet-stream"


def available_files(files: Collection[str]) -> str:
    """Return the part of a message that lists the available files."""
    return f"available files: {', '.join(files) or 'none'}"


def control_value(control: HtmlElement) -> str:
    """Return the value of a control; of several selected options, the first one's."""
    if control.tag == "select":
        return next(map(dom.option_value, dom.selected_options(control)), "")
    if control.tag == "input" and dom.element_type(control) == "submit":
        return str(control.get("value", "Submit"))
    return dom.field_value(control)


def describe(element: HtmlElement) -> str:
    """Return a description of an element for messages: its tag and its accessible name in quotes."""
    name = Labels(element.getroottree().getroot()).name_of(element)
    return str(element.tag) if name == element.tag else f'{element.tag} "{name[:60]}"'


def default_button(form: HtmlElement) -> HtmlElement | None:
    """Return the default button of a form, which Enter in a field presses: its first submit button, even if disabled."""
    return next((control for control in dom.form_controls(form) if dom.element_type(control) in dom.SUBMIT_TYPES), None)


_NUMBER = re.compile(r"-?(\d{1,400}(\.\d{1,400})?|\.\d{1,400})([eE][+-]?\d{1,3})?", re.ASCII)  # doubles have up to 309 digits
_EMAIL = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]+@[a-zA-Z0-9-]+(\.[a-zA-Z0-9-]+)*", re.ASCII)
_URL = re.compile(r"[a-z][a-z0-9+.-]*:\S+", re.IGNORECASE)
_DATE_FORMATS = {"date": "%Y-%m-%d", "month": "%Y-%m", "time": "%H:%M", "datetime-local": "%Y-%m-%dT%H:%M"}
_PATTERNS = {
    "number": _NUMBER,
    "range": _NUMBER,
    "week": re.compile(r"\d{4}-W(0[1-9]|[1-4]\d|5[0-3])", re.ASCII),
    "color": re.compile(r"#[0-9a-fA-F]{6}"),
}
_EXAMPLES = {
    "number": "12.5", "range": "12.5", "date": "2023-03-05", "month": "2023-03", "week": "2023-W10", "time": "15:07",
    "datetime-local": "2023-03-05T15:07", "color": "#ff8800",
}  # fmt: skip


def format_problem(type_name: str, text: str) -> str:
    """Return why a field of this type cannot have the value `text`; "" if it can. Any field can be empty."""
    if not text or type_name not in _EXAMPLES:
        return ""
    if type_name in _DATE_FORMATS:
        is_valid = _is_date(text, _DATE_FORMATS[type_name])
    else:
        is_valid = _PATTERNS[type_name].fullmatch(text) is not None
    return "" if is_valid else f'takes a {type_name} such as {_EXAMPLES[type_name]}, not "{text}"'


def text_after_typing(element: HtmlElement, text: str) -> str:
    """Return the value of a field after `text` is typed into it. Raises ActionError if the element does not accept it."""
    type_name = dom.element_type(element)
    if type_name not in dom.TYPEABLE_TYPES:
        reason = "it is no text field" if type_name == element.tag else f"its type is {type_name}"
        raise ActionError(f"cannot type into {describe(element)}: {reason}")
    if dom.is_disabled(element):
        raise ActionError(f"{describe(element)} is disabled")
    if "readonly" in element.attrib:
        raise ActionError(f"{describe(element)} is read-only")
    text = INVALID_XML.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    if type_name != "textarea":
        text = text.replace("\n", "")
    if type_name not in {"text", "search", "tel", "password", "textarea"}:
        text = text.strip()
    if problem := format_problem(type_name, text):
        raise ActionError(f"{describe(element)} {problem}")
    max_length = element.get("maxlength", "")
    return text[: int(max_length)] if max_length.isdecimal() else text


def control_problem(control: HtmlElement) -> str:
    """Return why constraint validation rejects the control's value; "" if it is valid."""
    type_name = dom.element_type(control)
    if type_name in dom.BUTTON_TYPES or type_name == "hidden" or dom.is_disabled(control):
        return ""
    if type_name in dom.TYPEABLE_TYPES and "readonly" in control.attrib:
        return ""
    if "required" in control.attrib and _is_missing(control, type_name):
        return "must be ticked" if type_name in dom.CHECKABLE_TYPES else "must be filled in"
    text = control_value(control)
    if not text or type_name not in dom.TYPEABLE_TYPES:
        return ""
    if type_name in _EXAMPLES:
        return format_problem(type_name, text) or _range_problem(control, type_name, text)
    addresses = [part.strip() for part in text.split(",")] if "multiple" in control.attrib else [text]
    if type_name == "email" and not all(map(_EMAIL.fullmatch, addresses)):
        return f'must be an e-mail address, not "{text}"'
    if type_name == "url" and not _URL.fullmatch(text):
        return f'must be a full address such as http://example.com/, not "{text}"'
    min_length = control.get("minlength", "")
    if min_length.isdecimal() and len(text) < int(min_length):
        return f"must have at least {min_length} characters"
    pattern = control.get("pattern")
    if pattern and type_name != "textarea" and not _matches(pattern, text):
        return f'does not have the form that is asked for: {control.get("title") or pattern}, not "{text}"'
    return ""


def _is_date(text: str, date_format: str) -> bool:
    try:
        return datetime.strptime(text, date_format).strftime(date_format) == text
    except ValueError:
        return False


def _is_missing(control: HtmlElement, type_name: str) -> bool:
    if type_name == "checkbox":
        return "checked" not in control.attrib
    if type_name == "radio":
        return not any("checked" in radio.attrib for radio in dom.radio_group(control))
    if type_name == "select":
        return not any(map(dom.option_value, dom.selected_options(control)))
    return not control_value(control)


def _range_problem(control: HtmlElement, type_name: str, text: str) -> str:
    low, high = (control.get(name, "") for name in ("min", "max"))
    if type_name not in {"number", "range"}:
        too_low, too_high = low and text < low, high and text > high
        return f"must not be before {low}" if too_low else f"must not be after {high}" if too_high else ""
    number, least, most = Fraction(text), _number(low), _number(high)
    if least is not None and number < least:
        return f"must be at least {low}, not {text}"
    if most is not None and number > most:
        return f"must be at most {high}, not {text}"
    step = _number(control.get("step", "1")) or Fraction(1)
    if control.get("step", "").lower() != "any" and step > 0 and (number - (least or 0)) % step:
        return f"must be a multiple of {control.get('step', '1')}" + (f" from {low}" if least else "") + f", not {text}"
    return ""


def _number(text: str) -> Fraction | None:
    return Fraction(text) if _NUMBER.fullmatch(text) else None


def _matches(pattern: str, text: str) -> bool:
    try:
        return re.fullmatch(pattern, text) is not None
    except re.error:
        return True  # browsers ignore an invalid pattern


MULTIPART = "multipart/form-data"
URLENCODED = "application/x-www-form-urlencoded"
_LINE_BREAK = re.compile(r"\r\n|\r|\n")


class FormEntry(NamedTuple):
    """A name and value of a form submission. The value of a file is its name ("" if none is chosen), with its `content`."""

    name: str
    value: str
    is_file: bool = False
    content: bytes = b""


def form_request(
    form: HtmlElement,
    button: HtmlElement | None,
    page_url: str,
    resolve: Callable[[str], str],
    files: Mapping[str, bytes] = MappingProxyType({}),
) -> Request | None:
    """Return the request that submits a form; None if its action is not a web address.

    Args:
        form: the form.
        button: the pressed button, whose `formaction`, `formmethod` and `formenctype` override the form's attributes.
        page_url: address of the page.
        resolve: returns the absolute URL of a reference on the page.
        files: content of the available files by name.

    """
    overrides = {} if button is None else button.attrib
    method = overrides.get("formmethod", form.get("method", "")).strip().lower()
    action = overrides.get("formaction", form.get("action", "")).strip()
    enctype = overrides.get("formenctype", form.get("enctype", "")).strip().lower()
    url = resolve(action) if action else page_url
    if method == "dialog" or not is_web(url):
        return None
    entries = form_entries(form, button, files)
    if method == "post":
        content_type, body = encode_form(entries, enctype)
        return Request(url, "POST", content_type, body, referrer_for(page_url, url))
    address, mark, fragment = url.partition("#")
    _, query = encode_form(entries, URLENCODED)
    url = f"{address.partition('?')[0]}?{query.decode()}{mark}{fragment}"
    return Request(url, referrer=referrer_for(page_url, url))


def form_entries(
    form: HtmlElement, submitter: HtmlElement | None, files: Mapping[str, bytes] = MappingProxyType({})
) -> list[FormEntry]:
    """Return the entry list of a form submitted by `submitter`, in document order."""
    return [
        entry
        for control in dom.form_controls(form)
        if (control is submitter or dom.element_type(control) not in dom.BUTTON_TYPES)
        and not dom.is_disabled(control)
        and next(control.iterancestors("datalist"), None) is None
        for entry in _control_entries(control, files)
    ]


def _control_entries(control: HtmlElement, files: Mapping[str, bytes]) -> list[FormEntry]:
    name, type_name = control.get("name", ""), dom.element_type(control)
    if type_name == "image":
        prefix = f"{name}." if name else ""
        return [FormEntry(f"{prefix}x", "0"), FormEntry(f"{prefix}y", "0")]
    if not name:
        return []
    if type_name in dom.CHECKABLE_TYPES:
        return [FormEntry(name, control.get("value", "on"))] if "checked" in control.attrib else []
    if type_name == "select":
        return [
            FormEntry(name, dom.option_value(option)) for option in dom.selected_options(control) if not dom.is_disabled(option)
        ]
    if type_name == "file":
        names = file_names(control.get("value", ""), files) or [""]
        return [FormEntry(name, file, is_file=True, content=files.get(file, b"")) for file in names]
    if type_name == "hidden" and name.lower() == "_charset_":
        return [FormEntry(name, "UTF-8")]
    return [FormEntry(name, control_value(control))]


def encode_form(entries: Sequence[FormEntry], enctype: str) -> tuple[str, bytes]:
    """Return the content type and body of a submission: multipart if `enctype` is MULTIPART, otherwise URL-encoded."""
    pairs = [(_LINE_BREAK.sub("\r\n", entry.name), _LINE_BREAK.sub("\r\n", entry.value), entry.is_file) for entry in entries]
    if enctype != MULTIPART:
        query = "&".join(f"{quote_plus(name, safe='*')}={quote_plus(text, safe='*')}" for name, text, _ in pairs)
        return URLENCODED, query.replace("~", "%7E").encode()
    # A digest of the content is a deterministic boundary that does not occur in it.
    contents = [entry.content for entry in entries]
    boundary = "----form" + hashlib.sha256(repr(pairs).encode() + b"".join(contents)).hexdigest()[:24]
    lines: list[bytes] = []
    for (name, text, is_file), content in zip(pairs, contents, strict=True):
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{_in_quotes(name)}"'
        if is_file:
            head += f'; filename="{_in_quotes(text)}"\r\nContent-Type: {file_type(text)}'
        lines += [head.encode(), b"\r\n\r\n", content if is_file else text.encode(), b"\r\n"]
    return f"{MULTIPART}; boundary={boundary}", b"".join(lines) + f"--{boundary}--\r\n".encode()


def _in_quotes(name: str) -> str:
    return name.replace("\r\n", "%0D%0A").replace('"', "%22")


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


def check_key_effect(key: str, focused: HtmlElement | None) -> None:
    """Raise ActionError for a key that has no effect on the focused element, or none that the page text shows."""
    if key in ("Tab", "Shift+Tab") or choice_by_key(key, focused) is not None:
        return
    if focused is None:
        raise ActionError(f'the key "{key}" does nothing here: no element has the focus')
    if len(key) == 1 and (problem := format_problem(dom.element_type(focused), control_value(focused) + key)):
        raise ActionError(f"{describe(focused)} {problem}")
    if not _has_effect(key, focused):
        raise ActionError(f'the key "{key}" does nothing in {describe(focused)}{_alternative(key, focused)}')


def _has_effect(key: str, focused: HtmlElement) -> bool:
    type_name = dom.element_type(focused)
    presses = type_name in dom.BUTTON_TYPES or dom.is_summary(focused)
    if key == "Enter":
        if type_name == "textarea" or presses or dom.is_link(focused):
            return True
        return focused.tag == "input" and type_name not in _PICKER_TYPES and _enter_submits(dom.form_owner(focused))
    if key in _SPACE_KEYS and (presses or type_name in dom.CHECKABLE_TYPES):
        return type_name != "radio" or "checked" not in focused.attrib
    if type_name not in dom.TYPEABLE_TYPES - {"range", "color"} or "readonly" in focused.attrib:
        return False
    writes = len(key) == 1 or key in _SPACE_KEYS or (key.startswith("Shift+") and len(key) == len("Shift+") + 1)
    return writes or (key in _DELETION_KEYS and control_value(focused) != "")


def _alternative(key: str, focused: HtmlElement) -> str:
    """Return a hint for the message about a key without effect: the action to use instead."""
    if focused.tag == "select":
        return ": choose an option by its text"
    if key == "Enter":
        return ": a form is sent by its button" if dom.form_owner(focused) is not None else ""
    if "readonly" in focused.attrib:
        return ": it is read-only"
    return ": type its whole text" if dom.element_type(focused) in dom.TYPEABLE_TYPES else ""


def _enter_submits(form: HtmlElement | None) -> bool:
    """Return True if Enter in a field submits its form: by the default button or, without one, if it is the only field."""
    if form is None:
        return False
    button = default_button(form)
    if button is not None:
        return not dom.is_disabled(button)
    return sum(dom.element_type(control) in dom.SINGLE_LINE_TYPES for control in dom.form_controls(form)) <= 1


def _option_by_key(key: str, select: HtmlElement) -> HtmlElement | None:
    if "multiple" in select.attrib:
        return None
    options = [option for option in select.iter("option") if "selected" in option.attrib or not dom.is_disabled(option)]
    selected = next(iter(dom.selected_options(select)), None)
    position = -1 if selected is None else options.index(selected)
    if key in _HORIZONTAL_KEYS and select.get("size", "1") not in ("", "0", "1"):
        return None
    if key in _FORWARD_KEYS:
        candidates = options[position + 1 :]
    elif key in _BACKWARD_KEYS:
        candidates = options[:position][::-1] if position > 0 else []
    elif key in ("Home", "End"):
        candidates = options if key == "Home" else options[::-1]
    elif len(key) == 1 and not key.isspace():
        rotated = [*options[position + 1 :], *options[: position + 1]]
        candidates = [option for option in rotated if dom.option_label(option).lower().startswith(key.lower())]
    else:
        return None
    choice = next((option for option in candidates if not dom.is_disabled(option)), None)
    return None if choice is selected else choice
