#!/usr/bin/env bash
# langchain-core 1.8.3: count_tokens_approximately, trim_messages and merge_message_runs.
#
# Guess: a screenshot counts as the fixed number of tokens of an image in each form that a message may have, and messages of two users
#        stay two messages.
# Seen:  a data URL counts as 85 tokens in the forms "image_url" and "image", and by its letters in the form "input_image" of OpenAI's
#        Responses API: with 200,000 letters 50,020 tokens instead of 90. `trim_messages` then returns no message at all.
#        `merge_message_runs` joins the messages of two named users to one without a name.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langchain-core==1.8.3
"$folder/venv/bin/python" - <<'PYTHON'
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.messages.utils import count_tokens_approximately, merge_message_runs, trim_messages

data = "A" * 200_000
url = "data:image/png;base64," + data
for form, image, tokens, kept in (
    ("image_url", {"type": "image_url", "image_url": {"url": url}}, 90, 3),
    ("image", {"type": "image", "base64": data, "mime_type": "image/png"}, 90, 3),
    ("input_image", {"type": "input_image", "image_url": url}, 50020, 0),
):
    page = HumanMessage([image] if form == "input_image" else [{"type": "text", "text": "page"}, image])
    seen = count_tokens_approximately([page])
    history = [HumanMessage("Buy a bag."), AIMessage("I open the page."), page]
    left = trim_messages(history, max_tokens=4000, token_counter=count_tokens_approximately, strategy="last")
    print(f"{form}: {seen} tokens; {len(left)} of 3 messages are left within 4000 tokens")
    assert (seen, len(left)) == (tokens, kept), f"the behaviour has changed; expected {(tokens, kept)}"

merged = merge_message_runs([HumanMessage("I agree.", name="ann"), HumanMessage("I do not.", name="bob")])
seen = [(message.name, message.content) for message in merged]
print(f"merged messages of ann and bob: {seen}")
assert seen == [(None, "I agree.\nI do not.")], "the behaviour has changed"
PYTHON
