#!/usr/bin/env bash
# langchain-core 1.8.3: OpenAI chat messages of a model whose tool call has invalid or empty arguments.
#
# Guess: convert_to_messages puts such a call into `invalid_tool_calls`, the field for it, and convert_to_openai_messages
#        writes it back, so that a log of an episode can be read and sent again.
# Seen:  arguments that are no JSON, "" (a call without arguments) included, are a JSONDecodeError, and an array is a
#        ValidationError. An AIMessage that has an invalid call loses it: its OpenAI message is an empty text.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langchain-core==1.8.3
"$folder/venv/bin/python" - <<'PYTHON'
from langchain_core.messages import AIMessage, convert_to_messages, convert_to_openai_messages


def outcome(arguments):
    call = {"id": "1", "type": "function", "function": {"name": "click", "arguments": arguments}}
    try:
        (message,) = convert_to_messages([{"role": "assistant", "content": "", "tool_calls": [call]}])
    except ValueError as error:
        return type(error).__name__
    return [call["args"] for call in message.tool_calls]


expected = {'{"id": 7}': [{"id": 7}], '{"id": 7': "JSONDecodeError", "": "JSONDecodeError", "[7]": "ValidationError"}
for arguments, result in expected.items():
    seen = outcome(arguments)
    print("arguments", repr(arguments), "->", seen)
    assert seen == result, f"the behaviour has changed; expected {result}"

message = AIMessage("", invalid_tool_calls=[{"name": "click", "args": '{"id": 7', "id": "1", "error": "not JSON"}])
seen = convert_to_openai_messages(message)
print("a message with an invalid call ->", seen)
assert seen == {"role": "assistant", "content": ""}, "the behaviour has changed"
PYTHON
