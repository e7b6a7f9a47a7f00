"""Constraint validation of forms: which controls prevent a submission, and why.

Each function implements the section of the HTML standard that its docstring links to, as Chromium does; `tests/data/forms.json`
contains Chromium's results. Controls have the names of the standard's validity flags, such as "valueMissing".
"""

import re
import unicodedata
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, localcontext
from functools import lru_cache
from ipaddress import AddressValueError, IPv6Address
from typing import TYPE_CHECKING
from urllib.parse import unquote

from lxml.html import HtmlElement

from webarena_gym.pages import dom
from webarena_gym.pages.input_values import (
    NUMERIC_TYPES,
    convert_string_to_number,
    domain_to_ascii,
    step_range,
)

if TYPE_CHECKING:
    from regress import Regex

DefaultValue = Callable[[HtmlElement], str | None]
"""Returns the value that a control had before the user edited it; None if the user has not edited it."""

_PATTERN_TYPES = frozenset(("text", "search", "tel", "url", "email", "password"))
LENGTH_TYPES = _PATTERN_TYPES | {"textarea"}
"""Types of controls with `minlength` and `maxlength`."""
_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_EMAIL = re.compile(rf"[a-zA-Z0-9.!#$%&'*+/=?^_`{{|}}~-]+@{_LABEL}(?:\.{_LABEL})*")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*+:")
_SPECIAL_SCHEMES = frozenset(("http", "https", "ws", "wss", "ftp", "file"))
_BAD_ESCAPE = re.compile("%(?![0-9a-fA-F]{2})")
_FORBIDDEN = re.compile(r"[\x00-\x1f#/:<>?@\[\\\]^|%\x7f\u200c\u200d\ufffd]")
_FORBIDDEN_OPAQUE = re.compile(r"[\x00\t\n\r #/:<>?@\[\\\]^|]")
_UNITS = {"date": "days", "month": "months", "week": "weeks", "time": "seconds", "datetime-local": "seconds"}


def interactively_validate(form: HtmlElement, submitter: HtmlElement | None, default_value: DefaultValue) -> list[HtmlElement]:
    """Return the invalid controls that prevent the submission of a form by `submitter`, in document order.

    https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#interactively-validate-the-constraints
    """
    if "novalidate" in form.attrib or (submitter is not None and "formnovalidate" in submitter.attrib):
        return []
    return [control for control in dom.form_controls(form) if validity(control, default_value(control))]


def validity(control: HtmlElement, default_value: str | None = None) -> str:
    """Return the validity flag of a control's first problem; "" if it is valid or not a candidate for constraint validation.

    https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#constraints

    Args:
        control: the control.
        default_value: its value before the user edited it; None if the user has not edited it.

    """
    type_name = dom.element_type(control)
    if is_barred(control, type_name):
        return ""
    if _suffers_from_being_missing(control, type_name):
        return "valueMissing"
    text = dom.field_value(control)
    if not text or type_name not in dom.TYPEABLE_TYPES:
        return ""
    if type_name in ("email", "url") and not _has_type(control, type_name, text):
        return "typeMismatch"
    if type_name in _PATTERN_TYPES:
        pattern = control.get("pattern")
        if pattern is not None and not all(_matches(pattern, part) for part in _values(control, type_name, text)):
            return "patternMismatch"
    if default_value is not None and type_name in LENGTH_TYPES:
        length = len(text.encode("utf-16-le")) // 2
        shortest, longest = (dom.parse_non_negative_integer(control.get(name)) for name in ("minlength", "maxlength"))
        if longest is not None and length > longest:
            return "tooLong"
        if shortest is not None and length < shortest:
            return "tooShort"
    return _range_problem(control, type_name, text, default_value) if type_name in NUMERIC_TYPES else ""


def is_barred(control: HtmlElement, type_name: str) -> bool:
    """Return True if a control is barred from constraint validation.

    https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#barred-from-constraint-validation
    """
    return (
        type_name in ("hidden", "reset", "button")
        or ("readonly" in control.attrib and control.tag in ("input", "textarea"))
        or dom.is_disabled(control)
        or next(control.iterancestors("datalist"), None) is not None
    )


def _suffers_from_being_missing(control: HtmlElement, type_name: str) -> bool:
    """https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#suffering-from-being-missing."""
    if type_name == "radio":  # one required button makes the group required; without a name there is no group
        group = dom.radio_group(control) if control.get("name") else []
        return any("required" in radio.attrib for radio in group) and not any("checked" in radio.attrib for radio in group)
    if "required" not in control.attrib:
        return False
    if type_name == "checkbox":
        return "checked" not in control.attrib
    if type_name == "select":
        selected = dom.selected_options(control)
        return not selected or selected == [placeholder_label_option(control)]
    return type_name in (*dom.SINGLE_LINE_TYPES, "textarea", "file") and not dom.field_value(control)


def placeholder_label_option(select: HtmlElement) -> HtmlElement | None:
    """Return the option of a required list that means no choice: its first option, if it has no value and is in no group.

    https://html.spec.whatwg.org/multipage/form-elements.html#placeholder-label-option
    """
    if "multiple" in select.attrib or dom.display_size(select) != 1:
        return None
    first = next(select.iter("option", "optgroup", "hr"), None)  # a line is an item, too
    return first if first is not None and first.tag == "option" and not dom.option_value(first) else None


def _values(control: HtmlElement, type_name: str, text: str) -> list[str]:
    return text.split(",") if type_name == "email" and "multiple" in control.attrib else [text]


def _has_type(control: HtmlElement, type_name: str, text: str) -> bool:
    """https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#suffering-from-a-type-mismatch."""
    if type_name == "url":
        return is_absolute_url(text)
    return all(map(_EMAIL.fullmatch, _values(control, type_name, text)))


def is_absolute_url(text: str) -> bool:
    """Return True if the basic URL parser returns an address for a text, as Chromium's does, which allows blanks in host names.

    https://url.spec.whatwg.org/#concept-basic-url-parser
    """
    text = re.sub("[\t\n\r]", "", text.strip("".join(map(chr, range(0x21)))))
    match = _SCHEME.match(text)
    if match is None:
        return False
    scheme, rest = match[0][:-1].lower(), text[match.end() :]
    if scheme in _SPECIAL_SCHEMES:
        authority = re.split(r"[/\\?#]", rest.lstrip("/\\"), maxsplit=1)[0]
    elif rest.startswith("//"):
        authority = re.split("[/?#]", rest[2:], maxsplit=1)[0]
    else:
        return True
    if not authority:
        return scheme == "file" or scheme not in _SPECIAL_SCHEMES
    host = authority.rpartition("@")[2]
    port = re.search(r":([^:\]]*)$", host)
    if port is not None:
        host = host[: port.start()]
        if scheme == "file" or not re.fullmatch("[0-9]{0,99}", port[1]) or int(port[1] or "0") > 65535:
            return False
    if host.startswith("["):
        return host.endswith("]") and _is_ipv6(host[1:-1])
    if scheme not in _SPECIAL_SCHEMES:
        return bool(host) and not _FORBIDDEN_OPAQUE.search(host)
    return _is_domain(host)


def _is_ipv6(text: str) -> bool:
    try:
        return bool(IPv6Address(text)) and "%" not in text
    except AddressValueError:
        return False


def _is_domain(host: str) -> bool:
    """https://url.spec.whatwg.org/#concept-host-parser."""
    if _BAD_ESCAPE.search(host):
        return False
    decoded = unquote(host)
    if any(unicodedata.category(character) in ("Cn", "Co", "Cs") for character in decoded):
        return False
    domain = domain_to_ascii(decoded)
    if not domain or _FORBIDDEN.search(domain) or _FORBIDDEN.search(decoded):
        return False
    labels = domain.removesuffix(".").split(".")
    if not re.fullmatch("[0-9]+|0x[0-9a-f]*", labels[-1]):
        return True
    numbers = [_ipv4_number(label) for label in labels]
    if len(numbers) > 4 or any(number < 0 for number in numbers):
        return False
    return all(number < 256 for number in numbers[:-1]) and numbers[-1] < 256 ** (5 - len(numbers))


def _ipv4_number(label: str) -> int:
    """Return a part of an IPv4 address, which may be hexadecimal or octal; -1 if it is none."""
    for prefix, digits, base in (("0x", "0123456789abcdef", 16), ("0", "01234567", 8), ("", "0123456789", 10)):
        if label.startswith(prefix):
            number = label.removeprefix(prefix)
            return int(number or "0", base) if len(number) <= 16 and set(number) <= set(digits) else -1
    return -1


def _matches(pattern: str, text: str) -> bool:
    """Return True if a text has the form of a `pattern`; one that is no regular expression of JavaScript's flag v is ignored.

    https://html.spec.whatwg.org/multipage/input.html#the-pattern-attribute
    """
    expression = _compiled_pattern(pattern)
    return expression is None or expression.find(text) is not None


@lru_cache(maxsize=256)
def _compiled_pattern(pattern: str) -> "Regex | None":
    from regress import Regex, RegressError  # noqa: PLC0415 - few pages have patterns

    # With the flag v alone, regress accepts unknown escapes such as "\\h", which JavaScript refuses.
    try:
        Regex(pattern, "uv")
        return Regex(f"^(?:{pattern})$", "uv")
    except RegressError:
        return None


def _range_problem(control: HtmlElement, type_name: str, text: str, default_value: str | None) -> str:
    """Return "rangeUnderflow", "rangeOverflow", "stepMismatch" or "".

    https://html.spec.whatwg.org/multipage/input.html#the-min-and-max-attributes, with reversed ranges of times.
    """
    number = convert_string_to_number(type_name, text)
    if number is None:
        return ""
    steps = step_range(control, control.get("value") if default_value is None else default_value)
    low, high = steps.minimum, steps.maximum
    is_reversed = type_name == "time" and low is not None and high is not None and low > high
    is_below, is_above = low is not None and number < low, high is not None and number > high
    if is_reversed:
        is_below = is_above = is_below and is_above
    if is_below or is_above:
        return "rangeUnderflow" if is_below else "rangeOverflow"
    return "stepMismatch" if _suffers_from_a_step_mismatch(number, steps.step, steps.base, type_name) else ""


def _suffers_from_a_step_mismatch(number: Decimal, step: Decimal | None, base: Decimal, type_name: str) -> bool:
    """https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#suffering-from-a-step-mismatch.

    Numbers may differ from a step by what a single-precision float cannot represent, and large ones have no steps, as in Chromium.
    """
    if step is None:
        return False
    with localcontext(prec=18):
        distance = abs(number - base)
        if distance / 2**53 > step:
            return False
        remainder = abs(distance - step * (distance / step).to_integral_value(ROUND_HALF_UP))
        tolerance = Decimal(0) if type_name in dom.DATE_TYPES else step / 2**24
        return tolerance < remainder < step - tolerance


def problem_text(control: HtmlElement, flag: str) -> str:
    """Return the words for a validity flag of a control; "" for one without words, such as that of a script's own message."""
    type_name, text = dom.element_type(control), dom.field_value(control)
    low, high, step = (control.get(name, "") for name in ("min", "max", "step"))
    if flag == "valueMissing":
        return "must be ticked" if type_name in dom.CHECKABLE_TYPES else "must be filled in"
    if flag == "typeMismatch":
        needed = "an e-mail address" if type_name == "email" else "a full address such as http://example.com/"
        return f'must be {needed}, not "{text}"'
    if flag == "tooShort":
        return f"must have at least {control.get('minlength')} characters"
    if flag == "tooLong":
        return f"must have at most {control.get('maxlength')} characters"
    if flag == "patternMismatch":
        return f'does not have the form that is asked for: {control.get("title") or control.get("pattern")}, not "{text}"'
    if flag == "rangeUnderflow":
        return f"must not be before {low}" if type_name in dom.DATE_TYPES else f"must be at least {low}, not {text}"
    if flag == "rangeOverflow":
        return f"must not be after {high}" if type_name in dom.DATE_TYPES else f"must be at most {high}, not {text}"
    if flag == "stepMismatch":
        unit = f" {_UNITS[type_name]}" if type_name in _UNITS else ""
        size = step if convert_string_to_number("number", step) else "60" if "time" in type_name else "1"
        base = convert_string_to_number(type_name, low)
        return f"must be a multiple of {size}{unit}" + (f" from {low}" if base else "") + f", not {text}"
    return ""
