"""Keys by their names, as in `Enter`, `ArrowDown` or `Control+A`: which there are, and what they write."""

from webarena_gym.errors import ActionError

_MODIFIERS = frozenset(("Shift", "Control", "Alt", "Meta", "ControlOrMeta"))
_ARROWS = frozenset(("ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"))
_PAGING = frozenset(("PageUp", "PageDown", "Home", "End"))
_EDITING = frozenset(("Enter", "Tab", "Backspace", "Delete", "Space"))
_OTHERS = frozenset(("Escape", "Insert", "CapsLock", "ContextMenu"))
_FUNCTIONS = frozenset(f"F{number}" for number in range(1, 13))
_NAMED = _MODIFIERS | _ARROWS | _PAGING | _EDITING | _OTHERS | _FUNCTIONS
_SHIFTED = dict(zip("`1234567890-=[]\\;',./", '~!@#$%^&*()_+{}|:"<>?', strict=True))


def check(key: str) -> None:
    """Raise ActionError for what is no key, alone or with modifiers before it."""
    *modifiers, last = _split(key)
    if not (last in _NAMED or (len(last) == 1 and last.isprintable())) or not set(modifiers) <= _MODIFIERS:
        raise ActionError(f'unknown key "{key}"; keys are named as in Enter, Tab, Escape, ArrowDown, PageDown, Control+A')


def character(key: str) -> str:
    """Return what a key writes into a field, "" for nothing.

    >>> character("a"), character("Space"), character("Shift+1"), character("Control+a")
    ('a', ' ', '!', '')
    """
    *modifiers, last = _split(key)
    last = " " if last == "Space" else last
    if len(last) > 1 or not set(modifiers) <= {"Shift"}:
        return ""
    return _SHIFTED.get(last, last.upper()) if modifiers else last


def _split(key: str) -> list[str]:
    return [*key[:-2].split("+"), "+"] if key.endswith("++") else [key] if key == "+" else key.split("+")
