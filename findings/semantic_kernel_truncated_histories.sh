#!/usr/bin/env bash
# semantic-kernel 1.45.0: ChatHistoryTruncationReducer on the history of an agent with tool calls.
#
# Guess: a history of eleven messages is reduced to about `target_count` messages, the last ones.
# Seen:  with each target from 3 to 8 it has ten messages: of all messages only the user's task is removed, and the four calls with their
#        results stay. With the target 2 only the last answer and the system message are left.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet semantic-kernel==1.45.0
"$folder/venv/bin/python" - <<'PYTHON'
import asyncio

from semantic_kernel.contents import (
    AuthorRole,
    ChatHistoryTruncationReducer,
    ChatMessageContent,
    FunctionCallContent,
    FunctionResultContent,
)


def history(calls):
    """Return an agent's history: system message, task, tool calls with their results, and the answer."""
    yield ChatMessageContent(role=AuthorRole.SYSTEM, content="You are a shopper.")
    yield ChatMessageContent(role=AuthorRole.USER, content="Buy a mug.")
    for number in range(calls):
        call = FunctionCallContent(id=f"call {number}", name="click", arguments={"id": number})
        result = FunctionResultContent(id=f"call {number}", name="click", result="done")
        yield ChatMessageContent(role=AuthorRole.ASSISTANT, items=[call])
        yield ChatMessageContent(role=AuthorRole.TOOL, items=[result])
    yield ChatMessageContent(role=AuthorRole.ASSISTANT, content="I bought it.")


PAIRS = ["assistant", "tool"] * 4
for target, expected in ((2, ["system", "assistant"]), *((count, ["system", *PAIRS, "assistant"]) for count in range(3, 9))):
    reducer = ChatHistoryTruncationReducer(target_count=target)
    for message in history(calls=4):
        reducer.add_message(message)
    before = len(reducer.messages)
    asyncio.run(reducer.reduce())
    seen = [message.role.value for message in reducer.messages]
    print(f"target {target}: {len(seen)} of {before} messages, {seen}")
    assert before == 11, "the history has changed"
    assert seen == expected, f"the behaviour has changed; expected {expected}"

reducer = ChatHistoryTruncationReducer(target_count=4)
for number in range(5):
    reducer.add_user_message(f"question {number}")
    reducer.add_assistant_message(f"answer {number}")
asyncio.run(reducer.reduce())
texts = [message.content for message in reducer.messages]
print(f"target 4, without calls: {texts}")
assert texts == ["question 3", "answer 3", "question 4", "answer 4"], "the behaviour without calls has changed"
PYTHON
