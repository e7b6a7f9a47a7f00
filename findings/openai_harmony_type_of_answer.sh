#!/usr/bin/env bash
# openai-harmony 0.0.8, js-tiktoken 1.0.21 (npm, for the vocabulary): a final answer that declares its type.
#
# Guess: parsing the tokens of a message returns the message that was rendered.
# Seen:  the type of a message without a recipient becomes its recipient: an answer in JSON is a call of a tool named "json" or
#        "<|constrain|>json", and `content_type` is missing. A call keeps both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet openai-harmony==0.0.8 pydantic==2.14.4
cd "$folder"
npm install --silent --no-audit --no-fund js-tiktoken@1.0.21
node - <<'JAVASCRIPT'
const { writeFileSync } = require("node:fs");
const { bpe_ranks: ranks } = require("js-tiktoken/ranks/o200k_base");

const lines = [];
for (const block of ranks.split("\n").filter(Boolean)) {
  const [, first, ...tokens] = block.split(" ");
  tokens.forEach((token, index) => (lines[Number(first) + index] = `${token} ${Number(first) + index}\n`));
}
writeFileSync("o200k_base.tiktoken", lines.join(""));
JAVASCRIPT
TIKTOKEN_ENCODINGS_BASE=$folder "$folder/venv/bin/python" - <<'PYTHON'
from openai_harmony import HarmonyEncodingName, Message, Role, load_harmony_encoding

encoding = load_harmony_encoding(HarmonyEncodingName.HARMONY_GPT_OSS)
START = encoding.encode("<|start|>assistant", allowed_special="all")


def round_trip(channel, recipient, content_type):
    message = Message.from_role_and_content(Role.ASSISTANT, '{"price": 5}').with_channel(channel)
    if recipient:
        message = message.with_recipient(recipient)
    if content_type:
        message = message.with_content_type(content_type)
    tokens = encoding.render(message)
    assert tokens[: len(START)] == START
    [parsed] = encoding.parse_messages_from_completion_tokens(tokens[len(START) :], Role.ASSISTANT)
    assert parsed.content == message.content
    assert parsed.channel == channel
    return parsed.recipient, parsed.content_type


CASES = (
    ("commentary", "functions.buy", "json", ("functions.buy", "json")),
    ("commentary", "functions.buy", "<|constrain|>json", ("functions.buy", "<|constrain|>json")),
    ("final", None, None, (None, None)),
    ("final", None, "json", ("json", None)),
    ("final", None, "<|constrain|>json", ("<|constrain|>json", None)),
)
for channel, recipient, content_type, expected in CASES:
    seen = round_trip(channel, recipient, content_type)
    print(f"channel {channel}, recipient {recipient}, type {content_type}: parsed with recipient {seen[0]}, type {seen[1]}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
