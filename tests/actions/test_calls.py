"""Arguments of calls in replies, and replies of tool calls."""

import ast
from inspect import Parameter, Signature

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.actions.test_dialect import TEXT
from webarena_gym.actions import DIALECTS, Action, Kind, reply_of
from webarena_gym.errors import ActionError


@pytest.mark.parametrize("name", DIALECTS)
@given(data=st.data())
def test_the_reply_of_a_tool_call_has_the_values_of_the_call(name, data):
    dialect = DIALECTS[name]
    form = data.draw(st.sampled_from([form for form in dialect.forms if form.parameters]))
    values = {each.name: data.draw(TEXT) for each in form.parameters if each.type in ("text", "element") and not each.choices}
    reply = reply_of(dialect, form.name, values)
    try:
        action = dialect.parse(reply)
    except ActionError:
        assert form.kind in (Kind.SWITCH_TAB, Kind.SCROLL_DOWN, Kind.WAIT), reply
        return
    assert action.kind in (form.kind, Kind.PRESS, Kind.EXIT)
    texts = [value for each, value in zip(form.parameters, values.values(), strict=False) if each.type == "text"]
    assert (
        form.name == "report_infeasible"
        or not texts
        or (action.argument or "").strip() in [text.strip() for text in (*texts, "Enter")]
    )


SIGNATURES = {
    "webrl": {"do": ("action", "argument", "element"), "exit": ("message",), "go_backward": ()},
    "browsergym": {
        "click": ("bid", "button"), "fill": ("bid", "value"), "select_option": ("bid", "options"), "send_msg_to_user": ("text",),
        "press": ("bid", "key_comb"), "goto": ("url",), "scroll": ("delta_x", "delta_y"), "go_back": (), "tab_focus": ("index",),
    },
}  # fmt: skip


VALUES = st.sampled_from(
    ["Click", "Type", "Hover", "left", "right", "Enter", "5", "$1,234.50", "a (b) c", "it's", 'say "hi"', ""]
)


ARGUMENTS = st.lists(
    st.tuples(st.sampled_from(["", "", "action", "argument", "element", "message", "bid", "value", "text", "button"]), VALUES),
    max_size=4,
)


def bound(name, names, arguments):
    """Bind arguments as Python does: the values by parameter, or None for a SyntaxError or TypeError."""
    written = ", ".join(f"{key}={value!r}" if key else repr(value) for key, value in arguments)
    try:
        call = ast.parse(f"{name}({written})", mode="eval").body
        signature = Signature([Parameter(each, Parameter.POSITIONAL_OR_KEYWORD, default=None) for each in names])
        return signature.bind(
            *[each.value for each in call.args], **{each.arg: each.value.value for each in call.keywords}
        ).arguments
    except (SyntaxError, TypeError):
        return None


@pytest.mark.parametrize("dialect", SIGNATURES)
@given(data=st.data(), arguments=ARGUMENTS)
def test_a_call_has_the_arguments_that_python_would_give_it_or_is_refused(dialect, data, arguments):
    name = data.draw(st.sampled_from([*SIGNATURES[dialect]]))
    written = f"{name}({', '.join(f'{key}={value!r}' if key else repr(value) for key, value in arguments)})"
    values = bound(name, SIGNATURES[dialect][name], arguments)
    try:
        action = DIALECTS[dialect].parse(written)
    except ActionError:
        return
    assert values is not None, (written, action)
    lost = {value for value in values.values() if value} - {
        action.element,
        action.argument,
        str(action.kind),
        "left",
        "right",
        "5",
    }
    assert not lost, (written, action)


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_values_of_tool_calls_that_are_no_text(dialect):
    end = next(form for form in dialect.forms if form.kind is Kind.EXIT)
    (answer,) = (each.name for each in end.parameters)
    for value, text in ((True, "true"), (False, "false"), (3.0, "3"), (3.5, "3.5"), (["a", "b"], '["a", "b"]'), (None, "")):
        if value is not None or end.parameters[0].default is not None:
            assert dialect.parse(reply_of(dialect, end.name, {answer: value})).argument == text
    field = next(form for form in dialect.forms if form.kind is Kind.SELECT)
    element, option = (next(each.name for each in field.parameters if each.type == kind) for kind in ("element", "text"))
    assert dialect.parse(reply_of(dialect, field.name, {element: 5, option: ["Red"]})) == Action(Kind.SELECT, "5", "Red")
