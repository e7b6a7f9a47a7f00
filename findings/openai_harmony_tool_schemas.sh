#!/usr/bin/env bash
# openai-harmony 0.0.8, js-tiktoken 1.0.21 (npm, for the vocabulary): declarations of tools in the prompt of gpt-oss.
#
# Guess: the TypeScript that a model reads has the types of the JSON Schema, or rendering is an error.
# Seen:  anyOf, so every `Optional` of pydantic, $ref, so every nested model, constants and enums without a type are `any`; an enum of
#        integers is `number`, a map is `{}`. Quotation marks in enums are not escaped, a list of an enum is `"a" | "b"[]`, and the
#        second line of a parameter's description is no comment.
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
from typing import Literal, Optional

from openai_harmony import Conversation, DeveloperContent, HarmonyEncodingName, Message, Role, ToolDescription, load_harmony_encoding
from pydantic import BaseModel

encoding = load_harmony_encoding(HarmonyEncodingName.HARMONY_GPT_OSS)


def declared(schema):
    """Return the declaration of a tool's parameters, without white space at the ends of lines."""
    content = DeveloperContent.new().with_function_tools([ToolDescription.new("buy", "Buy.", parameters=schema)])
    conversation = Conversation.from_messages([Message.from_role_and_content(Role.DEVELOPER, content)])
    text = encoding.decode(encoding.render_conversation(conversation))
    return [line.strip() for line in text.split("(_: {")[1].split("}) => any")[0].strip().splitlines()]


class Address(BaseModel):
    city: str


class Order(BaseModel):
    item: str
    quantity: Optional[int] = None
    address: Address
    size: Literal[38, 40]


seen = declared(Order.model_json_schema())
print(f"from a pydantic model: {seen}")
names = [line for line in seen if not line.startswith("//")]
expected = ["item: string,", "quantity?: any, // default: null", "address: any,", "size: number,"]
assert names == expected, f"the behaviour has changed; expected {expected}"

CASES = (
    ({"type": "string", "enum": ["red", "blue"]}, ['"red" | "blue",']),
    ({"type": "string", "enum": ['21" screen']}, ['"21" screen",']),
    ({"enum": ["red", "blue"]}, ["any,"]),
    ({"const": "red"}, ["any,"]),
    ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, ["any,"]),
    ({"type": ["string", "null"]}, ["string | null,"]),
    ({"type": "array", "items": {"type": "string", "enum": ["red", "blue"]}}, ['"red" | "blue"[],']),
    ({"type": "object", "additionalProperties": {"type": "integer"}}, ["{", "},"]),
)
for schema, expected in CASES:
    seen = declared({"type": "object", "properties": {"x": schema}, "required": ["x"]})
    print(f"{schema}: {' '.join(seen)}")
    assert seen == ["x: " + expected[0], *expected[1:]], f"the behaviour has changed; expected {expected}"
seen = declared({"type": "object", "properties": {"x": {"type": "string", "description": "The color.\nNot the size."}}})
print(f"a description of two lines: {seen}")
assert seen == ["// The color.", "Not the size.", "x?: string,"], "the behaviour has changed"
PYTHON
