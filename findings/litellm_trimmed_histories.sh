#!/usr/bin/env bash
# litellm 1.110.2: trim_messages, which shortens a history to a number of tokens.
#
# Guess: the shortened history is one that a model accepts: a tool's result comes with its call, the last message of the user stays, and
#        what does not fit is left out or cut at an end.
# Seen:  the results of tools begin the history without the call that they answer. With a long system prompt it is all that is left, without
#        the user's message. The middle of a message is cut and joined with "..", also within a number. One message with a screenshot
#        that does not fit makes it return the history as it was, with an error in the log only.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet litellm==1.110.2
LITELLM_LOCAL_MODEL_COST_MAP=True "$folder/venv/bin/python" - 2>"$folder/errors" <<'PYTHON' || { tail -3 "$folder/errors"; exit 1; }
import json

from litellm.utils import trim_messages

system = {"role": "system", "content": "You are a shop agent. " + "Follow the rules. " * 20}
history = [system, {"role": "user", "content": "Buy a red bag below $50."}]
for number in range(6):
    function = {"name": "click", "arguments": json.dumps({"id": number})}
    history.append({"role": "assistant", "content": None, "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}]})
    history.append({"role": "tool", "tool_call_id": f"call_{number}", "content": f"page {number} " + "text " * 30})
history.append({"role": "user", "content": "Continue."})


def trimmed(messages, tokens):
    return trim_messages(list(messages), model="gpt-4o", max_tokens=tokens, trim_ratio=1.0)


for tokens, expected in ((200, ["system", "tool", "assistant", "tool", "user"]), (90, ["system"])):
    seen = [message["role"] for message in trimmed(history, tokens)]
    print(f"{tokens} tokens: {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"

order = [{"role": "user", "content": "Order " + " ".join(map(str, range(60)))}]
seen = trimmed(order, 24)[0]["content"]
print(f"a message of the numbers 0 to 59: {seen!r}")
assert seen == "Order 0 1 ..6 57 58 59", "the behaviour has changed"

image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 400}}
screenshot = [{"role": "user", "content": [{"type": "text", "text": "page " * 200}, image]}]
seen = trimmed(screenshot, 40) == screenshot
print(f"a message with a screenshot is returned as it was: {seen}")
assert seen, "the behaviour has changed"
PYTHON
