#!/usr/bin/env bash
# langchain-core 1.8.3: replies that were cut off, read by JsonOutputParser and PydanticOutputParser.
#
# Guess: `parse` reads complete JSON; only `parse_result(partial=True)`, made for streams, completes it.
# Seen:  `parse` completes it too: a reply cut off at the token limit is a value without an error, and a wrong one where the
#        cut is in a number or a text. Of two objects in a reply the first counts.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langchain-core==1.8.3
"$folder/venv/bin/python" - <<'PYTHON'
from langchain_core.exceptions import OutputParserException
from langchain_core.output_parsers import JsonOutputParser, PydanticOutputParser
from pydantic import BaseModel


class Offer(BaseModel):
    price: int
    shop: str = "any"


expected = {
    '{"price": 1299, "shop": "Rosewood"}': {"price": 1299, "shop": "Rosewood"},
    '{"price": 1299, "shop": "Rose': {"price": 1299, "shop": "Rose"},
    '{"price": 12': {"price": 12},
    '{"price": 1299.': {"price": 1299},
    '{"price": 12} {"price": 13}': {"price": 12},
    "price: 12": None,
}
for reply, value in expected.items():
    try:
        seen = JsonOutputParser().parse(reply)
        model = PydanticOutputParser(pydantic_object=Offer).parse(reply)
    except OutputParserException:
        seen, model = None, "OutputParserException"
    print(repr(reply), "->", seen, "->", repr(model))
    assert seen == value, f"the behaviour has changed; expected {value}"
PYTHON
