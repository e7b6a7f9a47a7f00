"""Checks of users' arguments; each raises a ValueError that names the argument, its value and what was expected."""

from collections.abc import Collection, Mapping
from typing import Any


def expect_one_of(name: str, value: Any, allowed: Collection[Any]) -> None:
    """Raise ValueError for a value that is not allowed."""
    if value not in tuple(allowed):  # also what cannot be hashed
        raise ValueError(f"{name} is {value!r}; expected one of {', '.join(map(repr, allowed))}")


def expect_positive(name: str, value: int) -> None:
    """Raise ValueError for what is no positive integer."""
    if not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} is {value!r}; expected a positive integer")


def expect_between(name: str, value: int, least: int, most: int | None = None) -> None:
    """Raise ValueError for what is no integer from `least` to `most`, or without an end."""
    if not isinstance(value, int) or value < least or (most is not None and value > most):
        limits = f"{least} or more" if most is None else f"{least} to {most}"
        raise ValueError(f"{name} is {value!r}; expected {limits}")


def expect_no_layout(wanted: Mapping[str, Any]) -> None:
    """Raise ValueError for the first of these arguments that is set: the in-process browser cannot do it."""
    for name, value in wanted.items():
        if value:
            raise ValueError(f"{name} needs a browser with scripts and layout: browser='chromium'")


def expect_plain(addresses: Mapping[str, str]) -> None:
    """Raise ValueError for a site whose traffic cannot be read on its way."""
    for site, url in addresses.items():
        if not url.startswith("http://"):
            raise ValueError(
                f"rules='verified' judges the traffic, which cannot be seen on the way to {url} ({site}): http:// alone"
            )
