"""The dialect of computer use: mouse and keyboard at coordinates of a picture, in the formats of OpenAI, Anthropic, UI-TARS and Qwen.

Calls in the formats of all vendors are parsed with one table of names, since their names do not conflict. `vendor` selects the format in
which actions are formatted and described.

- OpenAI: `{"type": "click", "x": 5, "y": 9, "button": "left"}`, also inside a `computer_call`.
- Anthropic: `{"action": "left_click", "coordinate": [5, 9]}`, also inside a `tool_use`.
- UI-TARS: `Action: click(start_box='<|box_start|>(5,9)<|box_end|>')`, also with `[5, 9, 5, 9]` or `<point>5 9</point>`.
- Qwen: `<tool_call>{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [5, 9]}}</tool_call>`.

An episode ends with an answer: a final message (`{"type": "message", ...}`, `{"type": "text", ...}`), `finished(content='...')`, `answer`, or
`terminate`. Plain prose is not an answer: pass the response of a vendor's API as JSON.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Literal

from webarena_gym.actions.action import ANSWER, KEY, TEXT, URL, Action, Form, Kind, Parameter
from webarena_gym.actions.calls import ToolForm, call_action, called_tool, format_call, read_call
from webarena_gym.actions.dialect import Dialect
from webarena_gym.actions.replies import call_head, expect_single, find_calls, json_values, quote_text
from webarena_gym.errors import ActionError

Vendor = Literal["openai", "anthropic", "ui-tars", "qwen"]
Coordinates = Literal["pixels", "thousandths"]
NOTCH = 100
"""Pixels of one step of the mouse wheel, the unit of scrolling of Anthropic and UI-TARS."""

_FAR = 1e6  # pixels
_MAX_REPEAT = 100  # presses of a key in one action, as in Anthropic's own tool
_NUMBER = re.compile(r"-?\d{1,9}(?:\.\d{1,9})?", re.ASCII)
_NUMBERS_OF_A_BOX = 4
_ACTION = re.compile(r"^[ \t]*Action:", re.MULTILINE)
_POINT_KEYS = ("coordinate", "start_box", "point", "start_point", "position")
_END_KEYS = ("end_box", "end_point")

_CLICKS: Mapping[str, Kind] = {
    "click": Kind.CLICK, "left_click": Kind.CLICK, "left_single": Kind.CLICK, "right_click": Kind.RIGHT_CLICK,
    "right_single": Kind.RIGHT_CLICK, "middle_click": Kind.MIDDLE_CLICK, "double_click": Kind.DOUBLE_CLICK, "left_double": Kind.DOUBLE_CLICK,
    "triple_click": Kind.TRIPLE_CLICK, "left_triple": Kind.TRIPLE_CLICK, "move": Kind.HOVER, "mouse_move": Kind.HOVER, "hover": Kind.HOVER,
}  # fmt: skip
_BUTTONS: Mapping[str, Kind] = {
    "left": Kind.CLICK, "right": Kind.RIGHT_CLICK, "wheel": Kind.MIDDLE_CLICK, "middle": Kind.MIDDLE_CLICK, "back": Kind.GO_BACKWARD,
    "forward": Kind.GO_FORWARD,
}  # fmt: skip
_OTHER_NAMES = (
    "drag", "left_click_drag", "scroll", "hscroll", "keypress", "key", "hotkey", "press", "type", "wait", "screenshot", "zoom",
    "cursor_position", "finished", "done", "answer", "terminate", "call_user", "goto", "back", "forward",
)  # fmt: skip
NAMES = (*_CLICKS, *_OTHER_NAMES)
"""The names of actions of all vendors."""

_NAMED_KEYS: Mapping[str, str] = {
    key.lower(): key
    for key in (
        "Control", "Alt", "Shift", "Meta", "Enter", "Escape", "Backspace", "Delete", "Tab", "Space", "PageUp", "PageDown", "Home", "End",
        "Insert", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", *(f"F{number}" for number in range(1, 13)),
    )
} | {
    "ctrl": "Control", "option": "Alt", "cmd": "Meta", "command": "Meta", "super": "Meta", "win": "Meta", "return": "Enter", "kpenter": "Enter",
    "esc": "Escape", "del": "Delete", "pgup": "PageUp", "pgdn": "PageDown", "up": "ArrowUp", "down": "ArrowDown", "left": "ArrowLeft",
    "right": "ArrowRight", "plus": "+", "minus": "-", "comma": ",", "period": ".", "slash": "/", "equal": "=",
}  # fmt: skip
_MODIFIERS = frozenset(("Control", "Alt", "Shift", "Meta"))
_KEY_SPELLINGS: Mapping[Vendor, Mapping[str, str]] = {
    "openai": {"Control": "CTRL", "Escape": "ESC"},
    "anthropic": {
        "Control": "ctrl", "Alt": "alt", "Shift": "shift", "Meta": "super", "Enter": "Return", "Space": "space", "Backspace": "BackSpace",
        "PageUp": "Page_Up", "PageDown": "Page_Down", "ArrowUp": "Up", "ArrowDown": "Down", "ArrowLeft": "Left", "ArrowRight": "Right", "+": "plus",
    },
    "ui-tars": {"Control": "ctrl", "Escape": "esc", "+": "plus"},
    "qwen": {"Control": "ctrl", "Escape": "esc"},
}  # fmt: skip
_SHORTCUTS: Mapping[str, Action] = {
    "Alt+ArrowLeft": Action(Kind.GO_BACKWARD), "Alt+ArrowRight": Action(Kind.GO_FORWARD), "Control+t": Action(Kind.NEW_TAB),
    "Control+w": Action(Kind.CLOSE_TAB), **{f"Control+{place + 1}": Action(Kind.SWITCH_TAB, argument=str(place)) for place in range(8)},
}  # fmt: skip
"""Shortcuts of the browser, whose buttons and tabs are not part of the pictures."""

_X = Parameter("x", "x", "pixels from the left edge of the window", "640", type="integer")
_Y = Parameter("y", "y", "pixels from the upper edge of the window", "360", type="integer")
_BUTTON = Parameter("button", "button", "the mouse button", choices=("left", "right", "wheel"), default="left")
_TO_X, _TO_Y = _X._replace(name="to_x", example="700"), _Y._replace(name="to_y", example="400")
_ACROSS = Parameter("scroll_x", "scroll_x", "pixels to the right", "0", type="number")
_DOWN = Parameter("scroll_y", "scroll_y", "pixels; down is positive", "500", type="number")


@dataclass(frozen=True)
class Computer(Dialect):
    """Mouse and keyboard actions with coordinates in the window.

    Args:
        vendor: the format of actions.
        window: width and height of the window in pixels.
        coordinates: unit of coordinates: "pixels" of the picture, or "thousandths" of its width and height, as in the training data of
            some models.

    """

    vendor: Vendor = "openai"
    window: tuple[int, int] = (1280, 720)
    coordinates: Coordinates = "pixels"
    name = "computer"
    forms = (
        Form(Kind.CLICK, "click", (_X, _Y, _BUTTON), "Click at a place."),
        Form(Kind.DOUBLE_CLICK, "double_click", (_X, _Y), "Click twice at a place."),
        Form(Kind.HOVER, "move", (_X, _Y), "Move the mouse to a place."),
        Form(Kind.DRAG, "drag", (_X, _Y, _TO_X, _TO_Y), "Press the mouse at a place, and let it go at another."),
        Form(Kind.SCROLL, "scroll", (_X, _Y, _ACROSS, _DOWN), "Turn the mouse wheel at a place."),
        Form(
            Kind.WRITE,
            "type",
            (TEXT._replace(name="text"),),
            "Type a text where the focus is; a line break in it presses Enter.",
        ),
        Form(Kind.PRESS, "keypress", (KEY._replace(name="keys", example="CTRL+A"),), "Press a key, or several together."),
        Form(Kind.WAIT, "wait", (), "Wait until the page changes, some seconds at most."),
        Form(Kind.LOOK, "screenshot", (), "Do nothing but look."),
        Form(Kind.GOTO, "goto", (URL,), "Open a URL."),
        Form(Kind.GO_BACKWARD, "back", (), "Return to the previous page."),
        Form(Kind.GO_FORWARD, "forward", (), "Undo back."),
        Form(Kind.EXIT, "answer", (ANSWER._replace(name="text"),), "Answer, and end the task."),
    )

    def addressing(self, observation: str) -> str:  # noqa: ARG002 - the same in all
        width, height = self.window
        unit = "pixels" if self.coordinates == "pixels" else "thousandths of its width and height"
        return (
            f"Places are {unit} from the upper left corner of the window, which is {width} pixels wide and {height} high. "
            "Alt and ArrowLeft lead back, Ctrl and T open a tab, Ctrl and W close it, Ctrl and a digit turn to another."
        )

    def read(self, text: str) -> Action:
        calls = [
            call_action(name, arguments) if name in self.tool_names else self.action_of(name, arguments)
            for name, arguments in _calls(text, self.tools)
        ]
        expect_single([str(action.kind) for action in calls])
        return calls[0]

    def spell(self, name: str, values: Mapping[str, str]) -> str:
        try:
            return self.format(replace(self, coordinates="pixels").action_of(name, values))
        except (ActionError, ValueError):
            return json.dumps({"type": name, **values})

    def signature(self, form: Form) -> str:
        return f"{form.name}({', '.join(item.name for item in form.parameters)})"

    def format(self, action: Action) -> str:
        if action.kind is Kind.CALL:
            return format_call(action)
        keys = next((keys for keys, does in _SHORTCUTS.items() if does == action), None)
        if keys is not None:
            action = Action(Kind.PRESS, argument=keys, points=())
        is_known = action.points is not None or action.kind in (Kind.WAIT, Kind.GOTO, Kind.EXIT)
        is_repeated = action.kind is Kind.PRESS and action.by is not None and self.vendor not in ("anthropic", "qwen")
        if action.element is not None or not is_known or is_repeated:
            raise ValueError(f"the computer dialect cannot express {action}")
        writers = {"openai": self._openai, "anthropic": self._anthropic, "ui-tars": self._ui_tars, "qwen": self._anthropic}
        return writers[self.vendor](action)

    # Reading.

    def action_of(self, name: str, arguments: Mapping[str, Any]) -> Action:  # noqa: C901 - one case a kind of action
        """Return the action of a call in the format of any vendor. Raises ActionError."""
        match name:
            case "click" if arguments.get("button", "left") != "left":
                kind = _BUTTONS.get(str(arguments["button"]))
                if kind is None:
                    raise ActionError(
                        f"there is no mouse button {arguments['button']!r}; expected one of {', '.join(_BUTTONS)}"
                    )
                if kind in (Kind.GO_BACKWARD, Kind.GO_FORWARD):
                    return Action(kind)
                return Action(kind, argument=_held_keys(arguments), points=self._points(arguments))
            case _ if name in _CLICKS:
                return Action(_CLICKS[name], argument=_held_keys(arguments), points=self._points(arguments))
            case "drag" | "left_click_drag":
                return Action(Kind.DRAG, points=self._path(arguments))
            case "scroll" | "hscroll":
                return Action(
                    Kind.SCROLL, argument=_held_keys(arguments), points=self._points(arguments), by=_distance(name, arguments)
                )
            case "keypress" | "key" | "hotkey" | "press":
                keys = _chord(next((arguments[item] for item in ("keys", "key", "text") if item in arguments), ""))
                count = _repeat(arguments)
                if count > 1:
                    return Action(Kind.PRESS, argument=keys, points=(), by=(0, count))
                return _SHORTCUTS.get(keys) or Action(Kind.PRESS, argument=keys, points=())
            case "type":
                return Action(Kind.WRITE, argument=_text(arguments, name), points=())
            case "wait":
                for key, scale in (("ms", 1), ("duration", 1000), ("time", 1000)):
                    if key in arguments:
                        return Action(Kind.WAIT, argument=f"{_number(arguments[key], key) * scale:g}")
                return Action(Kind.WAIT)
            case "screenshot" | "zoom" | "cursor_position":
                return Action(Kind.LOOK, points=())
            case "goto":
                return Action(Kind.GOTO, argument=_text(arguments, name, "url"))
            case "back" | "forward":
                return Action(Kind.GO_BACKWARD if name == "back" else Kind.GO_FORWARD)
            case "call_user":
                return Action(Kind.EXIT, argument="N/A")
            case "terminate":
                return Action(Kind.EXIT, argument="N/A" if arguments.get("status") == "failure" else "")
            case "finished" | "done" | "answer":
                return Action(Kind.EXIT, argument=_text(arguments, name, default=""))
        raise ActionError(f"there is no action {name!r}")

    def _points(self, arguments: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
        """Return the point of a call, or () if it has none."""
        if "x" in arguments or "y" in arguments:
            return (self._point([arguments.get("x"), arguments.get("y")]),)
        return tuple(self._point(arguments[key]) for key in _POINT_KEYS if arguments.get(key) is not None)[:1]

    def _path(self, arguments: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
        if isinstance(arguments.get("path"), Sequence):
            path = tuple(map(self._point, arguments["path"]))
        elif "start_coordinate" in arguments:
            path = (self._point(arguments["start_coordinate"]), *self._points(arguments))
        else:
            ends = [arguments[key] for key in _END_KEYS if key in arguments] + (
                [[arguments["to_x"], arguments.get("to_y")]] if "to_x" in arguments else []
            )
            path = (*self._points(arguments), *map(self._point, ends[:1]))
        if not path:
            raise ActionError("a drag needs the places where it begins and ends")
        return path

    def _point(self, value: object) -> tuple[int, int]:
        """Return a point in pixels; for a box, its centre. Raises ActionError for a malformed value."""
        numbers = _NUMBER.findall(value) if isinstance(value, str) else value
        if isinstance(numbers, Mapping):
            numbers = [numbers.get("x"), numbers.get("y")]
        if not isinstance(numbers, Sequence) or len(numbers) not in (2, _NUMBERS_OF_A_BOX):
            raise ActionError(f"expected the two numbers of a place, got {str(value)[:80]!r}")
        read = [_number(item, "a coordinate") for item in numbers]
        half = len(read) // 2  # a box has two corners
        x, y = (read[0] + read[half * 2 - 2]) / 2, (read[1] + read[-1]) / 2
        if self.coordinates == "thousandths":
            x, y = x * self.window[0] / 1000, y * self.window[1] / 1000
        return round(x), round(y)

    # Writing.

    def _numbers(self, place: tuple[int, int]) -> list[float]:
        """Return a point in the unit of coordinates, with enough digits to be parsed as the same pixel."""
        if self.coordinates == "pixels":
            return [*place]
        parts = (round(1000 * at / side, 2) for at, side in zip(place, self.window, strict=True))
        return [int(part) if part.is_integer() else part for part in parts]

    def _keys(self, keys: str) -> list[str]:
        spellings = _KEY_SPELLINGS[self.vendor]
        usual = str.upper if self.vendor == "openai" else str if self.vendor == "anthropic" else str.lower
        return [spellings.get(key) or (usual(key) if len(key) > 1 else key) for key in _parts(keys)]

    def _openai(self, action: Action) -> str:
        argument, points = action.argument or "", action.points or ()
        place = dict(zip("xy", self._numbers(points[0]), strict=True)) if points else {}
        modifiers = {"keys": self._keys(argument)} if argument else {}
        call: dict[str, Any]
        match action.kind:
            case Kind.CLICK | Kind.RIGHT_CLICK | Kind.MIDDLE_CLICK:
                button = next(name for name, kind in _BUTTONS.items() if kind is action.kind)
                call = {"type": "click", **place, "button": button, **modifiers}
            case Kind.DOUBLE_CLICK | Kind.TRIPLE_CLICK | Kind.HOVER:
                call = {
                    "type": {"Hover": "move"}.get(action.kind) or action.kind.lower().replace(" ", "_"),
                    **place,
                    **modifiers,
                }
            case Kind.DRAG:
                call = {"type": "drag", "path": [dict(zip("xy", self._numbers(item), strict=True)) for item in points]}
            case Kind.SCROLL:
                across, down = action.by or (0, 0)
                call = {"type": "scroll", **place, "scroll_x": across, "scroll_y": down, **modifiers}
            case Kind.PRESS:
                call = {"type": "keypress", "keys": self._keys(argument)}
            case Kind.WRITE:
                call = {"type": "type", "text": argument}
            case Kind.WAIT:
                call = {"type": "wait"} | ({"ms": float(argument)} if argument else {})
            case Kind.LOOK:
                call = {"type": "screenshot"}
            case Kind.GOTO:
                call = {"type": "goto", "url": argument}
            case _:
                call = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": argument}]}
        return json.dumps(call, ensure_ascii=False)

    def _anthropic(self, action: Action) -> str:
        """Return an action in Anthropic's or Qwen's format, which differ in a few names."""
        is_qwen, argument, points = self.vendor == "qwen", action.argument or "", action.points or ()
        place = {"coordinate": self._numbers(points[-1])} if points else {}
        modifiers = {"text": "+".join(self._keys(argument))} if argument else {}
        call: dict[str, Any]
        match action.kind:
            case Kind.DRAG:
                if len(points) > 2:
                    raise ValueError(f"{self.vendor} cannot express a drag of more than two places: {action}")
                start = {"start_coordinate": self._numbers(points[0])} if len(points) > 1 else {}
                call = {"action": "left_click_drag", **start, **place}
            case Kind.SCROLL if is_qwen:
                across, down = _scroll_offsets(action)
                name, pixels = ("hscroll", across) if across else ("scroll", -down)
                call = {"action": name, "pixels": pixels, **place, **modifiers}
            case Kind.SCROLL:
                direction, amount = _notches(action)
                call = {"action": "scroll", **place, "scroll_direction": direction, "scroll_amount": amount, **modifiers}
            case Kind.PRESS:
                keys = self._keys(argument)
                repeat = {} if action.by is None else {"repeat": action.by[1]}
                call = {"action": "key"} | ({"keys": keys} if is_qwen else {"text": "+".join(keys)}) | repeat
            case Kind.WRITE:
                call = {"action": "type", "text": argument}
            case Kind.WAIT:
                seconds = {"time" if is_qwen else "duration": float(argument) / 1000} if argument else {}
                call = {"action": "wait", **seconds}
            case Kind.LOOK:
                call = {"action": "screenshot"}
            case Kind.GOTO:
                call = {"action": "goto", "url": argument}
            case Kind.EXIT if not is_qwen:
                call = {"type": "text", "text": argument}
            case Kind.EXIT:
                call = {"action": "answer", "text": argument}
            case _:
                call = {"action": _action_name(action.kind, "left_click", "mouse_move"), **place, **modifiers}
        if not is_qwen:
            return json.dumps(call, ensure_ascii=False)
        return f"<tool_call>\n{json.dumps({'name': 'computer_use', 'arguments': call}, ensure_ascii=False)}\n</tool_call>"

    def _ui_tars(self, action: Action) -> str:
        argument, points = action.argument or "", action.points or ()
        boxes = ["<|box_start|>({},{})<|box_end|>".format(*self._numbers(item)) for item in points]
        arguments = {"start_box": boxes[0]} if boxes else {}
        modifiers = {"keys": " ".join(self._keys(argument))} if argument else {}
        match action.kind:
            case Kind.DRAG:
                if len(boxes) > 2:
                    raise ValueError(f"{self.vendor} cannot express a drag of more than two places: {action}")
                name = "drag"
                arguments = {"start_box": boxes[0], "end_box": boxes[1]} if len(boxes) > 1 else {"end_box": boxes[0]}
            case Kind.SCROLL:
                direction, amount = _notches(action)
                name, arguments = "scroll", {**arguments, "direction": direction, "amount": f"{amount:g}", **modifiers}
            case Kind.PRESS:
                name, arguments = "hotkey", {"key": " ".join(self._keys(argument))}
            case Kind.WRITE:
                name, arguments = "type", {"content": argument}
            case Kind.WAIT:
                name, arguments = "wait", {"time": f"{float(argument) / 1000!r}"} if argument else {}
            case Kind.LOOK:
                name, arguments = "screenshot", {}
            case Kind.GOTO:
                name, arguments = "goto", {"url": argument}
            case Kind.EXIT:
                name, arguments = "finished", {"content": argument}
            case Kind.DOUBLE_CLICK:
                name, arguments = "left_double", arguments | modifiers
            case Kind.RIGHT_CLICK:
                name, arguments = "right_single", arguments | modifiers
            case _:
                name, arguments = _action_name(action.kind, "click", "hover"), arguments | modifiers
        return f"Action: {name}({', '.join(f'{key}={quote_text(value, chr(39))}' for key, value in arguments.items())})"


def _action_name(kind: Kind, click: str, move: str) -> str:
    return {Kind.CLICK: click, Kind.HOVER: move}.get(kind) or kind.lower().replace(" ", "_")


def _calls(text: str, tools: Sequence[ToolForm] = ()) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the names and arguments of the calls in a reply; a final message only if there is no other call."""
    labelled = [*_ACTION.finditer(text)]
    names = tuple(tool.name for tool in tools)
    head = call_head(names).search(text) if names else None
    values = () if labelled else json_values(text)  # those after the name of a tool are its arguments
    calls = [call for value, start, _ in values if head is None or start < head.start() for call in _nested_calls(value, names)]
    for call in () if calls else find_calls(text[labelled[-1].end() :] if labelled else text, NAMES, names):
        if action := read_call(call, tools):
            yield called_tool(action)
            continue
        if call.positional:
            raise ActionError(f"{call.name}() takes named arguments, got {call.positional}")
        yield call.name, call.keywords
    if calls:
        acting = [(name, arguments) for name, arguments in calls if name != "message"]
        yield from acting or [("answer", {"text": "".join(arguments["text"] for _, arguments in calls)})]


def _nested_calls(value: object, tools: Sequence[str], depth: int = 6) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the calls in a vendor's JSON: the value itself, a tool call, or parts of a message; a text gives a "message"."""
    if isinstance(value, list) and depth:
        for item in value:
            yield from _nested_calls(item, tools, depth - 1)
    if not isinstance(value, dict) or not depth or value.get("type") in ("reasoning", "thinking", "redacted_thinking"):
        return
    arguments = next((value[key] for key in ("arguments", "input") if key in value), None)
    if isinstance(arguments, str):
        arguments = next(json_values(arguments), (None,))[0]
    if isinstance(arguments, dict) and value.get("name") in tools:
        yield value["name"], arguments
        return
    if isinstance(arguments, dict):
        is_named = isinstance(arguments.get("action"), str) or isinstance(arguments.get("type"), str)
        yield from _nested_calls(arguments if is_named else {**arguments, "type": value.get("name")}, tools, depth - 1)
        return
    if isinstance(value.get("actions"), list) and value["actions"] and not isinstance(value.get("action"), str):
        value = {
            key: part for key, part in value.items() if key != "action"
        }  # OpenAI: the list replaces the one action beside it
    inner = [
        value[key]
        for key in ("action", "actions", "content", "output", "tool_calls", "function")
        if isinstance(value.get(key), dict | list)
    ]
    kind = value.get("action") if isinstance(value.get("action"), str) else value.get("type")
    if kind in ("text", "output_text") and isinstance(value.get("text"), str):
        yield "message", value
    elif kind == "message" and isinstance(value.get("content"), str):
        yield "message", {"text": value["content"]}
    elif inner:
        for item in inner:
            yield from _nested_calls(item, tools, depth - 1)
    elif isinstance(kind, str):
        yield kind, {key: part for key, part in value.items() if key not in ("type", "action")} if kind in tools else value


def _repeat(arguments: Mapping[str, Any]) -> int:
    """Return how often a key is pressed (Anthropic's `repeat`). Raises ActionError."""
    count = _number(arguments.get("repeat", 1), "repeat")
    if count not in range(1, _MAX_REPEAT + 1):
        raise ActionError(f"repeat is {arguments['repeat']!r}; expected a whole number from 1 to {_MAX_REPEAT}")
    return int(count)


def _number(value: object, what: str) -> float:
    """Return a number, which models also write in quotes. Raises ActionError."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        return min(max(float(value), -_FAR), _FAR)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ActionError(f"{what} is {str(value)[:80]!r}; expected a number")
    if abs(value) > _FAR or not isfinite(value):
        raise ActionError(f"{what} is {str(value)[:80]}, which is far outside of any window")
    return float(value)


def _text(arguments: Mapping[str, Any], name: str, *keys: str, default: str | None = None) -> str:
    for key in (*keys, "text", "content", "answer"):
        if isinstance(arguments.get(key), str):
            return str(arguments[key])
    if default is None:
        raise ActionError(f"{name} needs a text; it is missing")
    return default


def _distance(name: str, arguments: Mapping[str, Any]) -> tuple[int, int]:
    """Return the pixels to scroll, to the right and down. Raises ActionError."""
    if "scroll_x" in arguments or "scroll_y" in arguments:
        return round(_number(arguments.get("scroll_x", 0), "scroll_x")), round(
            _number(arguments.get("scroll_y", 0), "scroll_y")
        )
    if "pixels" in arguments:
        pixels = round(_number(arguments["pixels"], "pixels"))
        return (pixels, 0) if name == "hscroll" else (0, -pixels)
    direction = str(arguments.get("scroll_direction", arguments.get("direction", "")))
    amount = round(_number(arguments.get("scroll_amount", arguments.get("amount", 5)), "the amount to scroll") * NOTCH)
    directions = {"up": (0, -amount), "down": (0, amount), "left": (-amount, 0), "right": (amount, 0)}
    if direction not in directions:
        raise ActionError(f"scroll needs a direction: up, down, left or right; got {direction[:80]!r}")
    return directions[direction]


def _scroll_offsets(action: Action) -> tuple[int, int]:
    across, down = action.by or (0, 0)
    if across and down:
        raise ValueError(f"only OpenAI's shape can express a slanting scroll: {action}")
    return across, down


def _notches(action: Action) -> tuple[str, float]:
    """Return the direction of a scroll, and its number of steps of the wheel."""
    across, down = _scroll_offsets(action)
    direction = ("left" if across < 0 else "right") if across else ("up" if down < 0 else "down")
    steps = abs(across or down) / NOTCH
    return direction, int(steps) if steps.is_integer() else steps


def _parts(chord: str) -> list[str]:
    """Return the keys of a chord, which are joined by +; the key + itself may be among them."""
    last = ["+"] if chord.endswith("+") else []
    return [*filter(None, chord.removesuffix("+").removesuffix("+").split("+")), *last]


def _chord(keys: object) -> str:
    """Return a chord of keys in Playwright's notation. Raises ActionError for an unknown key.

    >>> _chord(["CTRL", "A"]), _chord("ctrl+shift+Page_Down"), _chord("ctrl c"), _chord("plus")
    ('Control+a', 'Control+Shift+PageDown', 'Control+c', '+')
    """
    if isinstance(keys, str):
        keys = [keys] if "+" in keys or len(keys) == 1 else keys.split()
    if not isinstance(keys, list):
        raise ActionError(f"the keys are {str(keys)[:80]!r}; expected a list of them")
    names = []
    for part in (part for key in keys for part in _parts(str(key))):
        key = part.strip() or part
        known = _NAMED_KEYS.get(key.lower().replace("_", ""))
        if known is None and len(key) != 1:
            raise ActionError(f"there is no key {key[:80]!r}")
        names.append(known or ("Space" if key == " " else key))
    if not names:
        raise ActionError("no key is named")
    if _MODIFIERS & {*names} and "Shift" not in names:
        names = [key.lower() if len(key) == 1 else key for key in names]
    return "+".join(names)


def _held_keys(arguments: Mapping[str, Any]) -> str | None:
    """Return the modifier keys of a click or a scroll: OpenAI's `keys`, or Anthropic's `text`."""
    keys = arguments.get("keys") or arguments.get("text")
    return _chord(keys) if keys else None
