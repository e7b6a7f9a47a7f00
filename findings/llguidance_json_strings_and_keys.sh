#!/usr/bin/env bash
# llguidance 1.9.1: which JSON a grammar from a JSON Schema lets a model write.
#
# Guess: declared properties keep their order, and everything else is JSON: other properties may come anywhere, strings may use
#        any escape, and no object has a key twice.
# Seen:  other properties may only follow the declared ones. "\/" and "\u00e9" are refused. An object without declared
#        properties may have a key twice. "-0" is an integer, but not one of at least 0. The word in a `const` or `enum` has one
#        spelling. So a grammar cannot check what a model has written freely.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet llguidance==1.9.1
"$folder/venv/bin/python" - <<'PYTHON'
from llguidance import LLMatcher, LLTokenizer

tokenizer = LLTokenizer("byte")


def accepts(schema, text):
    matcher = LLMatcher(tokenizer, LLMatcher.grammar_from_json_schema(schema))
    assert not matcher.is_error(), matcher.get_error()
    tokens = tokenizer.tokenize_str(text)
    return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()


ACTION = {"type": "object", "properties": {"action": {"type": "string"}, "element": {"type": "integer"}}, "required": ["action"]}
for schema, text, expected in (
    (ACTION, '{"action": "click", "element": 3}', True),
    (ACTION, '{"element": 3, "action": "click"}', False),
    (ACTION, '{"action": "click", "element": 3, "why": "it is next"}', True),
    (ACTION, '{"why": "it is next", "action": "click", "element": 3}', False),
    ({"type": "string"}, r'"a/b"', True),
    ({"type": "string"}, r'"a\/b"', False),
    ({"type": "string"}, r'"\u00e9"', False),
    ({"enum": ["a", "b"]}, r'"\u0061"', False),
    ({"type": "object"}, '{"a": 1, "a": 2}', True),
    ({"type": "integer"}, "-0", True),
    ({"type": "integer", "minimum": 0}, "-0", False),
):
    seen = accepts(schema, text)
    print(text, "->", seen)
    assert seen == expected, f"the behaviour has changed; expected {expected} for {schema}"
PYTHON
