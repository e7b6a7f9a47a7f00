"""Keys by their names, as in `Enter`, `ArrowDown` or `Control+A`, and their effects on a page without scripts. Both browsers go by it.

A key whose effect could not be seen in the text of a page, or that has none, is refused with a message: keys that move the caret,
open a list whose options the page shows anyway, scroll, or step a number that can be typed.
"""

from lxml.html import HtmlElement

from webarena_gym.browsers.forms import control_value, default_button, describe, format_problem
from webarena_gym.errors import ActionError
from webarena_gym.pages import dom

_MODIFIERS = frozenset(("Shift", "Control", "Alt", "Meta", "ControlOrMeta"))
_ARROWS = frozenset(("ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"))
_PAGING = frozenset(("PageUp", "PageDown", "Home", "End"))
_EDITING = frozenset(("Enter", "Tab", "Backspace", "Delete", "Space"))
_OTHERS = frozenset(("Escape", "Insert", "CapsLock", "ContextMenu"))
_FUNCTIONS = frozenset(f"F{number}" for number in range(1, 13))
_NAMED = _MODIFIERS | _ARROWS | _PAGING | _EDITING | _OTHERS | _FUNCTIONS
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


_FORWARD, _BACKWARD = frozenset(("ArrowDown", "ArrowRight")), frozenset(("ArrowUp", "ArrowLeft"))
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
    if dom.kind(focused) == "radio" and key in _FORWARD | _BACKWARD:
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
    if len(key) == 1 and (problem := format_problem(dom.kind(focused), control_value(focused) + key)):
        raise ActionError(f"{describe(focused)} {problem}")
    if not _has_effect(key, focused):
        raise ActionError(f'the key "{key}" does nothing in {describe(focused)}{_instead(key, focused)}')


def _has_effect(key: str, focused: HtmlElement) -> bool:
    what = dom.kind(focused)
    presses = what in dom.BUTTON_KINDS or dom.is_summary(focused)
    if key == "Enter":
        if what == "textarea" or presses or dom.is_link(focused):
            return True
        return focused.tag == "input" and what not in _PICKERS and _sends(dom.owner(focused))
    if key in _SPACE and (presses or what in dom.TICK_KINDS):
        return what != "radio" or "checked" not in focused.attrib
    if what not in dom.TYPEABLE_KINDS - {"range", "color"} or "readonly" in focused.attrib:
        return False
    writes = len(key) == 1 or key in _SPACE or (key.startswith("Shift+") and len(key) == len("Shift+") + 1)
    return writes or (key in _ERASING and control_value(focused) != "")


def _instead(key: str, focused: HtmlElement) -> str:
    """Return what could be done in place of a key that does nothing."""
    if focused.tag == "select":
        return ": choose an option by its text"
    if key == "Enter":
        return ": a form is sent by its button" if dom.owner(focused) is not None else ""
    if "readonly" in focused.attrib:
        return ": it is read-only"
    return ": type its whole text" if dom.kind(focused) in dom.TYPEABLE_KINDS else ""


def _sends(form: HtmlElement | None) -> bool:
    """Return whether Enter in a field sends its form: by its first button, or without one if it is the only field."""
    if form is None:
        return False
    button = default_button(form)
    if button is not None:
        return not dom.is_disabled(button)
    return sum(dom.kind(control) in dom.SINGLE_LINE_KINDS for control in dom.controls(form)) <= 1


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
