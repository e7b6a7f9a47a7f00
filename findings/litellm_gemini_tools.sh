#!/usr/bin/env bash
# litellm 1.110.2: tools and tool calls in the format of Gemini, seen with the documented `return_raw_request` (no request is sent).
#
# Guess: what Gemini's schema cannot express is an error, or stays; a call with empty arguments stays a call without arguments.
# Seen:  an enum without "type" becomes any object, an enum of integers any integer, "const" any string, and the values of a map are
#        lost. Empty arguments ("", which servers send for tools without parameters) become {"type": "object"} in the history.
#        Anthropic's format keeps the schema, and has {} for the call.
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

logging.disable(logging.CRITICAL)
os.environ.update(GEMINI_API_KEY="none", ANTHROPIC_API_KEY="none")
properties = {
    "colour": {"enum": ["red", "blue"]},
    "count": {"type": "integer", "enum": [1, 2]},
    "unit": {"type": "string", "const": "kg"},
    "prices": {"type": "object", "additionalProperties": {"type": "number"}},
}
tools = [{"type": "function", "function": {"name": "buy", "parameters": {"type": "object", "properties": properties}}}]
call = {"id": "1", "type": "function", "function": {"name": "buy", "arguments": ""}}
messages = [
    {"role": "user", "content": "Buy it."},
    {"role": "assistant", "content": None, "tool_calls": [call]},
    {"role": "tool", "tool_call_id": "1", "content": "bought"},
]


def request(model):
    arguments = {"model": model, "messages": messages, "tools": tools}
    return return_raw_request(endpoint=CallTypes.completion, kwargs=arguments)["raw_request_body"]


body = request("gemini/gemini-2.5-flash")
schema = body["tools"][0]["function_declarations"][0]["parameters"]["properties"]
for name, value in schema.items():
    print(f"{name}: {properties[name]} -> {value}")
expected = {name: {"type": kind} for name, kind in zip(properties, ("object", "integer", "string", "object"), strict=True)}
assert schema == expected, "the behaviour has changed"
arguments = body["contents"][1]["parts"][0]["function_call"]["args"]
print("empty arguments ->", arguments)
assert arguments == {"type": "object"}, "the behaviour has changed"
body = request("anthropic/claude-sonnet-4-5")
assert body["tools"][0]["input_schema"]["properties"] == properties
assert body["messages"][1]["content"][0]["input"] == {}
PYTHON
