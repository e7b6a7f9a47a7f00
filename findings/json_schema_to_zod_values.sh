#!/usr/bin/env bash
# json-schema-to-zod 2.8.1 with zod 4.6.7 (npm): the schema of a tool as a zod schema.
#
# Guess: the zod schema accepts what the JSON Schema accepts, apart from references, which the package leaves to others.
# Seen:  `{"const": {"id": 1}}` refuses its own value, the format "time" refuses "10:30:00Z" and accepts "10:30:00", and with
#        `patternProperties` each other property is checked too. A schema without "type" accepts anything, whatever its properties,
#        items or limits are, a required property that is not declared may be missing, and equal objects are unique items.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund json-schema-to-zod@2.8.1 zod@4.6.7 ajv@8.20.0 ajv-formats@3.0.1
cat > tools.mjs <<'JAVASCRIPT'
import { writeFileSync } from "node:fs";
import Ajv from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { jsonSchemaToZod } from "json-schema-to-zod";

const ajv = addFormats(new Ajv.default({ strict: false }));
const cases = [
  [{ type: "object", properties: { id: { type: "integer" } }, required: ["id"] }, { id: 5 }, true, true],
  [{ const: { id: 1 } }, { id: 1 }, true, false],
  [{ type: "string", format: "time" }, "10:30:00Z", true, false],
  [{ type: "string", format: "time" }, "10:30:00", false, true],
  [{ type: "object", patternProperties: { "^count_": { type: "number" } } }, { name: "bag" }, true, false],
  [{ properties: { id: { type: "integer" } }, required: ["id"] }, { id: "none" }, false, true],
  [{ items: { type: "string" } }, [1], false, true],
  [{ minimum: 5 }, 3, false, true],
  [{ type: "object", properties: { id: { type: "integer" } }, required: ["name"] }, { id: 5 }, false, true],
  [{ type: "array", uniqueItems: true }, [{ id: 1 }, { id: 1 }], false, true],
];
for (const [number, [schema, value, json, zod]] of cases.entries()) {
  writeFileSync(`schema${number}.mjs`, jsonSchemaToZod(schema, { module: "esm" }));
  const converted = (await import(`./schema${number}.mjs`)).default;
  const seen = [ajv.validate(schema, value), converted.safeParse(value).success];
  console.log(`${JSON.stringify(schema)}, ${JSON.stringify(value)}: JSON Schema ${seen[0]}, zod ${seen[1]}`);
  if (seen[0] !== json || seen[1] !== zod) throw new Error(`the behaviour has changed; expected ${json} and ${zod}`);
}
JAVASCRIPT
node tools.mjs
