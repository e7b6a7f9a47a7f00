#!/usr/bin/env bash
# camel-ai 0.2.90: a tool call that is written in the ShareGPT format and read again.
#
# Guess: `from_sharegpt` of what `to_sharegpt` wrote is the call with its function and arguments, or an error.
# Seen:  the arguments are written as a Python dict, and are read as JSON after each apostrophe became a quotation mark. A call with True, None,
#        an apostrophe or a quotation mark, and such a result, is read as a plain message with the call as its text, with a printed
#        warning only. Of two calls in one message neither is read.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet camel-ai==0.2.90
"$folder/venv/bin/python" - <<'PYTHON'
from camel.messages import BaseMessage, FunctionCallingMessage
from camel.messages.conversion import ShareGPTMessage
from camel.types import RoleType


def written_and_read(**fields):
    call = FunctionCallingMessage("agent", RoleType.ASSISTANT, None, "I search.", func_name="search", **fields)
    return BaseMessage.from_sharegpt(call.to_sharegpt())


for arguments, kept in (
    ({"query": "mug", "page": 2}, True),
    ({"in_stock": True}, False),
    ({"coupon": None}, False),
    ({"query": "men's shoes"}, False),
    ({"query": 'the "best" mug'}, False),
):
    message = written_and_read(args=arguments)
    print(f"call with {arguments}: {type(message).__name__}, content {message.content!r}")
    assert isinstance(message, FunctionCallingMessage) == kept, "the behaviour has changed"
    assert not kept or message.args == arguments
for result, kept in (("2 mugs", True), ({"price": 5.0}, True), ({"found": True}, False), ("men's shoes", False)):
    message = written_and_read(result=result)
    print(f"result {result!r}: {type(message).__name__}, content {message.content!r}")
    assert isinstance(message, FunctionCallingMessage) == kept, "the behaviour has changed"
    assert not kept or message.result == result
calls = '<tool_call>{"name": "click", "arguments": {"id": 1}}</tool_call><tool_call>{"name": "click", "arguments": {"id": 2}}</tool_call>'
message = BaseMessage.from_sharegpt(ShareGPTMessage(from_="gpt", value=calls))
print(f"two calls: {type(message).__name__}")
assert type(message) is BaseMessage, "the behaviour has changed"
PYTHON
