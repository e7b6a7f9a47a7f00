#!/usr/bin/env bash
# ajv 8.20.0 and ajv-formats 3.0.1 (npm), jsonschema 4.26.0, fastjsonschema 2.22.3: one JSON Schema of arguments in two languages.
#
# Guess: arguments are valid in all three validators or in none.
# Seen:  19.99 is no multiple of 0.01 in ajv and jsonschema. ajv accepts a blank for the T of a date-time, and an offset without a colon,
#        fastjsonschema a time without seconds; it ignores "duration" and "uuid". In jsonschema "a" and a line break match "^a$", in
#        both of Python digits of other scripts match \d, and a blank may stand in an e-mail address.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet "jsonschema[format]==4.26.0" fastjsonschema==2.22.3
cd "$folder"
npm install --silent --no-audit --no-fund ajv@8.20.0 ajv-formats@3.0.1
cat > validate.mjs <<'JAVASCRIPT'
import { readFileSync } from "node:fs";

import { Ajv } from "ajv";
import formats from "ajv-formats";

const ajv = new Ajv({ strict: false });
formats.default(ajv);
console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(([schema, value]) => ajv.validate(schema, value))));
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import json
import subprocess

import fastjsonschema
from jsonschema import Draft202012Validator


def fast(schema: dict, value: object) -> bool:
    try:
        fastjsonschema.validate({"$schema": "http://json-schema.org/draft-07/schema#", **schema}, value)
    except fastjsonschema.JsonSchemaValueException:
        return False
    return True


TEXT = {"type": "string"}
CASES = (  # schema, value, verdicts of ajv, jsonschema and fastjsonschema
    ({"multipleOf": 0.01}, 5.25, (True, True, True)),
    ({"multipleOf": 0.01}, 19.99, (False, False, True)),
    ({"multipleOf": 0.1}, 0.3, (False, False, True)),
    (TEXT | {"pattern": r"^\d+$"}, "٣", (False, True, True)),
    (TEXT | {"pattern": "^a$"}, "a\n", (False, True, False)),
    (TEXT | {"format": "date-time"}, "2026-01-05 10:00:00Z", (True, False, False)),
    (TEXT | {"format": "time"}, "10:30:00+0100", (True, False, False)),
    (TEXT | {"format": "time"}, "10:30", (False, False, True)),
    (TEXT | {"format": "email"}, "a b@shop.example", (False, True, True)),
    (TEXT | {"format": "duration"}, "5 minutes", (False, False, True)),
    (TEXT | {"format": "uuid"}, "12", (False, False, True)),
)
cases = json.dumps([[schema, value] for schema, value, _ in CASES])
output = subprocess.run(["node", "validate.mjs"], input=cases, capture_output=True, text=True, check=True).stdout
for (schema, value, expected), ajv in zip(CASES, json.loads(output), strict=True):
    seen = (ajv, Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER).is_valid(value), fast(schema, value))
    print(f"{json.dumps(schema)}, {value!r}: ajv {seen[0]}, jsonschema {seen[1]}, fastjsonschema {seen[2]}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
