"""Selectors of style sheets, with the pseudo-classes of live state written as attributes.

cssselect2 compiles selectors, and knows neither what the user does nor the state of forms. `read_selectors` therefore replaces such
pseudo-classes by attributes, and `state_attributes` computes the elements that have them. Differences between Chromium's and
cssselect2's lists of pseudo-classes are removed here as well.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import tinycss2
from lxml import etree
from lxml.html import HtmlElement
from tinycss2.ast import Node

from webarena_gym.pages import dom
from webarena_gym.pages.constraints import DefaultValue, is_barred, validity
from webarena_gym.pages.input_values import NUMERIC_TYPES, step_range

HOVERED, FOCUSED, TARGETED = "data-browser-is-hovered", "data-browser-is-focused", "data-browser-is-targeted"
"""Attributes that replace the pseudo-classes `:hover`, `:focus` and `:target` in selectors."""
_VALID, _INVALID = "data-browser-is-valid", "data-browser-is-invalid"
_USER_VALID, _USER_INVALID = "data-browser-is-user-valid", "data-browser-is-user-invalid"
_IN_RANGE, _OUT_OF_RANGE = "data-browser-is-in-range", "data-browser-is-out-of-range"
_EDITABLE, _INDETERMINATE, _UNDEFINED, _RIGHT_TO_LEFT = (
    "data-browser-is-editable",
    "data-browser-is-indeterminate",
    "data-browser-is-undefined",
    "data-browser-is-rtl",
)
_WITHOUT_REQUIRED = ", ".join(f"[type={name} i]" for name in ("hidden", "range", "color", "submit", "image", "reset", "button"))
_REQUIRED = f":where(input:not({_WITHOUT_REQUIRED}), select, textarea)[required]"
_NEVER = ":not(*)"
_PSEUDO_CLASSES = {
    "-webkit-any-link": ":any-link",
    **dict.fromkeys(("-webkit-autofill", "autofill", "fullscreen", "picture-in-picture"), _NEVER),
    "defined": f":not([{_UNDEFINED}])",
    "enabled": ":where(button, input, select, textarea, optgroup, option, fieldset):not(:disabled)",
    "focus": f"[{FOCUSED}]",
    "focus-visible": f"[{FOCUSED}]",
    "focus-within": f":is([{FOCUSED}], :has([{FOCUSED}]))",
    "hover": f"[{HOVERED}]",
    "in-range": f"[{_IN_RANGE}]",
    "indeterminate": f"[{_INDETERMINATE}]",
    "invalid": f"[{_INVALID}]",
    "modal": "[data-top-layer=modal]",
    "open": "[open]",
    "optional": f":where(button, input, select, textarea):not({_REQUIRED})",
    "out-of-range": f"[{_OUT_OF_RANGE}]",
    "placeholder-shown": ":where(input:not([value]), input[value=''], textarea:empty)[placeholder]",
    "popover-open": "[data-top-layer=popover]",
    "read-only": f":not([{_EDITABLE}])",
    "read-write": f"[{_EDITABLE}]",
    "target": f"[{TARGETED}]",
    "required": _REQUIRED,
    "user-invalid": f"[{_USER_INVALID}]",
    "user-valid": f"[{_USER_VALID}]",
    "valid": f"[{_VALID}]",
}
"""Pseudo-classes as selectors that cssselect2 can read: attributes of live state, or nothing where no page can have the state."""
_DIRECTIONS = {"ltr": f":not([{_RIGHT_TO_LEFT}])", "rtl": f"[{_RIGHT_TO_LEFT}]"}
_UNKNOWN = frozenset(
    "blank buffering current future local-link muted past paused playing seeking stalled target-within volume-locked".split()  # noqa: SIM905
)
"""Pseudo-classes of drafts, which Chromium does not know."""
_KNOWN = _PSEUDO_CLASSES.keys() | frozenset(
    "active after any-link before checked default disabled empty first-child first-letter first-line first-of-type"  # noqa: SIM905
    " has-slotted host last-child last-of-type link only-child only-of-type root scope visited".split()
)
"""Pseudo-classes without arguments that Chromium knows, except for most with a prefix."""
_FORGIVING = frozenset(("is", "where", "-webkit-any", "matches"))
_FOREIGN_PSEUDO = re.compile(r"-(?!webkit-)[a-z]+-")
_CASELESS = frozenset(
    "accept accept-charset align charset checked dir direction disabled enctype hreflang http-equiv lang language media method multiple"  # noqa: SIM905
    " readonly rel rev scope selected shape target type".split()
)
"""Attributes whose values selectors compare without case: https://html.spec.whatwg.org/multipage/semantics-other.html#case-sensitivity-of-selectors"""
_VALIDATED_TAGS = ("input", "select", "textarea", "button")
_READ_ONLY_TYPES = frozenset(("hidden", "checkbox", "radio", "file", "range", "color", "submit", "image", "reset", "button"))
_CUSTOM_ELEMENTS = etree.XPath("//*[contains(local-name(), '-')]")
_RESERVED_NAMES = frozenset(
    "annotation-xml color-profile font-face font-face-src font-face-uri font-face-format font-face-name missing-glyph".split()  # noqa: SIM905
)


def split_at_commas(tokens: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield the parts of a list between its commas."""
    part = list[Any]()
    for node in tokens:
        if node == ",":
            yield part
            part = []
        else:
            part.append(node)
    yield part


def read_selectors(prelude: Sequence[Any], parent: str) -> Iterator[str]:
    """Yield the complex selectors of a prelude.

    Args:
        prelude: the tokens before the block of a rule. One selector that Chromium does not know invalidates all.
        parent: the selector list around a nested rule, "" for other rules.

    """
    parts = list(split_at_commas(prelude))
    if any(map(_is_invalid, parts)):
        return
    for part in parts:
        around = f":is({parent})" if parent else "&"
        text = _selector_text(part, around).strip()
        yield f"{around} {text}" if parent and all(node != "&" for node in _flat(part)) else text


def _is_invalid(selector: Sequence[Any]) -> bool:
    """Return True if a selector is empty, or has a pseudo-class or pseudo-element that Chromium does not know."""
    if all(node.type in ("whitespace", "comment") for node in selector):
        return True
    for colon, node in pairwise(selector):
        if colon == ":" and node.type in ("ident", "function"):
            name = node.lower_value if node.type == "ident" else node.lower_name
            if name in _UNKNOWN or _FOREIGN_PSEUDO.match(name):
                return True
            if node.type == "function" and name == "not" and any(map(_is_invalid, split_at_commas(node.arguments))):
                return True
    return False


def _is_forgiven(selector: Sequence[Any]) -> bool:
    """Return True if a part of `:is()` is dropped, as Chromium cannot read it."""
    return _is_invalid(selector) or any(
        colon == ":"
        and before != ":"
        and node.type == "ident"
        and node.lower_value not in _KNOWN
        and node.lower_value[0] != "-"
        for before, colon, node in zip((None, *selector), selector, selector[1:], strict=False)
    )


def _flat(tokens: Iterable[Any]) -> Iterator[Any]:
    for node in tokens:
        yield node
        yield from _flat(getattr(node, "arguments", ()))


def _selector_text(tokens: Sequence[Any], around: str) -> str:
    """Return the text of a selector, with the pseudo-classes of live state as attributes, and `around` for `&`."""
    texts, position = list[str](), 0
    while position < len(tokens):
        node = tokens[position]
        after = tokens[position + 1] if position + 1 < len(tokens) else None
        is_element = position > 0 and tokens[position - 1] == ":"  # such as ::before
        if node == ":" and after is not None and (text := _pseudo_class(after)) is not None:
            texts.append(f":{after.serialize()}" if is_element else text)
            position += 2
            continue
        if node.type == "function":
            parts = list(split_at_commas(node.arguments))
            if node.lower_name in _FORGIVING:
                parts = [part for part in parts if not _is_forgiven(part)] or [[]]
            inner = ",".join(_selector_text(part, around) for part in parts)
            texts.append(f"{node.name}({inner})")
        elif node.type == "[] block":
            content = [part for part in node.content if part.type not in ("whitespace", "comment")]
            name = getattr(content[0], "lower_value", "") if content else ""
            text = tinycss2.serialize(node.content)
            texts.append(f"[{text} i]" if name in _CASELESS and len(content) == 3 else f"[{text}]")
        else:
            texts.append(around if node == "&" else node.serialize())
        position += 1
    return "".join(texts)


def _pseudo_class(node: Node) -> str | None:
    """Return the selector that replaces a pseudo-class; None for one that stays."""
    if node.type == "ident":
        return _PSEUDO_CLASSES.get(node.lower_value)
    if node.type == "function" and node.lower_name == "dir":
        return _DIRECTIONS.get(tinycss2.serialize(node.arguments).strip().lower(), _NEVER)
    return _NEVER if node.type == "function" and node.lower_name == "state" else None


def state_attributes(selectors: Iterable[str]) -> frozenset[str]:
    """Return the attributes of live state on which selectors depend."""
    return frozenset(name for selector in selectors for name in _STATE.findall(selector))


_STATE = re.compile(r"\[(data-browser-is-[a-z-]+)\]")


def live_state(root: HtmlElement, uses: frozenset[str], default_value: DefaultValue) -> Iterator[tuple[HtmlElement, str]]:
    """Yield the elements of a tree and the attributes of live state that they get.

    Args:
        root: the `html` element.
        uses: the attributes on which the style sheets depend.
        default_value: the value that a control had before the user edited it.

    """
    for names, states in _READERS.items():
        if not uses.isdisjoint(names):
            yield from states(root, default_value)


def _validity_states(root: HtmlElement, default_value: DefaultValue) -> Iterator[tuple[HtmlElement, str]]:
    """https://html.spec.whatwg.org/multipage/semantics-other.html#selector-valid, also of forms and `fieldset` elements."""
    invalid_groups = set[HtmlElement]()
    for control in root.iter(*_VALIDATED_TAGS):
        if is_barred(control, dom.element_type(control)):
            continue
        is_invalid = bool(validity(control, default_value(control)))
        yield control, _INVALID if is_invalid else _VALID
        if dom.USER_VALIDITY in control.attrib and control.tag != "button":
            yield control, _USER_INVALID if is_invalid else _USER_VALID
        if is_invalid:
            form = dom.form_owner(control)
            invalid_groups.update((*([] if form is None else [form]), *control.iterancestors("fieldset")))
    for group in root.iter("form", "fieldset"):
        yield group, _INVALID if group in invalid_groups else _VALID


def _range_states(root: HtmlElement, default_value: DefaultValue) -> Iterator[tuple[HtmlElement, str]]:
    """https://html.spec.whatwg.org/multipage/semantics-other.html#selector-in-range."""
    for control in root.iter("input"):
        type_name = dom.element_type(control)
        limits = step_range(control, None)[:2] if type_name in NUMERIC_TYPES else (None, None)
        if limits != (None, None) and not is_barred(control, type_name):
            problem = validity(control, default_value(control))
            yield control, _OUT_OF_RANGE if problem in ("rangeUnderflow", "rangeOverflow") else _IN_RANGE


def _editable_states(root: HtmlElement, _default_value: DefaultValue) -> Iterator[tuple[HtmlElement, str]]:
    """https://html.spec.whatwg.org/multipage/semantics-other.html#selector-read-write."""
    for element in root.iter("input", "textarea"):
        is_text = element.tag == "textarea" or dom.element_type(element) not in _READ_ONLY_TYPES
        if is_text and "readonly" not in element.attrib and not dom.is_disabled(element):
            yield element, _EDITABLE
    for host in root.iterfind(".//*[@contenteditable]"):
        for element in host.iter(etree.Element):
            if element.tag not in ("input", "textarea") and dom.editing_host(element) is not None:
                yield element, _EDITABLE


def _indeterminate_states(root: HtmlElement, _default_value: DefaultValue) -> Iterator[tuple[HtmlElement, str]]:
    """https://html.spec.whatwg.org/multipage/semantics-other.html#selector-indeterminate."""
    groups = dict[tuple[HtmlElement | None, str], list[HtmlElement]]()
    for radio in root.iter("input"):
        if dom.element_type(radio) == "radio":
            name = radio.get("name", "")
            groups.setdefault((dom.form_owner(radio) if name else radio, name), []).append(radio)
    for group in groups.values():
        if not any("checked" in radio.attrib for radio in group):
            yield from ((radio, _INDETERMINATE) for radio in group)
    yield from ((bar, _INDETERMINATE) for bar in root.iter("progress") if "value" not in bar.attrib)


def _undefined_states(root: HtmlElement, _default_value: DefaultValue) -> Iterator[tuple[HtmlElement, str]]:
    """https://html.spec.whatwg.org/multipage/semantics-other.html#selector-defined; no script defines an element here."""
    yield from ((element, _UNDEFINED) for element in _CUSTOM_ELEMENTS(root) if element.tag not in _RESERVED_NAMES)


def _direction_states(root: HtmlElement, _default_value: DefaultValue) -> Iterator[tuple[HtmlElement, str]]:
    """https://html.spec.whatwg.org/multipage/semantics-other.html#selector-rtl, without the directions of texts (`dir=auto`)."""
    for start in root.xpath("descendant-or-self::*[translate(@dir, 'RTL', 'rtl') = 'rtl']"):
        for element in start.iter(etree.Element):
            nearest = next(
                (part for part in (element, *element.iterancestors()) if part.get("dir", "").lower() in _DIRECTIONS), start
            )
            if nearest is start:
                yield element, _RIGHT_TO_LEFT


_READERS: dict[tuple[str, ...], Callable[[HtmlElement, DefaultValue], Iterator[tuple[HtmlElement, str]]]] = {
    (_VALID, _INVALID, _USER_VALID, _USER_INVALID): _validity_states,
    (_IN_RANGE, _OUT_OF_RANGE): _range_states,
    (_EDITABLE,): _editable_states,
    (_INDETERMINATE,): _indeterminate_states,
    (_UNDEFINED,): _undefined_states,
    (_RIGHT_TO_LEFT,): _direction_states,
}
USER_VALIDITY_STATES = frozenset((_USER_VALID, _USER_INVALID))
"""Attributes that depend on whether the user has tried to send a form."""
