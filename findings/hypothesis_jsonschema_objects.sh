#!/usr/bin/env bash
# hypothesis-jsonschema 0.23.1 with the hypothesis that `pip install hypothesis-jsonschema` selects, 6.170.17.
#
# Guess: the two fit, and `from_schema` of the arguments of a tool draws arguments.
# Seen:  each schema of an object is an AttributeError when an example is drawn; texts and lists are drawn.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet hypothesis-jsonschema==0.23.1 hypothesis==6.170.17
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

from hypothesis import find, settings
from hypothesis_jsonschema import from_schema

warnings.simplefilter("ignore")
for schema, expected in (
    ({"type": "integer", "minimum": 1}, "1"),
    ({"type": "array", "items": {"type": "integer"}, "minItems": 1}, "[0]"),
    ({"type": "object"}, "AttributeError"),
    ({"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"], "additionalProperties": False}, "AttributeError"),
    ({"type": "array", "items": {"type": "object"}, "minItems": 1}, "AttributeError"),
):
    try:
        seen = str(find(from_schema(schema), lambda value: True, settings=settings(database=None)))
    except AttributeError as error:
        seen = "AttributeError"
        print(error)
    print(f"{schema}: {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
