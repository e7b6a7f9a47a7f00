#!/usr/bin/env bash
# llama-index-core 0.14.25: ChatMemoryBuffer, the memory of a history, with one task and many tool calls.
#
# Guess: when the history is too long, the oldest calls are left out, and as many of the last ones stay as fit.
# Seen:  the window may begin with messages of the user only. With one message of the user, the task, all calls and the task itself are
#        left out as soon as the history is too long: the result of the last call is left, without the call, although nine messages fit.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet llama-index-core==0.14.25
"$folder/venv/bin/python" - <<'PYTHON'
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer


def roles(calls, limit):
    """Return the roles in the window after a task and `calls` calls, with messages of ten words each."""
    memory = ChatMemoryBuffer.from_defaults(token_limit=limit, tokenizer_fn=str.split)
    memory.put(ChatMessage(role="user", content="word " * 10))
    for _ in range(calls):
        memory.put(ChatMessage(role="assistant", content="word " * 10))
        memory.put(ChatMessage(role="tool", content="word " * 10))
    return [message.role.value for message in memory.get()]


for calls, limit in ((4, 90), (5, 90), (9, 90)):
    print(f"{calls} calls, {10 + 20 * calls} words, at most {limit}: {roles(calls, limit)}")
assert roles(4, 90) == ["user"] + ["assistant", "tool"] * 4, "the behaviour has changed"
assert roles(5, 90) == roles(9, 90) == ["tool"], "the behaviour has changed"
PYTHON
