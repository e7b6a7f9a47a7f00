"""Calls of tools, which a reply may contain instead of an action: their description, and their form in a reply and in an `Action`.

All dialects use the form of a Python call, `lookup(query="mill town", k=3)`, whose values are texts, numbers, True, False, None, and
lists and objects in JSON. Calls are parsed and never executed here; `webarena_gym.toolbox` runs the functions.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from webarena_gym.actions.action import Action, Kind
from webarena_gym.actions.replies import Call, quote_text
from webarena_gym.errors import ActionError


class ToolForm(NamedTuple):
    """Description of a tool.

    Attributes:
        name: name of the function.
        signature: name and parameters with types and defaults, for prompts.
        meaning: description of the function.
        schema: JSON Schema of the arguments, as JSON. The order of its properties is that of the parameters.

    """

    name: str
    signature: str
    meaning: str
    schema: str

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters, in order."""
        return tuple(json.loads(self.schema)["properties"])

    @property
    def line(self) -> str:
        """The signature and the descriptions of the function and its parameters, for prompts."""
        fields = json.loads(self.schema)["properties"]
        described = "; ".join(f"{key}: {field['description']}" for key, field in fields.items() if "description" in field)
        return f"{self.signature}: {self.meaning}{f' ({described})' if described else ''}"

    def definition(self) -> dict[str, Any]:
        """Return the tool in the format of OpenAI's `tools`."""
        function = {"name": self.name, "description": self.meaning, "parameters": json.loads(self.schema)}
        return {"type": "function", "function": function}


def call_action(name: str, arguments: Mapping[str, Any]) -> Action:
    """Return the action that calls a tool with arguments, which must be JSON values. Raises ActionError if they are nested too deep.

    >>> call_action("lookup", {"query": "mill town"}).argument
    '{"name": "lookup", "arguments": {"query": "mill town"}}'
    """
    try:
        return Action(Kind.CALL, argument=json.dumps({"name": name, "arguments": dict(arguments)}, ensure_ascii=False))
    except RecursionError:
        raise ActionError(f"the arguments of {name}() are nested too deep") from None


def called_tool(action: Action) -> tuple[str, dict[str, Any]]:
    """Return the name and the arguments of the tool that an action of the kind CALL calls. Raises ActionError for too deep nesting."""
    try:
        call = json.loads(action.argument or "")
    except RecursionError:
        raise ActionError("the arguments of the call are nested too deep") from None
    return call["name"], call["arguments"]


def read_call(call: Call, tools: Sequence[ToolForm]) -> Action | None:
    """Return the action of a call of one of the tools, None for other calls. The values of the call are JSON. Raises ActionError."""
    tool = next((tool for tool in tools if tool.name == call.name), None)
    if tool is None:
        return None
    return call_action(tool.name, {name: json.loads(value) for name, value in call.bind(tool.parameters).items()})


def spell_call(name: str, arguments: Mapping[str, Any]) -> str:
    r"""Return a call as the text of a reply.

    >>> spell_call("lookup", {"query": 'a "mill" town', "k": 3, "kinds": ["town"]})
    'lookup(query="a \\"mill\\" town", k=3, kinds=["town"])'
    """
    values = {key: quote_text(value) if isinstance(value, str) else json.dumps(value) for key, value in arguments.items()}
    return f"{name}({', '.join(f'{key}={value}' for key, value in values.items())})"


def format_call(action: Action) -> str:
    """Return the text of an action of the kind CALL."""
    return spell_call(*called_tool(action))
