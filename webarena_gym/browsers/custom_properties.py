"""Custom properties of style sheets: values of `var(--name)` in declarations.

https://drafts.csswg.org/css-variables-2/. A value that cannot be computed, because a property is missing or refers to itself, is
"unset", as is a computed value that the property does not have.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import tinycss2
from tinycss2.ast import Node

_MAX_LENGTH = 5000  # of a value; references within one another multiply lengths
_MAX_DEPTH = 16  # functions and references within one another
_KEYWORDS = ("inherit", "unset", "revert", "revert-layer")


class RegisteredProperty(NamedTuple):
    """An `@property` rule: the name, whether children inherit the value, and the value where none is declared."""

    name: str
    inherits: bool
    initial: str | None


def has_reference(value: str) -> bool:
    """Return True if a value may refer to custom properties or to the environment."""
    lowered = value.lower()
    return "var(" in lowered or "env(" in lowered


@lru_cache(maxsize=2048)
def references(value: str) -> frozenset[str]:
    """Return the names of the custom properties in a value, also those in fallbacks.

    >>> sorted(references("calc(var(--a, var(--b)) + 1px)"))
    ['--a', '--b']
    """
    names, stack = set[str](), [*_tokens(value)] if len(value) <= _MAX_LENGTH else []
    while stack:
        node = stack.pop()
        if node.type == "function" and node.lower_name == "var":
            names.update(part.value for part in node.arguments if part.type == "ident" and part.value.startswith("--"))
        stack += getattr(node, "arguments", None) or getattr(node, "content", None) or ()
    return frozenset(names)


@lru_cache(maxsize=2048)
def _tokens(value: str) -> tuple[Any, ...]:
    return tuple(tinycss2.parse_component_value_list(value, skip_comments=True))


def substitute(value: str, lookup: Callable[[str], str | None]) -> str | None:
    """Return a value with its references replaced; None if one has neither a value nor a fallback.

    Args:
        value: the text of the value.
        lookup: returns the value of a custom property, None if it has none.

    >>> substitute("translate(var(--x),var(--y,0))", {"--x": "-100%"}.get)
    'translate(-100%,0)'

    """
    text = _substitute(_tokens(value), lookup, 0) if len(value) <= _MAX_LENGTH else None
    return None if text is None else text.strip()


def _substitute(tokens: Iterable[Any], lookup: Callable[[str], str | None], depth: int) -> str | None:
    if depth > _MAX_DEPTH:
        return None
    texts, length = list[str](), 0
    for node in tokens:
        if node.type == "function" and node.lower_name in ("var", "env"):
            text = _reference(node, lookup, depth)
        elif node.type == "function":
            inner = _substitute(node.arguments, lookup, depth + 1)
            text = None if inner is None else f"{node.name}({inner})"
        elif node.type == "() block":
            inner = _substitute(node.content, lookup, depth + 1)
            text = None if inner is None else f"({inner})"
        else:
            text = node.serialize()
        length += len(text or "")
        if text is None or length > _MAX_LENGTH:
            return None
        texts.append(text)
    return "".join(texts)


def _reference(node: Node, lookup: Callable[[str], str | None], depth: int) -> str | None:
    """Return the value of a reference, or of its fallback."""
    parts = [part for part in node.arguments if part.type != "whitespace"]
    name = parts[0].value if parts and parts[0].type == "ident" else ""
    if node.lower_name == "env":
        value = "0px" if name.startswith("safe-area-inset-") else None
    else:
        value = lookup(name)
    if value is not None or len(parts) < 2 or parts[1] != ",":
        return value
    fallback = node.arguments[node.arguments.index(parts[1]) + 1 :]
    return _substitute(fallback, lookup, depth + 1)


def computed_properties(
    declared: Mapping[str, str], inherited: Mapping[str, str], registered: Mapping[str, RegisteredProperty]
) -> Mapping[str, str]:
    """Return the values of the custom properties of an element.

    Args:
        declared: the declared values of the custom properties of the element.
        inherited: the values of its parent.
        registered: the `@property` rules by name.

    >>> computed_properties({"--a": "var(--b)", "--b": "none"}, {"--c": "1"}, {})
    {'--c': '1', '--b': 'none', '--a': 'none'}

    """
    values = {name: value for name, value in inherited.items() if name not in registered or registered[name].inherits}
    pending = set[str]()
    cyclic = set[str]()

    def compute(name: str) -> str | None:
        if name in pending:
            cyclic.update(pending)
            return None
        if name not in declared or name in done:
            return initial(name)
        if len(pending) > _MAX_DEPTH:
            return None
        pending.add(name)
        text = declared[name]
        keyword = text.lower()
        value = inherited.get(name) if keyword in _KEYWORDS else None if keyword == "initial" else substitute(text, compute)
        pending.discard(name)
        done.add(name)
        if value is None or name in cyclic:
            values.pop(name, None)
        else:
            values[name] = value
        return initial(name)

    def initial(name: str) -> str | None:
        return values.get(name, registered[name].initial if name in registered else None)

    done = set[str]()
    for name in declared:
        compute(name)
    return values
