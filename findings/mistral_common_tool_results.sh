#!/usr/bin/env bash
# mistral-common 1.9.1: the text of a tool's result in the prompt.
#
# Guess: a tool message contains a text, and the model reads that text, as it does that of a user.
# Seen:  the tokenizer of version 3 in the package parses the text as JSON and writes it again. "1.50" becomes 1.5, "1e3" 1000.0,
#        and "1E400" Infinity; of two equal keys the last one is left, and white space and quotation marks are lost. "007" and
#        "$1.50", which are no JSON, stay. The same text from a user is unchanged.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet mistral-common==1.9.1
"$folder/venv/bin/python" - <<'PYTHON'
from pathlib import Path

import mistral_common
from mistral_common.protocol.instruct.messages import AssistantMessage, ToolMessage, UserMessage
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.tool_calls import Function, FunctionCall, Tool, ToolCall
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

tokenizer = MistralTokenizer.from_file(str(Path(mistral_common.__file__).parent / "data" / "tekken_240911.json"))
tool = Tool(function=Function(name="price", description="price of a product", parameters={"type": "object", "properties": {}}))
call = ToolCall(id="abcdefghi", function=FunctionCall(name="price", arguments="{}"))


def prompt(text):
    messages = [
        UserMessage(content=text),
        AssistantMessage(content=None, tool_calls=[call]),
        ToolMessage(content=text, tool_call_id="abcdefghi", name="price"),
    ]
    return tokenizer.encode_chat_completion(ChatCompletionRequest(messages=messages, tools=[tool])).text


for text, expected in (
    ("1.50", "1.5"),
    ("1e3", "1000.0"),
    ("1E400", "Infinity"),
    ("NaN", "NaN"),
    ("-0", "0"),
    ('{"total": 1.50,  "total": 2.10}', '{"total": 2.1}'),
    ('"sold out"', '"sold out"'),
    ("sold out", '"sold out"'),
    ("007", '"007"'),
    ("$1.50", '"$1.50"'),
):
    seen = prompt(text)
    print(f"{text!r}: {seen.split('[TOOL_RESULTS]')[1]}")
    assert f"[INST]{text}[/INST]" in seen
    assert f'[TOOL_RESULTS]{{"content": {expected}, "call_id"' in seen, f"the behaviour has changed; expected {expected}"
PYTHON
