"""Actions as tools: what a model may call, and that each call is played as it was meant."""

import json
from itertools import cycle, product
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.actions.test_dialect import TEXT, refusal
from webarena_gym.actions import DIALECTS, Action, Kind, instructions, reply_of, tools
from webarena_gym.env import WebArenaLite
from webarena_gym.observation import Style
from webarena_gym.tasks import Task
from webarena_gym.tasks.template import answer

TASK = Task("t", ("shopping",), "__SHOPPING__", "Look around.", answer(exact_match="done"), world_seed=0)
EVERY = [each.naming_by(naming) for each in DIALECTS.values() for naming in ("id", "label")]
FORMS = [(dialect, form) for dialect in EVERY for form in dialect.forms]
FREE = {"webarena": st.text("abc XYZ019-.,'\"()é", min_size=1, max_size=20).map(str.strip).filter(bool)}


@pytest.mark.parametrize("dialect", EVERY, ids=str)
def test_the_schemas_are_valid_and_take_their_own_examples(dialect):
    listed = tools(dialect)
    assert [tool["function"]["name"] for tool in listed] == [form.name for form in dialect.forms]
    assert len({tool["function"]["name"] for tool in listed}) == len(listed)
    for tool in listed:
        schema = tool["function"]["parameters"]
        Draft202012Validator.check_schema(schema)
        example = {name: each["examples"][0] for name, each in schema["properties"].items() if "examples" in each}
        Draft202012Validator(schema).validate(example)
        assert not Draft202012Validator(schema).is_valid(example | {"wrong": "x"})
        json.dumps(tool)


def meant(dialect, form, arguments):
    """Return the action that a call of a tool means."""
    given = {name: str(value) for name, value in arguments.items()}
    named = next((given[each.name] for each in form.parameters if each.type == "element"), None)
    free = next((given.get(each.name, each.default) for each in form.parameters if each.type in ("text", "integer")), None)
    special = {
        ("webrl", "press_enter"): lambda: Action(Kind.PRESS, argument="Enter"),
        ("browsergym", "click"): lambda: Action(Kind.RIGHT_CLICK if given.get("button") == "right" else Kind.CLICK, named),
        ("browsergym", "clear"): lambda: Action(Kind.TYPE, named, ""),
        ("browsergym", "scroll"): lambda: Action(Kind.SCROLL_UP if float(given["delta_y"]) < 0 else Kind.SCROLL_DOWN),
        ("browsergym", "noop"): lambda: Action(Kind.WAIT, argument=given.get("wait_ms")),
        ("browsergym", "drag_and_drop"): lambda: Action(Kind.DRAG, given["from_bid"], given["to_bid"]),
        ("browsergym", "report_infeasible"): lambda: Action(Kind.EXIT, argument="N/A"),
        ("webarena", "scroll"): lambda: Action(Kind.SCROLL_UP if given["direction"] == "up" else Kind.SCROLL_DOWN),
        ("webarena", "type"): lambda: Action(Kind.TYPE if given.get("press_enter_after") == "0" else Kind.SEARCH, named, free),
    }
    return special.get((dialect.name, form.name), lambda: Action(form.kind, named, free))()


def arguments_of(dialect, form):
    """Return a strategy for the arguments of a call, as JSON values that fit the schema."""
    kinds = {"integer": st.integers(0, 99), "number": st.floats(1, 900) | st.integers(-900, -1)}
    required, optional = {}, {}
    for each in form.parameters:
        values = st.sampled_from(each.choices) if each.choices else kinds.get(each.type, FREE.get(dialect.name, TEXT))
        (required if each.default is None else optional)[each.name] = values
    return st.fixed_dictionaries(required, optional=optional)


@pytest.mark.parametrize(("dialect", "form"), FORMS, ids=lambda part: getattr(part, "name", str(part)))
@settings(max_examples=25)
@given(data=st.data())
def test_a_call_is_read_as_what_it_means(dialect, form, data):
    arguments = data.draw(arguments_of(dialect, form))
    schema = next(tool["function"] for tool in tools(dialect) if tool["function"]["name"] == form.name)["parameters"]
    Draft202012Validator(schema).validate(arguments)
    expected = meant(dialect, form, arguments)
    assert dialect.parse(reply_of(dialect, form.name, arguments)) == expected
    assert dialect.parse(reply_of(dialect, form.name, json.dumps(arguments))) == expected


VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9), st.lists, max_leaves=4)


@pytest.mark.parametrize("dialect", EVERY, ids=str)
@given(
    name=st.text(max_size=9) | st.sampled_from(["click", "type", "exit", "scroll", "stop"]),
    arguments=st.text(max_size=30) | st.dictionaries(st.text(max_size=9), VALUES, max_size=4) | st.lists(st.integers()),
)
def test_any_call_makes_a_reply(dialect, name, arguments):
    reply = reply_of(dialect, name, arguments)
    assert isinstance(reply, str)
    refusal(dialect, reply)  # an action or an ActionError


def test_invalid_tool_arguments_are_reported_when_parsed():
    for arguments, message in (
        ("{", "no action"), ("[1]", "no action"), ("[" * 100_000, "no action"), ('{"element": "1", "x": 2}', "no argument 'x'"),
    ):  # fmt: skip
        assert message in refusal(DIALECTS["webrl"], reply_of(DIALECTS["webrl"], "click", arguments))


@pytest.mark.parametrize(
    ("name", "elements", "observation"),
    [(*case, style) for case, style in zip(product(DIALECTS, ["id", "label"]), cycle(get_args(Style)), strict=False)],
)
def test_every_tool_can_be_played(opened, name, elements, observation):
    env = opened(WebArenaLite(tasks=[TASK], dialect=name, elements=elements, observation=observation, max_steps=99))
    assert env.action_schema == tools(env.dialect)
    for form in env.dialect.forms:
        _, info = env.reset(seed=0)
        assert info["messages"][0] == {"role": "system", "content": env.system_prompt}
        field = next(address for address, node in env.observation.nodes.items() if node.element.tag == "input")
        values = {
            each.name: field if each.type == "element" else env.dialect.example_of(each, form.kind) for each in form.parameters
        }
        given = {name: value for name, value in values.items() if value}
        info = env.step(reply_of(env.dialect, form.name, given))[4]
        assert "The actions are" not in info["action_error"], form.name


@pytest.mark.parametrize("observation", get_args(Style))
@pytest.mark.parametrize("dialect", EVERY, ids=str)
def test_the_instructions_hold_every_action_and_the_rule_for_answers(dialect, observation):
    text = instructions(dialect, observation)
    lines = text.splitlines()
    for form in dialect.forms:
        (line,) = [line for line in lines if line.startswith(f"{dialect.signature(form)}: ")]
        assert line.endswith(f" Example: {dialect.example(form)}")
    for words in ("N/A", "bare value", "semicolons", "JSON list", "Answer: ", "unit", "change nothing else"):
        assert words in text
    assert ("accessibility tree" in text) == (observation != "html")
    assert ("OBSERVATION HIGHLIGHT: 12, 34" in text) == (observation == "occam")
    assert ("Add to Cart [2]" in text) == (dialect.naming == "label")
