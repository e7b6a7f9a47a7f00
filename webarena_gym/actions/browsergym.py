"""BrowserGym's dialect: `click('12')`, `fill('12', 'text')`, `send_msg_to_user('answer')`."""

import re
from collections.abc import Callable, Iterator, Mapping
from math import isfinite

from webarena_gym.actions.action import ANSWER, ELEMENT, KEY, OPTION, TAB_INDEX, TEXT, URL, Action, Form, Kind, Parameter
from webarena_gym.actions.calls import format_call, read_call
from webarena_gym.actions.dialect import Dialect
from webarena_gym.actions.replies import expect_single, find_calls, quote_text
from webarena_gym.errors import ActionError

_NUMBER = re.compile(r"\d{1,9}(\.\d{1,9})?", re.ASCII)
_SIGNED_NUMBER = re.compile(r"-?\d+(\.\d+)?", re.ASCII)
_HEAD = re.compile(r"(?<![\w.])([a-z]\w*+)(?=\()|\A\W*+(\w++)\W*+\Z")
_BID = ELEMENT._replace(name="bid")
_FROM, _TO = ELEMENT._replace(name="from_bid"), ELEMENT._replace(name="to_bid")
_DOWN = 480  # pixels
_BUTTON = Parameter("button", "button", "the mouse button", choices=("left", "right"), default="left")
_ACROSS = Parameter("delta_x", "delta_x", "pixels to the right; pages scroll up and down only", "0", type="number")
_DOWNWARDS = Parameter("delta_y", "delta_y", "pixels; down is positive", str(_DOWN), type="number")
_WAIT_MS = Parameter("wait_ms", "wait_ms", "milliseconds", type="integer", default="")
_REASON = Parameter("reason", "reason", "why the task cannot be done", "there is no such product", default="")


class BrowserGym(Dialect):
    """The functions of BrowserGym's WebArena action set."""

    name = "browsergym"
    forms = (
        Form(Kind.CLICK, "click", (_BID, _BUTTON), "Click an element."),
        Form(Kind.TYPE, "fill", (_BID, TEXT._replace(name="value")), "Fill a field."),
        Form(Kind.TYPE, "clear", (_BID,), "Empty a field."),
        Form(Kind.SELECT, "select_option", (_BID, OPTION._replace(name="options")), "Choose an option."),
        Form(Kind.HOVER, "hover", (_BID,), "Move the mouse over an element."),
        Form(Kind.DRAG, "drag_and_drop", (_FROM, _TO), "Drag an element, and drop it on another."),
        Form(Kind.PRESS, "press", (_BID, KEY._replace(name="key_comb")), "Press a key in an element."),
        Form(Kind.PRESS, "keyboard_press", (KEY,), "Press a key in the focused element."),
        Form(Kind.SCROLL_DOWN, "scroll", (_ACROSS, _DOWNWARDS), "Show another part of the page; down is positive."),
        Form(Kind.GO_BACKWARD, "go_back", (), "Return to the previous page."),
        Form(Kind.GO_FORWARD, "go_forward", (), "Undo go_back()."),
        Form(Kind.GOTO, "goto", (URL,), "Open a URL."),
        Form(Kind.NEW_TAB, "new_tab", (), "Open an empty tab."),
        Form(Kind.CLOSE_TAB, "tab_close", (), "Close the current tab."),
        Form(Kind.SWITCH_TAB, "tab_focus", (TAB_INDEX._replace(name="index"),), "Go to a tab; the first is 0."),
        Form(Kind.WAIT, "noop", (_WAIT_MS,), "Wait so long, ten seconds at most; without a number, until the page changes."),
        Form(Kind.EXIT, "send_msg_to_user", (ANSWER._replace(name="text", default=None),), "Answer, and end the task."),
        Form(Kind.EXIT, "report_infeasible", (_REASON,), "End a task that cannot be done."),
    )

    def read(self, text: str) -> Action:
        calls = find_calls(text, _LONGEST_FIRST, self.tool_names if self.tools else ())
        expect_single([f"{call.name}(...)" for call in calls])
        call = calls[0]
        if self.tools and (action := read_call(call, self.tools)):
            return action
        form = _FORMS[call.name]
        names = [parameter.name for parameter in form.parameters]
        arguments = call.bind(names)
        values = {parameter.name: arguments.get(parameter.name, parameter.default) for parameter in form.parameters}
        present = {name: value for name, value in values.items() if value is not None}
        if len(present) < len(values):
            raise ActionError(f"{call.name}() needs {next(name for name in values if name not in present)}; it is missing")
        if call.name in _BUILDERS:
            return _BUILDERS[call.name](**present)
        return Action(form.kind, present.pop("bid", None), next(iter(present.values()), None))

    def heads(self, text: str) -> Iterator[str]:
        yield from (called or word for called, word in _HEAD.findall(text))

    def format(self, action: Action) -> str:
        if action.points is not None:
            raise ValueError(f"the browsergym dialect cannot express {action}")
        match action.kind:
            case Kind.CALL:
                return format_call(action)
            case Kind.SEARCH:
                raise ValueError("browsergym has no action that types and presses Enter; format a TYPE and a PRESS")
            case Kind.RIGHT_CLICK:
                return f'click({quote_text(action.element or "")}, button="right")'
            case Kind.PRESS if action.element is None:
                return f"keyboard_press({quote_text(action.argument or '')})"
            case Kind.SCROLL_UP:
                return f"scroll(0, -{_DOWN})"
            case Kind.SCROLL_DOWN:
                return f"scroll(0, {_DOWN})"
            case Kind.SWITCH_TAB:
                return self.spell("tab_focus", {"index": action.argument or ""})
            case Kind.WAIT:
                return self.spell("noop", {"wait_ms": action.argument} if action.argument else {})
        form = next(form for form in self.forms if form.kind is action.kind)
        arguments = [value for value in (action.element, action.argument) if value is not None]
        return f"{form.name}({', '.join(map(quote_text, arguments))})"

    def spell(self, name: str, values: Mapping[str, str]) -> str:
        parameters = {parameter.name: parameter.type for parameter in _FORMS[name].parameters} if name in _FORMS else {}
        in_order = [*parameters][: len(values)] == [*values]
        arguments: list[str] = []
        for key, value in values.items():
            spelling = (
                value if parameters.get(key) in ("integer", "number") and _SIGNED_NUMBER.fullmatch(value) else quote_text(value)
            )
            arguments.append(spelling if in_order else f"{key}={spelling}")
        return f"{name}({', '.join(arguments)})"

    def signature(self, form: Form) -> str:
        defaults = {
            parameter.name: "None" if parameter.type == "integer" else repr(parameter.default) for parameter in form.parameters
        }
        parts = (
            parameter.name if parameter.default is None else f"{parameter.name}={defaults[parameter.name]}"
            for parameter in form.parameters
        )
        return f"{form.name}({', '.join(parts)})"


_FORMS = {form.name: form for form in BrowserGym.forms}
_LONGEST_FIRST = sorted(_FORMS, key=len, reverse=True)


def _scroll(delta_x: str, delta_y: str) -> Action:
    try:
        horizontal, vertical = float(delta_x), float(delta_y)
    except ValueError:
        horizontal = vertical = float("nan")
    if not (isfinite(horizontal) and isfinite(vertical)):
        raise ActionError(f"scroll() takes two numbers of pixels, got {delta_x!r} and {delta_y!r}")
    if vertical == 0:
        raise ActionError(f"scroll({horizontal:g}, 0) moves sideways; pages scroll up (negative) and down only")
    return Action(Kind.SCROLL_UP if vertical < 0 else Kind.SCROLL_DOWN)


def _click(bid: str, button: str) -> Action:
    if button not in ("left", "right"):
        raise ActionError(f"there is no mouse button {button!r}; expected left or right")
    return Action(Kind.CLICK if button == "left" else Kind.RIGHT_CLICK, bid)


def _wait(wait_ms: str) -> Action:
    if wait_ms and not _NUMBER.fullmatch(wait_ms):
        raise ActionError(f"noop() takes a number of milliseconds, got {wait_ms!r}")
    return Action(Kind.WAIT, argument=wait_ms or None)


_BUILDERS: Mapping[str, Callable[..., Action]] = {
    "click": _click,
    "clear": lambda bid: Action(Kind.TYPE, bid, ""),
    "drag_and_drop": lambda from_bid, to_bid: Action(Kind.DRAG, from_bid, to_bid),
    "scroll": _scroll,
    "noop": _wait,
    "report_infeasible": lambda reason: Action(Kind.EXIT, argument="N/A"),  # noqa: ARG005
}
