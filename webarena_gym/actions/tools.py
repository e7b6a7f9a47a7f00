"""Actions as functions, for models that call tools: their JSON schemas, and what a call says as a reply.

The schemas are in the form of OpenAI's `tools`: one function an action, its `parameters` a JSON Schema of draft 2020-12. Other
interfaces take the same name, description and schema under other keys.
"""

import json
from collections.abc import Mapping
from typing import Any

from webarena_gym.actions.action import Kind
from webarena_gym.actions.dialect import Dialect
from webarena_gym.actions.forms import Form, Parameter

_ELEMENTS = {
    "id": "the number of the element in the newest page",
    "label": "the label of the element as the newest page shows it",
}
_TYPES = {"element": "string", "text": "string", "integer": "integer", "number": "number"}


def tools(dialect: Dialect, answer_form: str = "") -> list[dict[str, Any]]:
    """Return the actions of a dialect as a list of tools, in the order of its forms; new objects with each call.

    `answer_form` says how an answer is to be given, and is told with the actions that end the task.

    >>> from webarena_gym.actions import DIALECTS
    >>> [tool["function"]["name"] for tool in tools(DIALECTS["webrl"])][:3]
    ['click', 'right_click', 'hover']
    """
    return [
        {
            "type": "function",
            "function": {
                "name": form.name,
                "description": f"{form.meaning} {answer_form}".rstrip() if form.kind is Kind.EXIT else form.meaning,
                "parameters": _schema(form, dialect),
            },
        }
        for form in dialect.forms
    ]


def reply_of(dialect: Dialect, name: str, arguments: Mapping[str, Any] | str = "") -> str:
    """Return the reply that says what a call of a tool says; `arguments` are an object or its JSON, as interfaces give one or the other.

    A call that fits no tool is written all the same: what is wrong with it is told when it is played, as with any reply.

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
    values = {str(key): _text(value) for key, value in arguments.items() if value is not None}
    return dialect.syntax.spell(name, values)


def _schema(form: Form, dialect: Dialect) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {parameter.name: _property(parameter, dialect, form.kind) for parameter in form.parameters},
        "required": [parameter.name for parameter in form.parameters if parameter.default is None],
        "additionalProperties": False,
    }


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


def _text(value: Any) -> str:
    """Return a JSON value as the text of a parameter."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value)
