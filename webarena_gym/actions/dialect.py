"""`Dialect`: a text format of actions, with a parser, a formatter, and a description for prompts; `instructions` and `tools`."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from itertools import islice
from typing import Any, ClassVar, Literal, Self

from webarena_gym.actions.action import Action, Form, Kind, Parameter
from webarena_gym.actions.calls import ToolForm, spell_call
from webarena_gym.actions.replies import answer_part
from webarena_gym.errors import ActionError
from webarena_gym.texts import MAX_REPLY, cut

Naming = Literal["id", "label"]
"""The references to elements in actions: by number in the observation ("id"), or by visible label ("label")."""

RESULT_TAG = "information"
"""The default tag around the result of a tool in an observation, as in Search-R1 (Jin et al. 2025, section 3.2)."""

_MOST_HEADS = 20  # names in a reply that are compared with those of actions
MAX_REASON = 300  # characters of an error message before the list of forms
_NUMBER, _LABEL = "12", "Add to Cart"
_LABELS: Mapping[Kind, str] = {Kind.TYPE: "Search entire store", Kind.SEARCH: "Search entire store", Kind.SELECT: "Sort By"}
"""Examples of references to elements: by number, by label, and labels by kind for elements other than buttons."""


@dataclass(frozen=True)
class Dialect:
    """Base class of dialects.

    Args:
        naming: references to elements in examples; the parser accepts both.
        tools: tools that a reply may call instead of an action.
        result_tag: tag around the result of a tool in an observation.

    """

    naming: Naming = "id"
    tools: tuple[ToolForm, ...] = ()
    result_tag: str = RESULT_TAG
    name: ClassVar[str]
    forms: ClassVar[tuple[Form, ...]]

    def __str__(self) -> str:
        return f"{self.name} by {self.naming}"

    def read(self, text: str) -> Action:
        """Return the action in a text without thoughts. Raises ActionError unless it has exactly one, well-formed action."""
        raise NotImplementedError

    def format(self, action: Action) -> str:
        """Return an action as text, which `parse` turns into an equal action. Raises ValueError if the dialect cannot express it.

        >>> from webarena_gym.actions import DIALECTS, Kind
        >>> DIALECTS["browsergym"].format(Action(Kind.TYPE, element="5", argument="red shoes"))
        'fill("5", "red shoes")'
        """
        raise NotImplementedError

    def spell(self, name: str, values: Mapping[str, str]) -> str:
        """Return the text of a form with the values of its parameters, without validation: unknown names and values are written too."""
        raise NotImplementedError

    def signature(self, form: Form) -> str:
        """Return the text of a form with the names of its parameters instead of values."""
        raise NotImplementedError

    def addressing(self, observation: str) -> str:
        """Return the sentence of the instructions on references to elements."""
        return f"An element is named by {_BY_LABEL if self.naming == 'label' else _NAMES[observation, self.naming]}."

    def naming_by(self, naming: Naming) -> Self:
        """Return the dialect with another `naming`."""
        return replace(self, naming=naming)

    def with_tools(self, tools: Sequence[ToolForm], result_tag: str = RESULT_TAG) -> Self:
        """Return the dialect with other tools, and another tag around their results."""
        return replace(self, tools=tuple(tools), result_tag=result_tag)

    @property
    def tool_names(self) -> tuple[str, ...]:
        return tuple(tool.name for tool in self.tools)

    def parse(self, reply: str) -> Action:
        """Return the action in a model's reply.

        Raises ActionError unless the reply has exactly one, well-formed action, and at most MAX_REPLY characters. The error message ends with
        an example of the action that the reply names or misspells, or of each action.

        >>> from webarena_gym.actions import DIALECTS
        >>> DIALECTS["webrl"].parse("<think>Search.</think><answer>do(action='Click', element=12)</answer>")
        Action(kind=<Kind.CLICK: 'Click'>, element='12', argument=None, points=None, by=None)
        """
        text = ""
        try:
            if len(reply) > MAX_REPLY:
                raise ActionError(f"the reply has {len(reply):,} characters; expected at most {MAX_REPLY:,}")  # noqa: TRY301 - the handler adds the examples
            text = answer_part(reply)
            return self.read(text)
        except ActionError as error:
            raise ActionError(f"{cut(str(error), MAX_REASON)}{self._remedy(text)}") from None

    def heads(self, text: str) -> Iterator[str]:  # noqa: ARG002 - of subclasses
        """Yield the names before the arguments of everything in a text that looks like an action of the dialect, also of unknown actions."""
        yield from ()

    def _remedy(self, text: str) -> str:
        """Return the end of an error message: an example of the action that a text names or misspells, or of each action."""
        examples = {form.name: self.example(form) for form in self.forms} | {tool.name: tool.signature for tool in self.tools}
        names = dict.fromkeys(islice(self.heads(text), _MOST_HEADS))
        known = [examples[name] for name in names if name in examples]
        if len(known) == 1:
            return f". Expected the form {known[0]}"
        close = dict.fromkeys(examples[near] for name in names for near in get_close_matches(name[:200], examples, 3, 0.7))
        if close and not known:
            return f"; did you mean {' or '.join(islice(close, 3))}?"
        other = "" if known else self._other_dialect(text)
        hint = f"; this is an action of the dialect {other!r}, but the environment uses {self.name!r}" if other else ""
        listed = "\n".join(examples.values())
        return f"{hint}. The actions are, with an example each:\n{listed}"

    def _other_dialect(self, text: str) -> str:
        """Return the name of another dialect in which a text is an action; "" if there is none."""
        from webarena_gym.actions import DIALECTS  # noqa: PLC0415 - its dialects are subclasses

        for name, dialect in DIALECTS.items():
            with suppress(ActionError):
                if name != self.name and dialect.read(text):
                    return name
        return ""

    def grammar(self) -> str:
        """Return the actions with their descriptions, one per line, for a prompt."""
        lines = (f"{self.signature(form)}: {form.meaning}" for form in self.forms)
        return "\n".join((*lines, *(tool.line for tool in self.tools)))

    def example(self, form: Form) -> str:
        """Return the text of a form with an example of each required parameter.

        >>> from webarena_gym.actions import DIALECTS
        >>> DIALECTS["webarena"].example(DIALECTS["webarena"].forms[1])
        'type [12] [red shoes] [1]'
        """
        parameters = (parameter for parameter in form.parameters if parameter.default is None or parameter.example)
        return self.spell(form.name, {parameter.name: self.example_of(parameter, form.kind) for parameter in parameters})

    def example_of(self, parameter: Parameter, kind: Kind) -> str:
        """Return an example of the value of a parameter of this kind of action."""
        if parameter.type != "element":
            return parameter.example
        return _NUMBER if self.naming == "id" else _LABELS.get(kind, _LABEL)


_PAGES: Mapping[str, str] = {
    "html": "simplified HTML",
    "axtree": "an accessibility tree",
    "occam": "an outline of its accessibility tree",
    "pixels": "a picture of the browser's window",
    "marks": "a picture of the browser's window, on which elements are numbered, and a list of these",
    "text+pixels": "simplified HTML and a picture of the browser's window",
}
_NAMES: Mapping[tuple[str, str], str] = {
    ("html", "id"): 'the number that stands in its tag, as in <a id="12">',
    ("axtree", "id"): "the number in brackets before it, as in [12] link",
    ("occam", "id"): "the number in brackets after its role, as in link [12]",
    ("pixels", "id"): "its number among the boxes of the observation",
    ("marks", "id"): "the number that stands at its box, as in [12] link",
    ("text+pixels", "id"): 'the number that stands in its tag, as in <a id="12">',
}
_BY_LABEL = 'the label that it shows, such as Add to Cart; the second element of that label is "Add to Cart [2]"'
_EARLIER_PAGES: Mapping[str, str] = {
    "occam": """ Of a page that you leave, only the elements that you highlight are shown again, with what stands around them. To highlight \
elements, begin your reply with a line that names them, such as OBSERVATION HIGHLIGHT: 12, 34."""
}

ANSWERS = """\
Answers:
- Give the bare value that was asked for, and nothing else: a name, a number with its unit, a date, "Yes" or "No".
- Separate the items of a list by semicolons, or give a JSON list.
- Write values as the pages show them. Give one answer, without alternatives, remarks or second values.
- To explain an answer, do so first, and end with a line "Answer: " and the bare value; what stands before it is not read.
- "N/A" is the answer to a task that cannot be done on these sites. Give it only when you have made sure of that.
- Leave the answer empty if the task asks for none."""
"""The rule for answers in all dialects."""


@cache
def instructions(
    dialect: Dialect, observation: Literal["html", "axtree", "occam", "pixels", "marks", "text+pixels"] = "html"
) -> str:
    """Return the system prompt for a dialect and an observation format.

    >>> from webarena_gym.actions import DIALECTS, instructions
    >>> instructions(DIALECTS["webarena"]).splitlines()[3]
    'click [id]: Click an element. Example: click [12]'

    Args:
        dialect: the dialect, such as `DIALECTS["webrl"].naming_by("label")`.
        observation: format of the pages, as the keyword `observation` of the env.

    """
    end = next(form for form in dialect.forms if form.kind == "Exit")
    actions = "\n".join(f"{dialect.signature(form)}: {form.meaning} Example: {dialect.example(form)}" for form in dialect.forms)
    called = "".join(f"{tool.line}\n" for tool in dialect.tools)
    tool_section = f"""\

The tools. A reply may call one tool instead of an action, with lists and objects as JSON. The result stands above the page, between \
<{dialect.result_tag}> and </{dialect.result_tag}>; the page does not change:
{called}"""
    return f"""\
You use websites for a person who has given you a task. Each turn shows you the newest page as {_PAGES[observation]}; earlier pages \
may be left out.{_EARLIER_PAGES.get(observation, "")} Reply to each turn with exactly one action{" or call of a tool" if called else ""}. You may reason before it, inside <think> and </think>.

The actions:
{actions}
{tool_section if called else ""}
{dialect.addressing(observation)} A long page is shown in parts: scroll to see the others. A form takes effect when it is submitted.
Do what the task says and change nothing else. When it is done, end with {dialect.example(end)}, with your own answer in its place.

{ANSWERS}"""


TOOL_PROMPT = f"""\
You use websites for a person who has given you a task. Each action is a tool; it returns the page that follows.
Call one tool at a time. Earlier pages may be left out. A long page is shown in parts: scroll to see the others. A form takes effect when it is submitted.
Do what the task says and change nothing else. When it is done, call the tool that ends the task, with the answer.

{ANSWERS}"""
"""The system prompt for models that call the actions as tools; `instructions` is that for models that write them as text."""

_ELEMENTS = {
    "id": "the number of the element in the newest page",
    "label": "the label of the element as the newest page shows it",
}
_TYPES = {"element": "string", "text": "string", "integer": "integer", "number": "number"}


def tools(dialect: Dialect, answer_form: str = "") -> list[dict[str, Any]]:
    """Return the actions of a dialect as a new list of tool definitions, in the order of its forms, and then its tools.

    `answer_form` is the format of the answer, which is added to the descriptions of actions that end the task.

    >>> from webarena_gym.actions import DIALECTS
    >>> [tool["function"]["name"] for tool in tools(DIALECTS["webrl"])][:3]
    ['click', 'right_click', 'hover']
    """
    actions = [
        {
            "type": "function",
            "function": {
                "name": form.name,
                "description": f"{form.meaning} {answer_form}".rstrip() if form.kind is Kind.EXIT else form.meaning,
                "parameters": {
                    "type": "object",
                    "properties": {parameter.name: _property(parameter, dialect, form.kind) for parameter in form.parameters},
                    "required": [parameter.name for parameter in form.parameters if parameter.default is None],
                    "additionalProperties": False,
                },
            },
        }
        for form in dialect.forms
    ]
    return [*actions, *(tool.definition() for tool in dialect.tools)]


def plain_tools(definitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return tool definitions in the form that transformers derives from functions, sorted by name, as TRL lists the methods of an environment.

    A model that is trained with TRL is evaluated with these definitions. They have no examples and no minimum values.

    >>> from webarena_gym.actions import DIALECTS
    >>> plain_tools(tools(DIALECTS["webrl"]))[1]["function"]["parameters"]["properties"]
    {'message': {'type': 'string', 'description': 'the answer, as short as it can be; "N/A" if the task cannot be done; empty if none was asked for'}}
    """
    plain = []
    for definition in definitions:
        function = definition["function"]
        parameters = function["parameters"]
        properties = {
            name: {key: schema[key] for key in ("type", "enum", "description") if key in schema}
            for name, schema in parameters.get("properties", {}).items()
        }
        required = {"required": parameters["required"]} if parameters.get("required") else {}
        schema = {"type": "object", "properties": properties, **required}
        plain.append(
            {
                "type": "function",
                "function": {"name": function["name"], "description": function["description"], "parameters": schema},
            }
        )
    return sorted(plain, key=lambda tool: str(tool["function"]["name"]))


def call_of(dialect: Dialect, action: Action) -> tuple[str, dict[str, str | int]]:
    """Return the name and the arguments of the tool call of an action, the inverse of `reply_of`.

    >>> from webarena_gym.actions import DIALECTS, Action, Kind
    >>> call_of(DIALECTS["webrl"], Action(Kind.SEARCH, "12", "red shoes"))
    ('search', {'argument': 'red shoes', 'element': '12'})
    """
    form = next(form for form in dialect.forms if form.kind is action.kind)
    values = {item.name: (action.element if item.type == "element" else action.argument) or "" for item in form.parameters}
    integers = {item.name for item in form.parameters if item.type == "integer"}
    return form.name, {name: int(value) if name in integers else value for name, value in values.items()}


def reply_of(dialect: Dialect, name: str, arguments: Mapping[str, Any] | str = "") -> str:
    """Return the reply with the action of a tool call; `arguments` are an object or its JSON, depending on the interface.

    Invalid calls are converted too. The error is then reported for the reply, as for any malformed reply.

    >>> from webarena_gym.actions import DIALECTS
    >>> reply_of(DIALECTS["webrl"], "click", '{"element": "12"}')
    'do(action="Click", element="12")'
    """
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            return f"{name}: its arguments are no JSON"
    if not isinstance(arguments, Mapping):
        return f"{name}: its arguments are no object"
    if name in dialect.tool_names:
        return spell_call(name, arguments)
    form = next((form for form in dialect.forms if form.name == name), None)
    parameters = {parameter.name: parameter for parameter in form.parameters} if form else {}
    values: dict[str, str] = {}
    for key, value in arguments.items():
        if value is not None:
            values[str(key)] = _text_of(value, parameters.get(key), is_option=form is not None and form.kind is Kind.SELECT)
    return dialect.spell(name, values)


def _text_of(value: object, parameter: Parameter | None, *, is_option: bool) -> str:
    """Return a JSON value as text: a str unchanged, a list of one option as this option, other values as JSON."""
    if is_option and isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool) and parameter is not None and parameter.choices == ("0", "1"):
        return str(int(value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value)


def _property(parameter: Parameter, dialect: Dialect, kind: Kind) -> dict[str, Any]:
    meaning = _ELEMENTS[dialect.naming] if parameter.type == "element" else parameter.meaning
    schema: dict[str, Any] = {"type": _TYPES[parameter.type], "description": meaning}
    if parameter.choices:
        schema["enum"] = list(parameter.choices)
    if parameter.type == "integer":
        schema["minimum"] = 0
    if example := dialect.example_of(parameter, kind):
        schema["examples"] = [json.loads(example) if schema["type"] != "string" else example]
    return schema
