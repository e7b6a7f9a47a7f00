#!/usr/bin/env bash
# json-schema-faker 0.6.3, ajv 8.20.0 and ajv-formats 3.0.1 (npm): generated test data of a JSON Schema.
#
# Guess: the generated data are valid, as the readme's first line states, or the schema is an error.
# Seen:  an email with `maxLength` is cut off, names of `propertyNames` are ignored, an integer that is not 0 or more is 0 or more, of two
#        patterns one counts, and a multiple of 4 and of 6 is one of 6. No error is raised.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund json-schema-faker@0.6.3 ajv@8.20.0 ajv-formats@3.0.1
cat > generate.mjs <<'JAVASCRIPT'
import Ajv from "ajv";
import addFormats from "ajv-formats";
import { generate } from "json-schema-faker";

const ajv = new Ajv({ strict: false });
addFormats(ajv);
const integers = { additionalProperties: { type: "integer" }, minProperties: 1 };
for (const [schema, always, never] of [  // whether all of 40 values are valid, or none
  [{ type: "string", pattern: "^[A-Z]{3}-[0-9]{4}$" }, true, false],
  [{ type: "string", format: "email" }, true, false],
  [{ type: "integer", multipleOf: 7, minimum: 10 }, true, false],
  [{ type: "string", format: "email", maxLength: 10 }, false, true],
  [{ type: "object", propertyNames: { enum: ["S", "M", "L"] }, ...integers }, false, true],
  [{ type: "object", propertyNames: { pattern: "^[a-z]+$" }, ...integers }, false, true],
  [{ type: "string", allOf: [{ pattern: "^a" }, { pattern: "z$" }] }, false, true],
  [{ type: "integer", not: { minimum: 0 } }, false, false],
  [{ type: "integer", allOf: [{ multipleOf: 4 }, { multipleOf: 6 }] }, false, false],
]) {
  const isValid = ajv.compile(schema);
  const values = await Promise.all(Array.from({ length: 40 }, (_, seed) => generate(schema, { seed })));
  const valid = values.filter((value) => isValid(value));
  const invalid = values.find((value) => !isValid(value));
  console.log(`${JSON.stringify(schema)}: ${valid.length} of 40 are valid${invalid === undefined ? "" : `, not ${JSON.stringify(invalid)}`}`);
  if ((valid.length === 40) !== always || (valid.length === 0) !== never) throw new Error("the behaviour has changed");
}
JAVASCRIPT
node generate.mjs
