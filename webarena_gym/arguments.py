"""Checks of users' arguments; each raises a ValueError that names the argument, its value and what was expected."""

import json
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from numbers import Integral
from typing import Any

_FEW = 12  # names that fit into a sentence
_SHOWN = 80  # characters of a value


def shown(value: str) -> str:
    """Return a value as an error tells it: quoted, and cut where it is long."""
    return repr(value if len(value) <= _SHOWN else f"{value[:_SHOWN]}...")


def reason_of(error: Exception) -> str:
    """Return the message of an error, for an OSError without its number and file name, which the caller has.

    >>> reason_of(FileNotFoundError(2, "No such file or directory", "agent.py"))
    'No such file or directory'
    """
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return the at most three known names that come nearest to one: those whose last part it is, else those spelled alike."""
    others = [each for each in known if each != name]
    parts = [each for each in others if name and each.rpartition(".")[2] == name]
    return parts[:3] or get_close_matches(name[:200], others, 3, 0.7)


def suggestion(name: str, known: Collection[str], *, tell_all: bool = True) -> str:
    """Return what was probably meant by a name that is not known; else, where `tell_all` is set, which names are known.

    >>> suggestion("chromum", ["inprocess", "chromium"])
    "did you mean 'chromium'?"
    >>> suggestion("firefox", ["inprocess", "chromium"])
    "expected one of 'inprocess', 'chromium'"
    """
    if close := nearest(name, known):
        return f"did you mean {' or '.join(map(repr, close))}?"
    if not tell_all:
        return ""
    told = ", ".join(map(repr, list(known)[:_FEW]))
    return f"expected one of {told}" + (f" or {len(known) - _FEW} others" if len(known) > _FEW else "")


def expect_one_of(name: str, value: Any, allowed: Collection[Any]) -> None:
    """Raise ValueError for a value that is not allowed."""
    if value not in tuple(allowed):  # also what cannot be hashed
        raise ValueError(f"{name} is {value!r}; expected one of {', '.join(map(repr, allowed))}")


def as_int(value: Any) -> Any:
    """Return an integer, such as one of numpy's, as an int; anything else, bools included, unchanged."""
    return int(value) if isinstance(value, Integral) and not isinstance(value, bool) else value


def expect_positive(name: str, value: Any) -> int:
    """Return a positive integer as an int. Raises ValueError for anything else."""
    number = as_int(value)
    if type(number) is not int or number < 1:
        raise ValueError(f"{name} is {value!r}; expected a positive integer")
    return number


def expect_between(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return an integer from `least` to `most`, or without an upper limit, as an int. Raises ValueError for anything else."""
    number = as_int(value)
    if type(number) is not int or number < least or (most is not None and number > most):
        limits = f"{least} or more" if most is None else f"{least} to {most}"
        raise ValueError(f"{name} is {value!r}; expected {limits}")
    return number


def read_pairs(given: Sequence[str], option: str) -> dict[str, Any]:
    """Return NAME=JSON pairs as a dictionary; what is no JSON is a text.

    >>> read_pairs(["observation=pixels", "window_size=[390, 844]"], "--env")
    {'observation': 'pixels', 'window_size': [390, 844]}
    """
    values: dict[str, Any] = {}
    for pair in given:
        name, has_value, value = pair.partition("=")
        if not name.isidentifier() or not has_value:
            raise ValueError(f"{option} is {pair!r}; expected NAME=VALUE, such as temperature=0.5")
        try:
            values[name] = json.loads(value)
        except ValueError:
            values[name] = value
    return values
