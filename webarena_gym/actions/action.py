"""Actions, independent of a dialect, and the form of an action in a dialect: its name, parameters and description.

>>> from webarena_gym.actions import DIALECTS, Action, Kind
>>> action = DIALECTS["webrl"].parse('do(action="Type", argument="red", element="3")')
>>> action == Action(Kind.TYPE, element="3", argument="red")
True
>>> DIALECTS["browsergym"].format(action)
'fill("3", "red")'
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple


class Kind(StrEnum):
    """The kinds of actions. The values are the names in the webrl dialect, if it has one."""

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
    CALL = "Call"  # of a tool, if the env has tools
    # The other kinds exist only with coordinates in the window, in the dialect of computer use.
    DOUBLE_CLICK = "Double Click"
    TRIPLE_CLICK = "Triple Click"
    MIDDLE_CLICK = "Middle Click"
    SCROLL = "Scroll"  # by pixels
    WRITE = "Write"  # into the focused element
    LOOK = "Look"


NEEDS_ELEMENT = frozenset({Kind.CLICK, Kind.RIGHT_CLICK, Kind.HOVER, Kind.DRAG, Kind.TYPE, Kind.SEARCH, Kind.SELECT})
NEEDS_ARGUMENT = frozenset(
    {Kind.DRAG, Kind.TYPE, Kind.SEARCH, Kind.SELECT, Kind.PRESS, Kind.SWITCH_TAB, Kind.GOTO, Kind.EXIT, Kind.CALL}
)

NEEDS_POINTS = frozenset({Kind.DOUBLE_CLICK, Kind.TRIPLE_CLICK, Kind.MIDDLE_CLICK, Kind.SCROLL, Kind.WRITE, Kind.LOOK})
"""The kinds that exist only with coordinates in the window."""


@dataclass(frozen=True, slots=True)
class Action:
    """One action.

    Attributes:
        kind: kind of the action.
        element: id or label of the element in the observation.
        argument: text to type, option to select, key to press, element to drop on, index of the tab, URL to open, answer of an exit, or
            milliseconds to wait (optional). For a call, the name and the arguments of the tool as JSON (see `calls`). For a click or scroll with `points`: modifier keys that are held, such as "Control+Shift".
        points: for mouse and keyboard actions with coordinates, in pixels from the upper left corner of the window: one point, the path of a
            drag, or () for the position of the mouse.
        by: pixels to scroll, to the right and down; (0, n) for a key that is pressed n times.

    Raises:
        ValueError: if the kind needs an attribute that is None.

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
"""Types of the values of parameters."""


class Parameter(NamedTuple):
    """One parameter of an action. It is optional if it has a default.

    Attributes:
        name: name of the parameter in tool calls.
        placeholder: text in place of its value in the signature of the action.
        meaning: description for prompts.
        example: an example of its value; "" for an element, whose example depends on the naming of elements.
        type: type of its value.
        choices: all allowed values; () allows any.
        default: value of an omitted parameter; None if it is required.

    """

    name: str
    placeholder: str
    meaning: str
    example: str = ""
    type: Type = "text"
    choices: tuple[str, ...] = ()
    default: str | None = None


class Form(NamedTuple):
    """One action of a dialect.

    Attributes:
        kind: kind of the action.
        name: name of the action, which is also that of the tool.
        parameters: its parameters, in order.
        meaning: description for prompts.

    """

    kind: Kind
    name: str
    parameters: tuple[Parameter, ...]
    meaning: str


ELEMENT = Parameter("element", "element", "the element", type="element")
"""The element of an action. Dialects rename this parameter and the following ones."""
TEXT = Parameter("argument", "text", "the text to type", "red shoes")
"""The text that an action types."""
OPTION = Parameter("argument", "option", "the text of the option", "Most popular")
"""The option that an action selects."""
TAB_INDEX = Parameter("argument", "index", "the index of the tab; the first is 0", "1", type="integer")
"""The index of the tab to which an action goes."""
URL = Parameter("url", "url", "the URL to open", "http://shop.test/")
"""The URL that an action opens."""
KEY = Parameter("key", "key", "the key, such as Enter, Tab, ArrowDown or a letter", "Enter")
"""The key that an action presses."""
_ANSWER = 'the answer, as short as it can be; "N/A" if the task cannot be done; empty if none was asked for'
ANSWER = Parameter("message", "answer", _ANSWER, "84.3 km", default="")
"""The answer that ends an episode."""
