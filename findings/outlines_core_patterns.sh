#!/usr/bin/env bash
# outlines-core 0.2.14: the regular expression for a JSON Schema with a "pattern".
#
# Guess: what it matches is valid JSON, and a pattern with alternatives is one alternative between quotation marks.
# Seen:  the pattern is inserted between two quotation marks as it is. "^a|b$" matches `"a` and `b"` and not `"b"`, and a
#        class such as [^,] or a dot matches quotation marks and backslashes: what is generated need not be JSON.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet outlines-core==0.2.14
"$folder/venv/bin/python" - <<'PYTHON'
import json
import re

from outlines_core.json_schema import build_regex_from_schema


def is_json(text):
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    return True


expected = [
    ("^(a|b)$", '"b"', True),
    ("^a|b$", '"b"', False),
    ("^a|b$", '"a', True),
    ("^[^,]+$", '"a"b"', True),
    ("^[^,]+$", '"a\\"b"', True),
    ("^.+$", '"a\\"', True),
    ("^a.c$", '"a\\"c"', False),
]
for pattern, text, result in expected:
    regex = build_regex_from_schema(json.dumps({"type": "string", "pattern": pattern}))
    seen = re.fullmatch(regex, text) is not None
    print(f"pattern {pattern}: regular expression {regex} - {text} is accepted: {seen}, is JSON: {is_json(text)}")
    assert seen == result, f"the behaviour has changed; expected {result}"
PYTHON
