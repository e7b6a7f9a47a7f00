#!/usr/bin/env bash
# lm-format-enforcer 0.11.3: texts that its parser for JSON Schema accepts.
#
# Guess: they are JSON, and valid for the schema.
# Seen:  an enum's value is not escaped. `the "best"` ends at its first quotation mark, as the value "the ", which is not in the
#        enum, and a line break is written as it is, which is no JSON. An integer may be 1e-5. The limits of a type that is
#        a list, such as ["string", "null"], are ignored.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet lm-format-enforcer==0.11.3
"$folder/venv/bin/python" - <<'PYTHON'
from lmformatenforcer import CharacterLevelParserConfig, JsonSchemaParser


def accepts(schema, text):
    parser = JsonSchemaParser(schema, config=CharacterLevelParserConfig())
    for character in text:
        if character not in parser.get_allowed_characters():
            return False
        parser = parser.add_character(character)
    return parser.can_end()


ranks = {"enum": ['the "best"', "last"]}
expected = [
    (ranks, '"last"', True),
    (ranks, '"the \\"best\\""', False),
    (ranks, '"the "', True),
    ({"enum": ["one\ntwo"]}, '"one\\ntwo"', False),
    ({"enum": ["one\ntwo"]}, '"one\ntwo"', True),
    ({"type": "integer"}, "1.5", False),
    ({"type": "integer"}, "1e-5", True),
    ({"type": "string", "maxLength": 1}, '"ab"', False),
    ({"type": ["string", "null"], "maxLength": 1}, '"ab"', True),
]
for schema, text, result in expected:
    seen = accepts(schema, text)
    print(f"{schema}: {text!r} is {'accepted' if seen else 'refused'}")
    assert seen == result, f"the behaviour has changed; expected {result}"
PYTHON
