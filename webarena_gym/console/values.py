"""What the values of options may be: functions from text to value, for `type=` of a parser. What they refuse, they name."""

import math
import os
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path

from webarena_gym.arguments import nearest, shown
from webarena_gym.errors import WebArenaGymError

LARGEST = 2**63 - 1
"""The largest whole number of an option that has no limit of its own."""


def whole(least: int = -LARGEST, most: int = LARGEST) -> Callable[[str], int]:
    """Return what reads whole numbers in a range.

    >>> whole(1)("12")
    12
    """
    limits = f"from {least} to {most}" if most != LARGEST else f"of {least} or more" if least != -LARGEST else "of 63 bits"

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = most + 1
        if not least <= number <= most:
            raise _refused(text, f"a whole number {limits}")
        return number

    return read


def decimal(least: float = -math.inf, *, above: float = -math.inf) -> Callable[[str], float]:
    """Return what reads finite numbers of `least` or more, and above `above`.

    >>> decimal(0)("1e3")
    1000.0
    """
    limits = f" of {least:g} or more" if least > -math.inf else f" above {above:g}" if above > -math.inf else ""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and number >= least and number > above):
            raise _refused(text, f"a number{limits}")
        return number

    return read


def accepted_by(look: Callable[[str], object]) -> Callable[[str], str]:
    """Return what reads texts that a function accepts: it raises a WebArenaGymError for others, whose message is told."""

    def read(text: str) -> str:
        try:
            look(text)
        except WebArenaGymError as error:
            raise ArgumentTypeError(str(error)) from error
        return text

    return read


def present(kind: str = "file") -> Callable[[str], Path]:
    """Return what reads the path of a file or folder that is there; `kind` is "file", "folder" or "file or folder"."""

    def read(text: str) -> Path:
        path = Path(text)
        is_there = path.is_file() if kind == "file" else path.is_dir() if kind == "folder" else path.exists()
        if not is_there:
            if path.exists():
                raise _refused(text, f"a {kind}")
            close = nearest(path.name, [each.name for each in _listed(path.parent)])
            hint = f"; did you mean {' or '.join(repr(str(path.parent / name)) for name in close)}?" if close else ""
            raise ArgumentTypeError(f"is {shown(text)}, which is not there{hint}")
        return path

    return read


def writable(kind: str = "file") -> Callable[[str], Path]:
    """Return what reads the path of a file or folder that can be written; folders on the way may have to be made."""

    def read(text: str) -> Path:
        path = place = Path(text)
        try:
            if not text or (path.is_dir() if kind == "file" else path.exists() and not path.is_dir()):
                raise _refused(text, f"the name of a {kind}")
            while not place.exists() and place != place.parent:
                place = place.parent
        except OSError as error:  # such as a name that is too long
            raise ArgumentTypeError(f"is {shown(text)}: {error.strerror}") from error
        is_open = os.access(place, os.W_OK | os.X_OK if place.is_dir() else os.W_OK)
        if not is_open or not (place.is_dir() or place == path):
            raise ArgumentTypeError(f"is {shown(text)}, but nothing can be written in {place}; expected a {kind} elsewhere")
        return path

    return read


def _refused(text: str, expected: str) -> ArgumentTypeError:
    return ArgumentTypeError(f"is {shown(text)}; expected {expected}")


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []
