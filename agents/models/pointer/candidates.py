"""Candidates: acts and pieces, of which kinds and sources they are, and the sizes of their rows."""

from typing import NamedTuple

from agents.models.pointer.interning import Ids
from agents.models.pointer.lines import EXTREMES, WANTED, Floats
from agents.models.pointer.matching import MATCH
from agents.models.pointer.pages import Control

KINDS = (
    "link", "button", "box", "type", "search", "area", "option", "done", "n/a", "answer", "back", "up", "down", "tab",
)  # fmt: skip
SOURCES = (
    "goal", "page", "memory", "field", "constant", "count", "sum", "list", "difference", "sum of two", "count over pages", "end",
)  # fmt: skip
CONSTANTS = (
    "N/A",
    "Yes",
    "No",
    ", ",
    "; ",
    "\n",
    " ",
    "/",
    " > ",
    "- ",
    "\n- ",
    ": ",
    " near ",
    " in ",
    " and ",
    "README.md",
    "List of ",
)
JOINERS = frozenset(text for text in CONSTANTS if not text.isalpha() and text not in ("N/A", "README.md", "List of "))
RANKS = 7
ACT_SLOTS, ACT_NUMBERS = 9, len(KINDS) + 4 * MATCH + 4 + EXTREMES + WANTED + 14 + RANKS
PIECE_SLOTS, PIECE_NUMBERS = 8, len(SOURCES) + 4 + EXTREMES + WANTED + 2 * MATCH + 4 * 3 + 15
CONTEXT_SLOTS, CONTEXT_NUMBERS = 9, 16


class Act(NamedTuple):
    """Something that can be done; where it takes a text, that is chosen next."""

    kind: str
    address: str = ""
    label: str = ""
    argument: str = ""

    @property
    def takes_text(self) -> bool:
        """Whether a text is to be built for it."""
        return self.kind in ("type", "search", "area", "answer")


class Rows(NamedTuple):
    """Candidates as arrays: text ids (N, slots) and numbers (N, features)."""

    slots: Ids
    numbers: Floats


def mark_of(source: str, way: str, shape: str) -> str:
    """Return the marks of a piece: its source, how it was cut out, and what it looks like."""
    return f"#{source} #{way} #{shape}".replace(" #", "#").replace(" ", "_").replace("#", " #").strip()


def uses_of(control: Control) -> list[tuple[str, str, bool]]:
    """Return the ways of using a control: kind, argument, and whether it is so already."""
    if control.use == "select":
        return [("option", option.text, option.chosen) for option in control.options]
    if control.use == "text":
        return [("type", "", False), ("search", "", False)]
    if control.use == "area":
        return [("area", "", False)]
    return [(control.use, "", control.is_on)]
