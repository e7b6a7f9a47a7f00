"""HTML's constraint validation: why a form would not be submitted, as messages for the policy."""

import re
from datetime import datetime
from fractions import Fraction

from lxml.html import HtmlElement

from webarena_gym.browsers import forms
from webarena_gym.browsers.document import NOT_IN_TREE
from webarena_gym.errors import ActionError
from webarena_gym.pages import dom

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
    "number": "12.5",
    "range": "12.5",
    "date": "2023-03-05",
    "month": "2023-03",
    "week": "2023-W10",
    "time": "15:07",
    "datetime-local": "2023-03-05T15:07",
    "color": "#ff8800",
}


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
    what = dom.kind(element)
    if what not in dom.TYPEABLE_KINDS:
        reason = "it is no text field" if what == element.tag else f"its type is {what}"
        raise ActionError(f"cannot type into {forms.describe(element)}: {reason}")
    if dom.is_disabled(element):
        raise ActionError(f"{forms.describe(element)} is disabled")
    if "readonly" in element.attrib:
        raise ActionError(f"{forms.describe(element)} is read-only")
    text = NOT_IN_TREE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    if what != "textarea":
        text = text.replace("\n", "")
    if what not in {"text", "search", "tel", "password", "textarea"}:
        text = text.strip()
    if problem := format_problem(what, text):
        raise ActionError(f"{forms.describe(element)} {problem}")
    longest = element.get("maxlength", "")
    return text[: int(longest)] if longest.isdecimal() else text


def form_problem(form: HtmlElement) -> str:
    """Return which control keeps the form from being sent, and why; "" if none does."""
    for control in dom.controls(form):
        problem = control_problem(control)
        if problem:
            return f"{forms.describe(control)} {problem}"
    return ""


def control_problem(control: HtmlElement) -> str:
    """Return why a form with this control would not be sent; "" if nothing is wrong with it."""
    what = dom.kind(control)
    if what in dom.BUTTON_KINDS or what == "hidden" or dom.is_disabled(control):
        return ""
    if what in dom.TYPEABLE_KINDS and "readonly" in control.attrib:
        return ""
    if "required" in control.attrib and _is_missing(control, what):
        return "must be ticked" if what in dom.TICK_KINDS else "must be filled in"
    text = forms.value(control)
    if not text or what not in dom.TYPEABLE_KINDS:
        return ""
    if what in _EXAMPLES:
        return format_problem(what, text) or _range_problem(control, what, text)
    return _text_problem(control, what, text)


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
    return what == "file" or not forms.value(control)


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


def _text_problem(control: HtmlElement, what: str, text: str) -> str:
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


def _matches(pattern: str, text: str) -> bool:
    try:
        return re.fullmatch(pattern, text) is not None
    except re.error:
        return True  # a browser ignores a pattern that it cannot read
