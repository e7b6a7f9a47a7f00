#!/usr/bin/env bash
# litellm 1.110.2: a JSON Schema with "$ref" as `response_format` for claude-opus-4-1, which gets it as the schema of a tool.
# The requests are seen with the documented `return_raw_request`; none is sent.
#
# Guess: the schema that Pydantic writes is passed on, or its references are resolved (as for claude-sonnet-4-5).
# Seen:  "#/$defs/Line" becomes "/$defs/Line", which points nowhere. In a tool of the caller the reference stays as it is.
#        Of a history, a tool call whose arguments were cut off is completed: '{"id": 5' is sent as {"id": 5}.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet litellm==1.110.2
"$folder/venv/bin/python" - <<'PYTHON'
import logging
import os

from litellm.types.utils import CallTypes
from litellm.utils import return_raw_request
from pydantic import BaseModel

logging.disable(logging.CRITICAL)
os.environ["ANTHROPIC_API_KEY"] = "none"


class Line(BaseModel):
    name: str


class Order(BaseModel):
    lines: list[Line]


def request(**arguments):
    arguments = {"model": "anthropic/claude-opus-4-1", **arguments}
    return return_raw_request(endpoint=CallTypes.completion, kwargs=arguments)["raw_request_body"]


def reference(body):
    return body["tools"][0]["input_schema"]["properties"]["lines"]["items"]["$ref"]


user = [{"role": "user", "content": "Order."}]
schema = Order.model_json_schema()
tools = [{"type": "function", "function": {"name": "order", "parameters": schema}}]
print("tool:", reference(request(messages=user, tools=tools)))
assert reference(request(messages=user, tools=tools)) == "#/$defs/Line"
response_format = {"type": "json_schema", "json_schema": {"name": "order", "schema": schema}}
print("response_format:", reference(request(messages=user, response_format=response_format)))
assert reference(request(messages=user, response_format=response_format)) == "/$defs/Line", "the behaviour has changed"

call = {"id": "1", "type": "function", "function": {"name": "click", "arguments": '{"id": 5'}}
history = [*user, {"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "tool", "tool_call_id": "1", "content": "error"}]
tool_use = request(messages=history)["messages"][1]["content"][0]
print("cut off arguments:", tool_use["input"])
assert tool_use["input"] == {"id": 5}, "the behaviour has changed"
PYTHON
