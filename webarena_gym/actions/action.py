"""Actions, free of any dialect, and the words of a dialect for each: its name, its parameters and its effect."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple


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
    # The others are done at places in the window alone, in the dialect of computer use.
    DOUBLE_CLICK = "Double Click"
    TRIPLE_CLICK = "Triple Click"
    MIDDLE_CLICK = "Middle Click"
    SCROLL = "Scroll"  # by pixels
    WRITE = "Write"  # where the focus is
    LOOK = "Look"


NEEDS_ELEMENT = frozenset({Kind.CLICK, Kind.RIGHT_CLICK, Kind.HOVER, Kind.DRAG, Kind.TYPE, Kind.SEARCH, Kind.SELECT})
NEEDS_ARGUMENT = frozenset({Kind.DRAG, Kind.TYPE, Kind.SEARCH, Kind.SELECT, Kind.PRESS, Kind.SWITCH_TAB, Kind.GOTO, Kind.EXIT})

NEEDS_POINTS = frozenset({Kind.DOUBLE_CLICK, Kind.TRIPLE_CLICK, Kind.MIDDLE_CLICK, Kind.SCROLL, Kind.WRITE, Kind.LOOK})
"""The kinds that are done at places in the window alone."""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do.

    `element` is an id or a label as the observation shows it. `argument` is the text to type, the option to choose, the key
    to press, the element to drop on, the index of the tab, the URL to open, the message to leave with, or how many milliseconds
    to wait, which may be left open.

    What is done with mouse and keyboard at places in the window has `points`, in pixels from its upper left corner: the place, the path
    of a drag, or () for where the mouse is. A `by` is how many pixels to scroll, to the right and down; the `argument` of a click or scroll are
    then the keys that are held, such as "Control+Shift". The `by` of a key that is pressed n times is (0, n).
    """

    kind: Kind
    element: str | None = None
    argument: str | None = None
    points: tuple[tuple[int, int], ...] | None = None
    by: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.points is None and (self.kind in NEEDS_POINTS or self.by is not None):
            raise ValueError(f"a {self.kind} needs points")
        if self.kind in NEEDS_ELEMENT and self.element is None and self.points is None:
            raise ValueError(f"a {self.kind} needs an element")
        if self.kind in NEEDS_ARGUMENT and self.argument is None and (self.kind is not Kind.DRAG or self.points is None):
            raise ValueError(f"a {self.kind} needs an argument")


Type = Literal["element", "text", "integer", "number"]


class Parameter(NamedTuple):
    """One value of an action. It may be left out where it has a default."""

    name: str
    placeholder: str
    meaning: str
    example: str = ""  # of an element there is one for each way to name it
    type: Type = "text"
    choices: tuple[str, ...] = ()
    default: str | None = None


class Form(NamedTuple):
    """One action of a dialect. `name` is that of the function where actions are called as tools."""

    kind: Kind
    name: str
    parameters: tuple[Parameter, ...]
    meaning: str


ELEMENT = Parameter("element", "element", "the element", type="element")
TEXT = Parameter("argument", "text", "the text to type", "red shoes")
OPTION = Parameter("argument", "option", "the text of the option", "Most popular")
TAB_INDEX = Parameter("argument", "index", "the index of the tab; the first is 0", "1", type="integer")
URL = Parameter("url", "url", "the URL to open", "http://shop.test/")
KEY = Parameter("key", "key", "the key, such as Enter, Tab, ArrowDown or a letter", "Enter")
_ANSWER = 'the answer, as short as it can be; "N/A" if the task cannot be done; empty if none was asked for'
ANSWER = Parameter("message", "answer", _ANSWER, "84.3 km", default="")
"""The parameters of actions; a dialect gives them names of its own."""
