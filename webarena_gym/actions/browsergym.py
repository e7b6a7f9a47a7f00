"""BrowserGym's dialect: `click('12')`, `fill('12', 'text')`, `send_msg_to_user('answer')`."""

from collections.abc import Callable
from typing import NamedTuple

from webarena_gym.actions.action import Action, Kind
from webarena_gym.actions.replies import answer_part, find_calls, only, quoted
from webarena_gym.errors import ActionError


class _Form(NamedTuple):
    """One function: its parameters (optional ones with a default), how to build the action, and what it does."""

    parameters: dict[str, str | None]
    build: Callable[..., Action]
    meaning: str


def _scroll(delta_x: str, delta_y: str) -> Action:
    try:
        horizontal, vertical = float(delta_x), float(delta_y)
    except ValueError:
        raise ActionError(f"scroll() takes two numbers of pixels, got {delta_x!r} and {delta_y!r}") from None
    if vertical == 0:
        raise ActionError(f"scroll({horizontal:g}, 0) moves sideways; pages scroll up (negative) and down only")
    return Action(Kind.SCROLL_UP if vertical < 0 else Kind.SCROLL_DOWN)


def _click(bid: str, button: str) -> Action:
    if button not in ("left", "right"):
        raise ActionError(f"there is no mouse button {button!r}; expected left or right")
    return Action(Kind.CLICK if button == "left" else Kind.RIGHT_CLICK, bid)


_FORMS: dict[str, _Form] = {
    "click": _Form({"bid": None, "button": "left"}, _click, "Click an element."),
    "fill": _Form({"bid": None, "value": None}, lambda bid, value: Action(Kind.TYPE, bid, value), "Fill a field."),
    "clear": _Form({"bid": None}, lambda bid: Action(Kind.TYPE, bid, ""), "Empty a field."),
    "select_option": _Form(
        {"bid": None, "options": None}, lambda bid, options: Action(Kind.SELECT, bid, options), "Choose an option."
    ),
    "hover": _Form({"bid": None}, lambda bid: Action(Kind.HOVER, bid), "Move the mouse over an element."),
    "press": _Form(
        {"bid": None, "key_comb": None}, lambda bid, key_comb: Action(Kind.PRESS, bid, key_comb), "Press a key in an element."
    ),
    "keyboard_press": _Form({"key": None}, lambda key: Action(Kind.PRESS, argument=key), "Press a key in the focused element."),
    "scroll": _Form({"delta_x": None, "delta_y": None}, _scroll, "Show another part of the page; down is positive."),
    "go_back": _Form({}, lambda: Action(Kind.GO_BACKWARD), "Return to the previous page."),
    "go_forward": _Form({}, lambda: Action(Kind.GO_FORWARD), "Undo go_back()."),
    "goto": _Form({"url": None}, lambda url: Action(Kind.GOTO, argument=url), "Open a URL."),
    "new_tab": _Form({}, lambda: Action(Kind.NEW_TAB), "Open an empty tab."),
    "tab_close": _Form({}, lambda: Action(Kind.CLOSE_TAB), "Close the current tab."),
    "tab_focus": _Form({"index": None}, lambda index: Action(Kind.SWITCH_TAB, argument=index), "Go to a tab; the first is 0."),
    "noop": _Form({"wait_ms": "1000"}, lambda wait_ms: Action(Kind.WAIT), "Do nothing."),  # noqa: ARG005
    "send_msg_to_user": _Form({"text": None}, lambda text: Action(Kind.EXIT, argument=text), "Answer, and end the task."),
    "report_infeasible": _Form(
        {"reason": ""},
        lambda reason: Action(Kind.EXIT, argument="N/A"),  # noqa: ARG005
        "End a task that cannot be done.",
    ),
}


class BrowserGymDialect:
    """Reads and writes the functions of BrowserGym's WebArena action set."""

    name = "browsergym"

    def parse(self, reply: str) -> Action:
        """Return the one action in a model's reply. Raises ActionError.

        >>> BrowserGymDialect().parse("```click('12')```")
        Action(kind=<Kind.CLICK: 'Click'>, element='12', argument=None)
        """
        calls = find_calls(answer_part(reply), sorted(_FORMS, key=len, reverse=True))
        only([f"{call.name}(...)" for call in calls])
        call = calls[0]
        form = _FORMS[call.name]
        names = tuple(form.parameters)
        if len(call.positional) > len(names) or any(name not in names for name in call.keywords):
            raise ActionError(f"cannot read {call.name}{call.positional}; expected {_signature(call.name, form)}")
        given = dict(zip(names, call.positional, strict=False)) | call.keywords
        values = {name: given.get(name, default) for name, default in form.parameters.items()}
        missing = [name for name, value in values.items() if value is None]
        if missing:
            raise ActionError(f"{call.name}() needs {missing[0]}; expected {_signature(call.name, form)}")
        return form.build(**values)

    def format(self, action: Action) -> str:
        """Write an action; raises ValueError for kinds that the dialect has not.

        >>> BrowserGymDialect().format(Action(Kind.TYPE, element="5", argument="red shoes"))
        'fill("5", "red shoes")'
        """
        element, argument = quoted(action.element or ""), quoted(action.argument or "")
        match action.kind:
            case Kind.CLICK | Kind.HOVER:
                return f"{action.kind.lower()}({element})"
            case Kind.RIGHT_CLICK:
                return f'click({element}, button="right")'
            case Kind.TYPE:
                return f"fill({element}, {argument})"
            case Kind.SELECT:
                return f"select_option({element}, {argument})"
            case Kind.PRESS:
                return f"press({element}, {argument})" if action.element else f"keyboard_press({argument})"
            case Kind.SCROLL_UP | Kind.SCROLL_DOWN:
                return f"scroll(0, {-480 if action.kind is Kind.SCROLL_UP else 480})"
            case Kind.SWITCH_TAB:
                return f"tab_focus({action.argument})"
            case Kind.GOTO:
                return f"goto({argument})"
            case Kind.EXIT:
                return f"send_msg_to_user({argument})"
            case Kind.SEARCH:
                raise ValueError("browsergym has no action that types and presses Enter; format a TYPE and a PRESS")
        names = {
            Kind.NEW_TAB: "new_tab", Kind.CLOSE_TAB: "tab_close", Kind.WAIT: "noop",
            Kind.GO_BACKWARD: "go_back", Kind.GO_FORWARD: "go_forward",
        }  # fmt: skip
        return f"{names[action.kind]}()"

    def grammar(self) -> str:
        """Return the list of actions, one a line, for a prompt."""
        return "\n".join(f"{_signature(name, form)}: {form.meaning}" for name, form in _FORMS.items())


def _signature(name: str, form: _Form) -> str:
    parameters = (f"{key}={value!r}" if value is not None else key for key, value in form.parameters.items())
    return f"{name}({', '.join(parameters)})"
