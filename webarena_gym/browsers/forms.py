"""The rules of use of a page: what can be clicked, chosen, typed, pressed and sent, with HTML's constraint validation. Both browsers go by it.

All functions read a tree and change nothing; the facts of HTML that they go by are in `webarena_gym.pages.dom`. A key whose effect
could not be seen in the text of a page, or that has none, is refused with a message: keys that move the caret, open a list whose
options the page shows anyway, scroll, or step a number that can be typed.
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

from webarena_gym.browsers.document import NOT_IN_TREE
from webarena_gym.browsers.http import Request, is_web, referrer_for
from webarena_gym.errors import ActionError
from webarena_gym.pages import dom
from webarena_gym.pages.reading import Labels


def is_forgotten(element: HtmlElement) -> bool:
    """Return whether what was done to an element is lost when its page is left, and does not come back with it."""
    form = dom.form_owner(element)
    completes = element.get("autocomplete", "" if form is None else form.get("autocomplete", "")).strip().lower()
    return element.tag == "details" or dom.element_type(element) == "password" or completes == "off"


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


def check_shown(element: HtmlElement) -> None:
    """Raise ActionError when an element is hidden, and no label of it is shown."""
    if dom.is_unclickable(element):
        raise ActionError(f"{describe(element)} is hidden")


def check_enabled(control: HtmlElement) -> None:
    """Raise ActionError when a control is disabled."""
    if dom.is_disabled(control):
        raise ActionError(f"{describe(control)} is disabled")


def usable_target(element: HtmlElement) -> HtmlElement | None:
    """Return what reacts to a click on an element. Raises ActionError when either cannot be used."""
    check_shown(element)
    target = click_target(element)
    if target is not None and target.tag in dom.CONTROL_TAGS:
        check_enabled(target)
    return target


def focusable_near(element: HtmlElement) -> HtmlElement | None:
    """Return the nearest part around an element, or itself, that takes the focus when it is clicked."""
    return next((part for part in (element, *element.iterancestors()) if dom.is_focusable(part)), None)


def check_form(form: HtmlElement, button: HtmlElement | None) -> None:
    """Raise ActionError for what a browser would only say in a bubble: that a form is not filled in rightly."""
    checks = "novalidate" not in form.attrib and (button is None or "formnovalidate" not in button.attrib)
    for control in dom.form_controls(form) if checks else ():
        if problem := control_problem(control):
            raise ActionError(f"the form was not sent: {describe(control)} {problem}")


def chosen_options(select: HtmlElement, option: HtmlElement, *, toggle: bool = False) -> list[HtmlElement]:
    """Return the options that are chosen after one is. Raises ActionError when that is disabled.

    In a list for several it is chosen beside the others, and `toggle` takes a chosen one back.
    """
    if dom.is_disabled(option):
        raise ActionError(f'the option "{dom.option_label(option)}" of {describe(select)} is disabled')
    if "multiple" not in select.attrib:
        return [option]
    others = [each for each in dom.selected_options(select) if each is not option]
    return others if toggle and "selected" in option.attrib else [*others, option]


def find_option(select: HtmlElement, wanted: str) -> HtmlElement:
    """Return the option with that text, else the first that contains it, without case. Raises ActionError for none, and no list."""
    if select.tag != "select":
        raise ActionError(f"cannot select in {describe(select)}: it is no select")
    check_enabled(select)
    wanted = dom.normalize_space(wanted)
    options = list(select.iter("option"))
    found = [option for option in options if dom.option_label(option) == wanted]
    if not found and wanted:
        found = [option for option in options if wanted.casefold() in dom.option_label(option).casefold()]
    if not found:
        available = ", ".join(f'"{dom.option_label(option)}"' for option in options if not dom.is_disabled(option))
        raise ActionError(f'{describe(select)} has no option "{wanted}"; it has {available or "none"}')
    return next((option for option in found if not dom.is_disabled(option)), found[0])


def chosen_files(field: HtmlElement, wanted: str, files: Collection[str], *, beside: bool = False) -> list[str]:
    """Return the names of the files in a file field after one was chosen by its name, "" for none; `beside` keeps those of a field for several."""
    check_enabled(field)
    held = file_names(field.get("value", ""), files) if beside and "multiple" in field.attrib else []
    return [*(name for name in held if name != wanted), find_file(wanted, files, describe(field))] if wanted else []


def find_file(wanted: str, files: Collection[str], place: str) -> str:
    """Return the name of a file at hand, without case where none is written so. Raises ActionError."""
    found = wanted if wanted in files else next((name for name in files if name.lower() == wanted.strip().lower()), "")
    if not found:
        raise ActionError(f'{place} takes a file by its name, not "{wanted}"; {at_hand(files)}')
    return found


def file_names(value: str, files: Collection[str]) -> list[str]:
    """Return the names that a file field shows."""
    return [value] if value in files else [name for name in value.split(", ") if name]


def file_type(name: str) -> str:
    """Return the media type of a file by its name, the same on all machines."""
    return MimeTypes().guess_type(name)[0] or "application/octet-stream"


def at_hand(files: Collection[str]) -> str:
    """Say of which files the names can be given."""
    return f"at hand are {', '.join(files) or 'none'}"


def control_value(control: HtmlElement) -> str:
    """Return what a control holds, in one string."""
    if control.tag == "select":
        return next(map(dom.option_value, dom.selected_options(control)), "")
    if control.tag == "input" and dom.element_type(control) == "submit":
        return str(control.get("value", "Submit"))
    return dom.field_value(control)


def describe(element: HtmlElement) -> str:
    """Return a short name of an element for a message: its tag, and in quotes the name that observations give it."""
    name = Labels(element.getroottree().getroot()).name_of(element)
    return str(element.tag) if name == element.tag else f'{element.tag} "{name[:60]}"'


def default_button(form: HtmlElement) -> HtmlElement | None:
    """Return the button that Enter in a field presses: the form's first submit button, disabled or not."""
    return next((control for control in dom.form_controls(form) if dom.element_type(control) in dom.SUBMIT_TYPES), None)


_NUMBER = re.compile(r"-?(\d{1,400}(\.\d{1,400})?|\.\d{1,400})([eE][+-]?\d{1,3})?", re.ASCII)  # a browser's have 309 digits
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


def format_problem(what: str, text: str) -> str:
    """Return why a field of kind `what` cannot hold `text` at all; "" if it can, as every field can be empty."""
    if not text or what not in _EXAMPLES:
        return ""
    if what in _DATE_FORMATS:
        fits = _is_moment(text, _DATE_FORMATS[what])
    else:
        fits = _PATTERNS[what].fullmatch(text) is not None
    return "" if fits else f'takes a {what} such as {_EXAMPLES[what]}, not "{text}"'


def entered_text(element: HtmlElement, text: str) -> str:
    """Return what a field holds after `text` was typed into it. Raises ActionError for what takes no such text."""
    what = dom.element_type(element)
    if what not in dom.TYPEABLE_TYPES:
        reason = "it is no text field" if what == element.tag else f"its type is {what}"
        raise ActionError(f"cannot type into {describe(element)}: {reason}")
    if dom.is_disabled(element):
        raise ActionError(f"{describe(element)} is disabled")
    if "readonly" in element.attrib:
        raise ActionError(f"{describe(element)} is read-only")
    text = NOT_IN_TREE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    if what != "textarea":
        text = text.replace("\n", "")
    if what not in {"text", "search", "tel", "password", "textarea"}:
        text = text.strip()
    if problem := format_problem(what, text):
        raise ActionError(f"{describe(element)} {problem}")
    longest = element.get("maxlength", "")
    return text[: int(longest)] if longest.isdecimal() else text


def control_problem(control: HtmlElement) -> str:
    """Return why a form with this control would not be sent; "" if nothing is wrong with it."""
    what = dom.element_type(control)
    if what in dom.BUTTON_TYPES or what == "hidden" or dom.is_disabled(control):
        return ""
    if what in dom.TYPEABLE_TYPES and "readonly" in control.attrib:
        return ""
    if "required" in control.attrib and _is_missing(control, what):
        return "must be ticked" if what in dom.CHECKABLE_TYPES else "must be filled in"
    text = control_value(control)
    if not text or what not in dom.TYPEABLE_TYPES:
        return ""
    if what in _EXAMPLES:
        return format_problem(what, text) or _range_problem(control, what, text)
    addresses = [part.strip() for part in text.split(",")] if "multiple" in control.attrib else [text]
    if what == "email" and not all(map(_EMAIL.fullmatch, addresses)):
        return f'must be an e-mail address, not "{text}"'
    if what == "url" and not _URL.fullmatch(text):
        return f'must be a full address such as http://example.com/, not "{text}"'
    shortest = control.get("minlength", "")
    if shortest.isdecimal() and len(text) < int(shortest):
        return f"must have at least {shortest} characters"
    pattern = control.get("pattern")
    if pattern and what != "textarea" and not _matches(pattern, text):
        return f'does not have the form that is asked for: {control.get("title") or pattern}, not "{text}"'
    return ""


def _is_moment(text: str, date_format: str) -> bool:
    try:
        return datetime.strptime(text, date_format).strftime(date_format) == text
    except ValueError:
        return False


def _is_missing(control: HtmlElement, what: str) -> bool:
    if what == "checkbox":
        return "checked" not in control.attrib
    if what == "radio":
        return not any("checked" in radio.attrib for radio in dom.radio_group(control))
    if what == "select":
        return not any(map(dom.option_value, dom.selected_options(control)))
    return not control_value(control)


def _range_problem(control: HtmlElement, what: str, text: str) -> str:
    low, high = (control.get(name, "") for name in ("min", "max"))
    if what not in {"number", "range"}:
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
        return True  # a browser ignores a pattern that it cannot read


MULTIPART = "multipart/form-data"
URLENCODED = "application/x-www-form-urlencoded"
_LINE_BREAK = re.compile(r"\r\n|\r|\n")


class FormEntry(NamedTuple):
    """One name and value that a form sends; of a file, its name, which is empty when none was chosen, and its content."""

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
    """Return the request that sends a form of the page at `page_url`, with the `files` at hand; None for a form that leads to no site.

    What the pressed button says in `formaction`, `formmethod` and `formenctype` goes before what the form says. `resolve`
    makes an address of the page absolute.
    """
    own = {} if button is None else button.attrib
    method = own.get("formmethod", form.get("method", "")).strip().lower()
    action = own.get("formaction", form.get("action", "")).strip()
    enctype = own.get("formenctype", form.get("enctype", "")).strip().lower()
    url = resolve(action) if action else page_url
    if method == "dialog" or not is_web(url):
        return None
    sent = form_entries(form, button, files)
    if method == "post":
        content_type, body = encode_form(sent, enctype)
        return Request(url, "POST", content_type, body, referrer_for(page_url, url))
    address, mark, fragment = url.partition("#")
    _, query = encode_form(sent, URLENCODED)
    url = f"{address.partition('?')[0]}?{query.decode()}{mark}{fragment}"
    return Request(url, referrer=referrer_for(page_url, url))


def form_entries(
    form: HtmlElement, submitter: HtmlElement | None, files: Mapping[str, bytes] = MappingProxyType({})
) -> list[FormEntry]:
    """Return what a form sends when `submitter` is pressed, in document order."""
    return [
        entry
        for control in dom.form_controls(form)
        if (control is submitter or dom.element_type(control) not in dom.BUTTON_TYPES)
        and not dom.is_disabled(control)
        and next(control.iterancestors("datalist"), None) is None
        for entry in _control_entries(control, files)
    ]


def _control_entries(control: HtmlElement, files: Mapping[str, bytes]) -> list[FormEntry]:
    name, what = control.get("name", ""), dom.element_type(control)
    if what == "image":
        prefix = f"{name}." if name else ""
        return [FormEntry(f"{prefix}x", "0"), FormEntry(f"{prefix}y", "0")]
    if not name:
        return []
    if what in dom.CHECKABLE_TYPES:
        return [FormEntry(name, control.get("value", "on"))] if "checked" in control.attrib else []
    if what == "select":
        return [
            FormEntry(name, dom.option_value(option)) for option in dom.selected_options(control) if not dom.is_disabled(option)
        ]
    if what == "file":
        names = file_names(control.get("value", ""), files) or [""]
        return [FormEntry(name, each, is_file=True, content=files.get(each, b"")) for each in names]
    if what == "hidden" and name.lower() == "_charset_":
        return [FormEntry(name, "UTF-8")]
    return [FormEntry(name, control_value(control))]


def encode_form(sent: Sequence[FormEntry], enctype: str) -> tuple[str, bytes]:
    """Return the content type and the body that carry the entries; URL-encoded unless `enctype` asks for multipart."""
    pairs = [(_LINE_BREAK.sub("\r\n", each.name), _LINE_BREAK.sub("\r\n", each.value), each.is_file) for each in sent]
    if enctype != MULTIPART:
        query = "&".join(f"{quote_plus(name, safe='*')}={quote_plus(text, safe='*')}" for name, text, _ in pairs)
        return URLENCODED, query.replace("~", "%7E").encode()
    # A digest of the content makes a boundary that is the same for the same form and stands nowhere in it.
    contents = [each.content for each in sent]
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


_MODIFIERS = frozenset(("Shift", "Control", "Alt", "Meta", "ControlOrMeta"))
_FORWARD, _BACKWARD = frozenset(("ArrowDown", "ArrowRight")), frozenset(("ArrowUp", "ArrowLeft"))
_NAMED = _MODIFIERS | _FORWARD | _BACKWARD | frozenset(f"F{number}" for number in range(1, 13)) | frozenset((
    "PageUp", "PageDown", "Home", "End", "Enter", "Tab", "Backspace", "Delete", "Space", "Escape", "Insert", "CapsLock", "ContextMenu",
))  # fmt: skip
_SHIFTED = dict(zip("`1234567890-=[]\\;',./", '~!@#$%^&*()_+{}|:"<>?', strict=True))


def check_key(key: str) -> None:
    """Raise ActionError for what is no key, alone or with modifiers before it."""
    *modifiers, last = _split(key)
    if not (last in _NAMED or (len(last) == 1 and last.isprintable())) or not set(modifiers) <= _MODIFIERS:
        raise ActionError(f'unknown key "{key}"; keys are named as in Enter, Tab, Escape, ArrowDown, PageDown, Control+A')


def written_by(key: str) -> str:
    """Return what a key writes into a field, "" for nothing.

    >>> written_by("a"), written_by("Space"), written_by("Shift+1"), written_by("Control+a")
    ('a', ' ', '!', '')
    """
    *modifiers, last = _split(key)
    last = " " if last == "Space" else last
    if len(last) > 1 or not set(modifiers) <= {"Shift"}:
        return ""
    return _SHIFTED.get(last, last.upper()) if modifiers else last


def _split(key: str) -> list[str]:
    return [*key[:-2].split("+"), "+"] if key.endswith("++") else [key] if key == "+" else key.split("+")


_SIDEWAYS = frozenset(("ArrowLeft", "ArrowRight"))
_ERASING = frozenset(("Backspace", "Delete", "Control+A", "ControlOrMeta+A"))
_SPACE = frozenset((" ", "Space"))
_PICKERS = frozenset(("color", "file"))  # where Enter opens a window of the browser's own


def picked_by_key(key: str, focused: HtmlElement | None) -> HtmlElement | None:
    """Return the option or the radio button that a key chooses, None if it chooses none."""
    if focused is None:
        return None
    if focused.tag == "select":
        return _option(key, focused)
    if dom.element_type(focused) == "radio" and key in _FORWARD | _BACKWARD:
        group = dom.radio_group(focused)
        radios = [each for each in group if each is focused or (dom.is_visible(each) and not dom.is_disabled(each))]
        other = radios[(radios.index(focused) + (1 if key in _FORWARD else -1)) % len(radios)]
        return None if other is focused else other
    return None


def expect_effect(key: str, focused: HtmlElement | None) -> None:
    """Raise ActionError for a key that does nothing to the focused element, or nothing that a page would show."""
    if key in ("Tab", "Shift+Tab") or picked_by_key(key, focused) is not None:
        return
    if focused is None:
        raise ActionError(f'the key "{key}" does nothing here: no element has the focus')
    if len(key) == 1 and (problem := format_problem(dom.element_type(focused), control_value(focused) + key)):
        raise ActionError(f"{describe(focused)} {problem}")
    if not _has_effect(key, focused):
        raise ActionError(f'the key "{key}" does nothing in {describe(focused)}{_instead(key, focused)}')


def _has_effect(key: str, focused: HtmlElement) -> bool:
    what = dom.element_type(focused)
    presses = what in dom.BUTTON_TYPES or dom.is_summary(focused)
    if key == "Enter":
        if what == "textarea" or presses or dom.is_link(focused):
            return True
        return focused.tag == "input" and what not in _PICKERS and _sends(dom.form_owner(focused))
    if key in _SPACE and (presses or what in dom.CHECKABLE_TYPES):
        return what != "radio" or "checked" not in focused.attrib
    if what not in dom.TYPEABLE_TYPES - {"range", "color"} or "readonly" in focused.attrib:
        return False
    writes = len(key) == 1 or key in _SPACE or (key.startswith("Shift+") and len(key) == len("Shift+") + 1)
    return writes or (key in _ERASING and control_value(focused) != "")


def _instead(key: str, focused: HtmlElement) -> str:
    """Return what could be done in place of a key that does nothing."""
    if focused.tag == "select":
        return ": choose an option by its text"
    if key == "Enter":
        return ": a form is sent by its button" if dom.form_owner(focused) is not None else ""
    if "readonly" in focused.attrib:
        return ": it is read-only"
    return ": type its whole text" if dom.element_type(focused) in dom.TYPEABLE_TYPES else ""


def _sends(form: HtmlElement | None) -> bool:
    """Return whether Enter in a field sends its form: by its first button, or without one if it is the only field."""
    if form is None:
        return False
    button = default_button(form)
    if button is not None:
        return not dom.is_disabled(button)
    return sum(dom.element_type(control) in dom.SINGLE_LINE_TYPES for control in dom.form_controls(form)) <= 1


def _option(key: str, select: HtmlElement) -> HtmlElement | None:
    if "multiple" in select.attrib:
        return None
    options = [option for option in select.iter("option") if "selected" in option.attrib or not dom.is_disabled(option)]
    chosen = next(iter(dom.selected_options(select)), None)
    place = -1 if chosen is None else options.index(chosen)
    if key in _SIDEWAYS and select.get("size", "1") not in ("", "0", "1"):
        return None
    if key in _FORWARD:
        following = options[place + 1 :]
    elif key in _BACKWARD:
        following = options[:place][::-1] if place > 0 else []
    elif key in ("Home", "End"):
        following = options if key == "Home" else options[::-1]
    elif len(key) == 1 and not key.isspace():
        around = [*options[place + 1 :], *options[: place + 1]]
        following = [each for each in around if dom.option_label(each).lower().startswith(key.lower())]
    else:
        return None
    found = next((option for option in following if not dom.is_disabled(option)), None)
    return None if found is chosen else found
