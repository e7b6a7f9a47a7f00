"""Candidates: acts and pieces, of which kinds and sources they are, and the sizes of their rows."""

from typing import NamedTuple

from agents.models.pointer.interning import Ids
from agents.models.pointer.lines import EXTREMES, WANTED, Floats
from agents.models.pointer.matching import MATCH
from agents.models.pointer.pages import Control
from webarena_gym.actions import Action, Kind

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


def make_action(act: Act, argument: str) -> Action:
    """Return the action of an act, with this text where it takes one."""
    if act.kind in ("done", "n/a", "answer"):
        return Action(Kind.EXIT, argument="N/A" if act.kind == "n/a" else argument)
    if act.kind in ("type", "area"):
        return Action(Kind.TYPE, act.address, argument)
    if act.kind == "search":
        return Action(Kind.SEARCH, act.address, argument)
    if act.kind == "option":
        return Action(Kind.SELECT, act.address, act.argument)
    if act.kind == "tab":
        return Action(Kind.SWITCH_TAB, argument=act.argument)
    plain = {"back": Kind.GO_BACKWARD, "up": Kind.SCROLL_UP, "down": Kind.SCROLL_DOWN}
    return Action(plain[act.kind]) if act.kind in plain else Action(Kind.CLICK, act.address)


_WORDS = {
    "option": "select {argument} in {label}", "type": "type into {label}", "search": "search in {label}", "area": "write into {label}",
    "done": "exit without an answer", "n/a": "exit with N/A", "answer": "exit with an answer", "back": "go back", "up": "scroll up",
    "down": "scroll down", "tab": "switch to tab {argument}",
}  # fmt: skip


def in_words(act: Act) -> str:
    """Return what an act does, for people.

    >>> in_words(Act("option", "7", "Size", "Large"))
    'select Large in Size'
    """
    return _WORDS.get(act.kind, "click {label}").format(label=act.label, argument=act.argument)


def action_of(act: Act) -> tuple[Action, str]:
    """Return the action of an act, with any text where it takes one, and the label of its element."""
    return make_action(act, act.kind if act.takes_text else ""), act.label
