"""Actions, free of any dialect."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Everything that can be done. The values are the names of the webrl dialect where it has one."""

    CLICK = "Click"
    RIGHT_CLICK = "Right Click"
    HOVER = "Hover"
    DRAG = "Drag"
    TYPE = "Type"
    SEARCH = "Search"  # type, then press Enter
    SELECT = "Select Dropdown Option"
    SCROLL_UP = "Scroll Up"
    SCROLL_DOWN = "Scroll Down"
    PRESS = "Press"
    SWITCH_TAB = "Switch Tab"
    NEW_TAB = "New Tab"
    CLOSE_TAB = "Close Tab"
    GOTO = "Goto"
    WAIT = "Wait"
    GO_BACKWARD = "Go Backward"
    GO_FORWARD = "Go Forward"
    EXIT = "Exit"


NEEDS_ELEMENT = frozenset({Kind.CLICK, Kind.RIGHT_CLICK, Kind.HOVER, Kind.DRAG, Kind.TYPE, Kind.SEARCH, Kind.SELECT})
NEEDS_ARGUMENT = frozenset(
    {Kind.DRAG, Kind.TYPE, Kind.SEARCH, Kind.SELECT, Kind.PRESS, Kind.SWITCH_TAB, Kind.GOTO, Kind.EXIT},
)


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do.

    `element` is an id or a label as the observation shows it. `argument` is the text to type, the option to choose, the key
    to press, the element to drop on, the index of the tab, the URL to open, the message to leave with, or how many milliseconds
    to wait, which may be left open.
    """

    kind: Kind
    element: str | None = None
    argument: str | None = None

    def __post_init__(self) -> None:
        if self.kind in NEEDS_ELEMENT and self.element is None:
            raise ValueError(f"a {self.kind} needs an element")
        if self.kind in NEEDS_ARGUMENT and self.argument is None:
            raise ValueError(f"a {self.kind} needs an argument")
