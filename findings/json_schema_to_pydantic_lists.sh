#!/usr/bin/env bash
# json-schema-to-pydantic 0.5.0: models of tool arguments.
#
# Guess: a model accepts what its JSON Schema accepts, apart from pydantic's usual conversions, and keeps the values.
# Seen:  a list with `uniqueItems` becomes a set: [30, 10, 20] loses its order, and the invalid [1, 1, 2] is {1, 2}. A map of integers
#        accepts texts, undeclared keys of a schema that forbids them are dropped, `allOf` of two limits refuses each number, and a key
#        that is missing is null.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet json-schema-to-pydantic==0.5.0 jsonschema==4.26.0 pydantic==2.14.4
"$folder/venv/bin/python" - <<'PYTHON'
from json_schema_to_pydantic import create_model
from jsonschema import Draft202012Validator
from pydantic import ValidationError

UNIQUE = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}
MAP = {"type": "object", "additionalProperties": {"type": "integer"}}
LIMITS = {"allOf": [{"type": "integer", "minimum": 1}, {"type": "integer", "maximum": 5}]}
CASES = (  # schema of "value", further keywords, arguments, valid for the schema, what the model has
    ({"type": "integer"}, {}, {"value": 5}, True, {"value": 5}),
    ({"type": "integer", "maximum": 5}, {}, {"value": 6}, False, None),
    ({"type": "array", "items": {"type": "integer"}}, {}, {"value": [30, 10, 20]}, True, {"value": [30, 10, 20]}),
    (UNIQUE, {}, {"value": [30, 10, 20]}, True, {"value": {10, 20, 30}}),
    (UNIQUE, {}, {"value": [1, 1, 2]}, False, {"value": {1, 2}}),
    (MAP, {}, {"value": {"mug": 2}}, True, {"value": {"mug": 2}}),
    (MAP, {}, {"value": {"mug": "two"}}, False, {"value": {"mug": "two"}}),
    ({"type": "integer"}, {"additionalProperties": False}, {"value": 1, "quantity": 2}, False, {"value": 1}),
    (LIMITS, {}, {"value": 3}, True, None),
    ({"type": "string"}, {}, {}, True, {"value": None}),
    ({"type": "string"}, {}, {"value": None}, False, None),
)
for schema, keywords, arguments, valid, expected in CASES:
    schema = {"title": "Arguments", "type": "object", "properties": {"value": schema}, **keywords}
    try:
        seen = create_model(schema)(**arguments).model_dump()
    except ValidationError as error:
        seen = None
    print(f"{schema['properties']['value']}, {keywords}, {arguments}: valid {valid}; the model has {seen}")
    assert Draft202012Validator(schema).is_valid(arguments) == valid, "the validator has changed"
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
