"""The dialect of WebRL, VisualAgentBench and WebAgent-R1: `do(action="Click", element="12")`, `exit(message="...")`."""

from typing import NamedTuple

from webarena_gym.actions.action import Action, Kind
from webarena_gym.actions.replies import Call, answer_part, find_calls, only, quoted
from webarena_gym.errors import ActionError


class _Form(NamedTuple):
    """One line of the table: how an action is written, and what it does."""

    kind: Kind
    pattern: str  # a call; <argument> and <element> are the fields it needs
    meaning: str


_FORMS = (
    _Form(Kind.CLICK, 'do(action="Click", element="<element>")', "Click an element."),
    _Form(Kind.RIGHT_CLICK, 'do(action="Right Click", element="<element>")', "Click with the right mouse button."),
    _Form(Kind.HOVER, 'do(action="Hover", element="<element>")', "Move the mouse over an element."),
    _Form(
        Kind.TYPE,
        'do(action="Type", argument="<text>", element="<element>")',
        "Replace the content of a field with the text; does not press Enter.",
    ),
    _Form(
        Kind.SEARCH,
        'do(action="Search", argument="<text>", element="<element>")',
        "Replace the content of a field with the text and press Enter.",
    ),
    _Form(
        Kind.SELECT,
        'do(action="Select Dropdown Option", argument="<option>", element="<element>")',
        "Choose the option with that text from a drop-down list.",
    ),
    _Form(Kind.SCROLL_UP, 'do(action="Scroll Up")', "Show the part of the page above."),
    _Form(Kind.SCROLL_DOWN, 'do(action="Scroll Down")', "Show the part of the page below."),
    _Form(Kind.PRESS, 'do(action="Press Enter")', "Press Enter in the focused field."),
    _Form(Kind.SWITCH_TAB, 'do(action="Switch Tab", argument="<index>")', "Go to the tab with that index; the first is 0."),
    _Form(Kind.WAIT, 'do(action="Wait")', "Do nothing."),
    _Form(Kind.GO_BACKWARD, "go_backward()", "Return to the previous page."),
    _Form(Kind.GO_FORWARD, "go_forward()", "Undo go_backward()."),
    _Form(
        Kind.EXIT,
        'exit(message="<answer>")',
        'End the task. The message is the answer; "N/A" if the task cannot be done, empty if none was asked for.',
    ),
)
_NAMES = {
    **{form.kind.lower(): form.kind for form in _FORMS if form.pattern.startswith("do(")},
    "press enter": Kind.PRESS,
    "go backward": Kind.GO_BACKWARD,
    "go forward": Kind.GO_FORWARD,
}
del _NAMES["press"]
_FIELDS = {form.kind: tuple(field for field in ("argument", "element") if f"{field}=" in form.pattern) for form in _FORMS}
_HEADS = ("do", "exit", "go_backward", "go_forward")


class WebRLDialect:
    """Reads and writes the webrl dialect, leniently: fences, answer tags, int ids, single quotes, blanks and newlines."""

    name = "webrl"

    def parse(self, reply: str) -> Action:
        """Return the one action in a model's reply. Raises ActionError.

        >>> WebRLDialect().parse("<think>Search.</think><answer>do(action='Click', element=12)</answer>")
        Action(kind=<Kind.CLICK: 'Click'>, element='12', argument=None)
        """
        calls = find_calls(answer_part(reply), _HEADS)
        only([f"{call.name}({call.keywords.get('action', '')})" for call in calls])
        call = calls[0]
        if call.name == "exit":
            return Action(Kind.EXIT, argument=_arguments(call, ("message",)).get("message", ""))
        if call.name != "do":
            _arguments(call, ())
            return Action(Kind.GO_BACKWARD if call.name == "go_backward" else Kind.GO_FORWARD)
        return _parse_do(call)

    def format(self, action: Action) -> str:
        """Write an action; raises ValueError for kinds that the dialect has not.

        >>> WebRLDialect().format(Action(Kind.TYPE, element="5", argument="red shoes"))
        'do(action="Type", argument="red shoes", element="5")'
        """
        match action.kind:
            case Kind.EXIT:
                return f"exit(message={quoted(action.argument or '')})"
            case Kind.GO_BACKWARD:
                return "go_backward()"
            case Kind.GO_FORWARD:
                return "go_forward()"
            case Kind.PRESS if action.argument == "Enter" and action.element is None:
                return 'do(action="Press Enter")'
            case Kind.PRESS | Kind.GOTO | Kind.NEW_TAB | Kind.CLOSE_TAB:
                raise ValueError(f"the webrl dialect cannot express {action}")
        values = {"argument": action.argument, "element": action.element}
        fields = "".join(f", {field}={quoted(values[field] or '')}" for field in _FIELDS[action.kind])
        return f"do(action={quoted(action.kind)}{fields})"

    def grammar(self) -> str:
        """Return the list of actions, one a line, for a prompt."""
        return "\n".join(f"{form.pattern}: {form.meaning}" for form in _FORMS)


def _arguments(call: Call, allowed: tuple[str, ...]) -> dict[str, str]:
    """Return a call's arguments by name, positional ones in the order of `allowed`. Raises ActionError for any other."""
    if len(call.positional) > min(1, len(allowed)):
        raise ActionError(f"{call.name}() takes named arguments ({', '.join(allowed) or 'none'}), got {call.positional}")
    arguments = dict(zip(allowed, call.positional, strict=False)) | call.keywords
    unknown = [name for name in arguments if name not in allowed]
    if unknown:
        raise ActionError(f"{call.name}() has no argument {unknown[0]!r}; expected {', '.join(allowed) or 'none'}")
    return arguments


def _parse_do(call: Call) -> Action:
    arguments = _arguments(call, ("action", "argument", "element"))
    name = " ".join(arguments.pop("action", "").split()).lower()
    kind = _NAMES.get(name)
    if kind is None:
        expected = ", ".join(_pretty(known) for known in _NAMES)
        raise ActionError(f"there is no action {name!r}; expected one of {expected}")
    fields = _FIELDS.get(kind, ())
    for field in fields:
        if field not in arguments:
            raise ActionError(f"{_pretty(name)} needs {field}=; it is missing")
    for field in arguments:
        if field not in fields and arguments[field].strip():
            raise ActionError(f"{_pretty(name)} takes no {field}; got {arguments[field]!r}")
    if kind is Kind.PRESS:
        return Action(kind, argument="Enter")
    return Action(kind, **{field: arguments[field] for field in fields})


def _pretty(name: str) -> str:
    return name.title()
