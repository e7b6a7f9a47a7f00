#!/usr/bin/env bash
# jsf 0.11.2: data that are generated from a JSON Schema.
#
# Guess: the generated data are valid for the schema, or the schema is an error.
# Seen:  of `allOf` only the first schema counts, a map is always empty whatever `minProperties` is, and `contains`, `not`,
#        `dependentRequired`, `then` and a `maxLength` next to a format are ignored. A number from 0.5 to 0.75 is an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet jsf==0.11.2 jsonschema==4.26.0
"$folder/venv/bin/python" - <<'PYTHON'
from jsf import JSF
from jsonschema import Draft202012Validator

INTEGER = {"type": "integer", "minimum": 0, "maximum": 3}
KIND = {"enum": ["card", "cash"]}
CONDITION = {"if": {"properties": {"by": {"const": "card"}}}, "then": {"required": ["n"]}}


def record(properties, **keywords):
    return {"type": "object", "properties": properties, **keywords}


CASES = {  # schema, and whether all generated data, some or none are valid
    "limits": (INTEGER, "all"),
    "pattern": ({"type": "string", "pattern": "^[A-Z]{3}-[0-9]{2}$"}, "all"),
    "unique items": ({"type": "array", "items": INTEGER, "minItems": 3, "maxItems": 4, "uniqueItems": True}, "all"),
    "required keys": (record({"a": INTEGER, "b": INTEGER}, required=["a"], additionalProperties=False), "all"),
    "allOf": ({"allOf": [record({"a": INTEGER}, required=["a"]), record({"b": INTEGER}, required=["b"])]}, "none"),
    "map": ({"type": "object", "additionalProperties": INTEGER, "minProperties": 1}, "none"),
    "email of at most 8 letters": ({"type": "string", "format": "email", "maxLength": 8}, "none"),
    "contains": ({"type": "array", "items": KIND, "contains": {"const": "card"}, "minItems": 1}, "some"),
    "not": ({**INTEGER, "not": {"const": 1}}, "some"),
    "dependentRequired": (record({"a": INTEGER, "b": INTEGER}, dependentRequired={"a": ["b"]}), "some"),
    "then": (record({"by": KIND, "n": INTEGER}, required=["by"], **CONDITION), "some"),
}
for name, (schema, expected) in CASES.items():
    source, validator = JSF(schema), Draft202012Validator(schema)
    values = [source.generate() for _ in range(300)]
    valid = sum(validator.is_valid(value) for value in values)
    invalid = next((value for value in values if not validator.is_valid(value)), "none")
    print(f"{name}: {valid} of 300 are valid; an invalid one: {invalid}")
    assert {0: "none", 300: "all"}.get(valid, "some") == expected, f"the behaviour has changed; expected {expected}"
try:
    JSF({"type": "number", "minimum": 0.5, "maximum": 0.75}).generate()
except ValueError as error:
    print(f"a number from 0.5 to 0.75: ValueError: {error}")
else:
    raise AssertionError("the behaviour has changed; expected a ValueError")
PYTHON
