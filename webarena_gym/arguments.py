"""Checks of users' arguments. Each raises a ValueError with the name of the argument, its value, and the expected values."""

import ast
import inspect
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import cache
from itertools import pairwise
from numbers import Integral
from typing import Any

_MAX_NAMES = 12  # names in an error message
_MAX_VALUE = 80  # characters of a value in an error message


def quote_value(value: str) -> str:
    """Return the representation of a value for an error message: quoted, and truncated if it is long."""
    return repr(value if len(value) <= _MAX_VALUE else f"{value[:_MAX_VALUE]}...")


def reason_of(error: Exception) -> str:
    """Return the message of an error; for an OSError without its number and file name, which callers add themselves.

    >>> reason_of(FileNotFoundError(2, "No such file or directory", "agent.py"))
    'No such file or directory'
    """
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def closest_names(name: object, known: Iterable[str]) -> list[str]:
    """Return at most three similar known names: those whose last dotted part is `name`, or else those with a similar spelling."""
    name = str(name)  # keys of a mapping made in Python may have any type
    candidates = [candidate for candidate in known if candidate != name]
    suffix_matches = [candidate for candidate in candidates if name and candidate.rpartition(".")[2] == name]
    return suffix_matches[:3] or get_close_matches(name[:200], candidates, 3, 0.7)


def suggestion(name: object, known: Collection[str], *, list_all: bool = True) -> str:
    """Return a hint for an unknown name: similar known names, or with `list_all` the known names; "" if there is no hint.

    >>> suggestion("chromum", ["inprocess", "chromium"])
    "did you mean 'chromium'?"
    >>> suggestion("firefox", ["inprocess", "chromium"])
    "expected one of 'inprocess', 'chromium'"
    """
    if close := closest_names(name, known):
        return f"did you mean {' or '.join(map(repr, close))}?"
    if not list_all:
        return ""
    names = ", ".join(map(repr, list(known)[:_MAX_NAMES]))
    return f"expected one of {names}" + (f" or {len(known) - _MAX_NAMES} others" if len(known) > _MAX_NAMES else "")


def expect_one_of(name: str, value: object, allowed: Collection[Any]) -> None:
    """Raise ValueError for a value that is not allowed."""
    if value not in tuple(allowed):  # a tuple, because the value may be unhashable
        raise ValueError(f"{name} is {value!r}; expected one of {', '.join(map(repr, allowed))}")


def as_int(value: object) -> Any:
    """Return an integer of any type, for example numpy's, as an int. Return other values, including bools, unchanged."""
    return int(value) if isinstance(value, Integral) and not isinstance(value, bool) else value


def expect_positive(name: str, value: object) -> int:
    """Return a positive integer as an int. Raises ValueError for anything else."""
    number = as_int(value)
    if type(number) is not int or number < 1:
        raise ValueError(f"{name} is {value!r}; expected a positive integer")
    return number


def expect_between(name: str, value: object, minimum: int, maximum: int | None = None) -> int:
    """Return an integer from `minimum` to `maximum` (None: unlimited) as an int. Raises ValueError for anything else."""
    number = as_int(value)
    if type(number) is not int or number < minimum or (maximum is not None and number > maximum):
        limits = f"of {minimum} or more" if maximum is None else f"from {minimum} to {maximum}"
        raise ValueError(f"{name} is {value!r}; expected an integer {limits}")
    return number


def read_pairs(pairs: Sequence[str], option: str) -> dict[str, Any]:
    """Return the NAME=JSON pairs of a command-line option as a dictionary. A value that is not JSON is used as a str.

    >>> read_pairs(["observation=pixels", "window_size=[390, 844]"], "--env")
    {'observation': 'pixels', 'window_size': [390, 844]}
    """
    values: dict[str, Any] = {}
    for pair in pairs:
        name, has_value, value = pair.partition("=")
        if not name.isidentifier() or not has_value:
            raise ValueError(f"{option} is {pair!r}; expected NAME=VALUE, such as temperature=0.5")
        try:
            values[name] = json.loads(value)
        except ValueError:
            values[name] = value
    return values


@cache
def field_descriptions(kind: type) -> Mapping[str, str]:
    """Return the description of each field of a dataclass, from the docstring below the field in the class or the nearest base class.

    Fields without a docstring, and classes without source code, such as those of `make_dataclass`, are left out.
    """
    descriptions = {}
    for base in reversed(kind.__mro__):
        statements: list[ast.stmt] = []
        with suppress(OSError, TypeError):  # there is no source code
            (definition,) = ast.parse(inspect.getsource(base)).body
            statements = definition.body if isinstance(definition, ast.ClassDef) else []
        for statement, text in pairwise(statements):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and isinstance(text, ast.Expr):
                descriptions[statement.target.id] = " ".join(str(ast.literal_eval(text.value)).split())
    return descriptions
