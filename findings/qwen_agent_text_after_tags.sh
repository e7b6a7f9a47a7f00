#!/usr/bin/env bash
# qwen-agent 0.0.34: the text of a reply around its tool calls.
#
# Guess: text of a reply that is no call stays a part of the message, and a call that cannot be read is an error or text.
# Seen:  all text after a tag `<tool_call>` is dropped unless it is a call: an answer that mentions the tag ends before it, and what is
#        written between and after calls is lost. Of a call with "parameters" instead of "arguments", or in a list, nothing is left.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet qwen-agent==0.0.34 numpy soundfile python-dateutil tqdm
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
from qwen_agent.llm.fncall_prompts.nous_fncall_prompt import NousFnCallPrompt
from qwen_agent.llm.schema import ContentItem, Message


def read(reply):
    messages = NousFnCallPrompt().postprocess_fncall_messages([Message("assistant", [ContentItem(text=reply)])])
    calls = [(message.function_call.name, message.function_call.arguments) for message in messages if message.function_call]
    return "".join(part.text for message in messages for part in message.content), calls


CALL = '<tool_call>\n{"name": "click", "arguments": {"id": 5}}\n</tool_call>'
READ = ("click", '{"id": 5}')
for reply, expected in {
    f"The cheapest one is the lamp.\n{CALL}": ("The cheapest one is the lamp.\n", [READ]),
    f"{CALL}\nThe cheapest one is the lamp.": ("", [READ]),
    f"First the lamp.\n{CALL}\nThen the shelf.\n{CALL}": ("First the lamp.\n", [READ, READ]),
    "No <tool_call> is needed: the price is $5.": ("No ", []),
    CALL.replace("arguments", "parameters"): ("", []),
    CALL.replace("{", "[{", 1).replace("}}", "}}]"): ("", []),
}.items():
    result = read(reply)
    print(repr(reply), "is read as", result)
    assert result == expected, (reply, result)
PYTHON
