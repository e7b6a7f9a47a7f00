#!/usr/bin/env bash
# xgrammar 0.2.9: the texts that a grammar of a JSON Schema accepts.
#
# Guess: a part of the schema that is not supported prints a warning, as `multipleOf` of numbers does, and other texts are valid.
# Seen:  a pattern without anchors must match the whole text: "b" accepts "b" only, and "^a|b$" nothing but "a" and "b". If a required
#        property is not declared, all objects that are valid are refused, and accepted ones are invalid; keys that match
#        `patternProperties` are refused as well (in the strict mode, the default). `uniqueItems`, `not`, limits without a "type" and
#        limits next to an enum or a reference are ignored without a warning. The accepted numbers of an interval have no exponent.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 xgrammar==0.2.9 transformers==5.24.0
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import json

import xgrammar

vocabulary = [bytes([byte]) for byte in range(256)] + [b"</s>"]
compiler = xgrammar.GrammarCompiler(xgrammar.TokenizerInfo(vocabulary, stop_token_ids=[256]))


def accepts(schema, text):
    matcher = xgrammar.GrammarMatcher(compiler.compile_json_schema(json.dumps(schema)), terminate_without_stop_token=True)
    return matcher.accept_string(text) and matcher.is_terminated()


count = {"type": "integer"}
for schema, text, valid, expected in (
    ({"type": "string", "pattern": "b"}, '"abc"', True, False),
    ({"type": "string", "pattern": "b"}, '"b"', True, True),
    ({"type": "string", "pattern": "^a|b$"}, '"ab"', True, False),
    ({"type": "string", "pattern": "^a|b$"}, '"b"', True, True),
    ({"type": "object", "properties": {"id": count}, "required": ["name"]}, '{"name": 1}', True, False),
    ({"type": "object", "properties": {"id": count}, "required": ["name"]}, '{"id": 1, "name": 1}', True, False),
    ({"type": "object", "properties": {"id": count}, "required": ["name"]}, '{"id": 1}', False, True),
    ({"type": "object", "patternProperties": {"^count_": count}}, '{"count_bags": 1}', True, False),
    ({"type": "array", "items": count, "uniqueItems": True}, "[1, 1]", False, True),
    ({"not": count}, "5", False, True),
    ({"minimum": 5}, "3", False, True),
    ({"type": "integer", "minimum": 5}, "3", False, False),
    ({"type": "string", "enum": ["a", "abc"], "minLength": 2}, '"a"', False, True),
    ({"$ref": "#/$defs/name", "minLength": 2, "$defs": {"name": {"type": "string"}}}, '"a"', False, True),
    ({"type": "number"}, "1e1", True, True),
    ({"type": "number", "minimum": 5}, "1e1", True, False),
):
    seen = accepts(schema, text)
    print(f"{json.dumps(schema)}, {text}: valid {valid}, accepted {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
