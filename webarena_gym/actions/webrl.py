"""The dialect of WebRL, VisualAgentBench and WebAgent-R1: `do(action="Click", element="12")`, `exit(message="...")`."""

import re
from collections.abc import Iterator, Mapping

from webarena_gym.actions.action import ANSWER, ELEMENT, NEEDS_POINTS, OPTION, TAB_INDEX, TEXT, Action, Form, Kind, Parameter
from webarena_gym.actions.calls import format_call, read_call
from webarena_gym.actions.dialect import Dialect
from webarena_gym.actions.replies import expect_single, find_calls, quote_text
from webarena_gym.errors import ActionError

_HEAD = re.compile(r"do\(\s*+action\s*+=\s*+['\"]?([\w ]{1,40})|(?<![\w.])(?!do\()([a-z]\w*+)(?=\()|\A\W*+(\w++)\W*+\Z")
_EXIT_MEANING = 'End the task. The message is the answer; "N/A" if the task cannot be done, empty if none was asked for.'
_TITLES: dict[Kind, str] = {
    kind: "Press Enter" if kind is Kind.PRESS else str(kind)
    for kind in Kind
    if kind
    not in NEEDS_POINTS | {Kind.GOTO, Kind.NEW_TAB, Kind.CLOSE_TAB, Kind.GO_BACKWARD, Kind.GO_FORWARD, Kind.EXIT, Kind.CALL}
}
_KINDS: dict[str, Kind] = {title.lower(): kind for kind, title in _TITLES.items()}
_KINDS |= {"go backward": Kind.GO_BACKWARD, "go forward": Kind.GO_FORWARD}
_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "do": ("action", "argument", "element"), "exit": ("message",), "go_backward": (), "go_forward": (),
}  # fmt: skip


def _do(kind: Kind, meaning: str, *parameters: Parameter) -> Form:
    return Form(kind, _TITLES[kind].lower().replace(" ", "_"), parameters, meaning)


class WebRL(Dialect):
    """A lenient parser: it accepts fences, answer tags, unquoted ids, single quotes, blanks and newlines."""

    name = "webrl"
    forms = (
        _do(Kind.CLICK, "Click an element.", ELEMENT),
        _do(Kind.RIGHT_CLICK, "Click with the right mouse button.", ELEMENT),
        _do(Kind.HOVER, "Move the mouse over an element.", ELEMENT),
        _do(Kind.TYPE, "Replace the content of a field with the text; does not press Enter.", TEXT, ELEMENT),
        _do(Kind.SEARCH, "Replace the content of a field with the text and press Enter.", TEXT, ELEMENT),
        _do(Kind.SELECT, "Choose the option with that text from a drop-down list.", OPTION, ELEMENT),
        _do(Kind.SCROLL_UP, "Show the part of the page above."),
        _do(Kind.SCROLL_DOWN, "Show the part of the page below."),
        _do(Kind.PRESS, "Press Enter in the focused field."),
        _do(Kind.SWITCH_TAB, "Go to the tab with that index; the first is 0.", TAB_INDEX),
        _do(Kind.WAIT, "Wait until the page changes, some seconds at most."),
        Form(Kind.GO_BACKWARD, "go_backward", (), "Return to the previous page."),
        Form(Kind.GO_FORWARD, "go_forward", (), "Undo go_backward()."),
        Form(Kind.EXIT, "exit", (ANSWER,), _EXIT_MEANING),
    )

    def read(self, text: str) -> Action:
        calls = find_calls(text, _ARGUMENTS, self.tool_names if self.tools else ())
        expect_single([f"{call.name}({call.keywords.get('action', '')})" for call in calls])
        (call,) = calls
        if self.tools and (action := read_call(call, self.tools)):
            return action
        allowed = _ARGUMENTS[call.name]
        expected = ", ".join(allowed) or "none"
        if len(call.positional) > min(1, len(allowed)):
            raise ActionError(f"{call.name}() takes named arguments ({expected}), got {call.positional}")
        arguments = call.bind(allowed)
        if call.name == "do":
            return _read_do(arguments)
        if call.name == "exit":
            return Action(Kind.EXIT, argument=arguments.get("message", ""))
        return Action(Kind.GO_BACKWARD if call.name == "go_backward" else Kind.GO_FORWARD)

    def heads(self, text: str) -> Iterator[str]:
        titles = {form.name for form in self.forms if form.name not in _ARGUMENTS}
        for title, called, word in _HEAD.findall(text):
            if title:
                yield "_".join(title.lower().split())
            elif (name := called or word) not in titles:  # click("6") is no action of this dialect
                yield name

    def format(self, action: Action) -> str:
        if action.kind is Kind.CALL:
            return format_call(action)
        form = _FORMS.get(action.kind)
        is_other_key = action.kind is Kind.PRESS and (action.element, action.argument) != (None, "Enter")
        if (
            form is None
            or action.points is not None
            or is_other_key
            or (action.kind is Kind.WAIT and action.argument is not None)
        ):
            raise ValueError(f"the webrl dialect cannot express {action}")
        values = {
            parameter.name: action.element if parameter.name == "element" else action.argument for parameter in form.parameters
        }
        return self.spell(form.name, {name: value or "" for name, value in values.items()})

    def spell(self, name: str, values: Mapping[str, str]) -> str:
        arguments = [f"{key}={quote_text(value)}" for key, value in values.items()]
        if name != "do" and name in _ARGUMENTS:
            return f"{name}({', '.join(arguments)})"
        title = quote_text(name.replace("_", " ").title())
        return f"do({', '.join([f'action={title}', *arguments])})"

    def signature(self, form: Form) -> str:
        return self.spell(form.name, {parameter.name: f"<{parameter.placeholder}>" for parameter in form.parameters})


_FORMS = {form.kind: form for form in WebRL.forms}


def _read_do(arguments: dict[str, str]) -> Action:
    title = " ".join(arguments.pop("action", "").split())
    name = title.lower()
    kind = _KINDS.get(name)
    if kind is None:
        raise ActionError(f"there is no action {title!r}")
    fields = [parameter.name for parameter in _FORMS[kind].parameters]
    for field in fields:
        if field not in arguments:
            raise ActionError(f"{name.title()} needs {field}=; it is missing")
    for field, value in arguments.items():
        if field not in fields and value.strip():
            raise ActionError(f"{name.title()} takes no {field}; got {value!r}")
    if kind is Kind.PRESS:
        return Action(kind, argument="Enter")
    arguments = {field: arguments[field] for field in fields}
    return Action(kind, arguments.get("element"), arguments.get("argument"))
