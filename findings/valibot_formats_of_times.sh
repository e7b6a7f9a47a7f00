#!/usr/bin/env bash
# valibot 1.5.0, @valibot/to-json-schema 1.8.0 and ajv-formats 3.0.1 (npm): times in a tool's schema.
#
# Guess: a text that is valid for the generated JSON Schema is valid for the schema of valibot.
# Seen:  `isoTime` becomes the format "time" and `isoDateTime` "date-time", which require seconds and a time zone, while valibot accepts
#        neither: "10:30" and "10:30:00Z" are each valid for one of them, and no text is for both. A model whose output follows the
#        JSON Schema never passes the validation. `isoDate`, `isoTimeSecond` and `isoTimestamp` agree with their JSON Schema.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund valibot@1.5.0 @valibot/to-json-schema@1.8.0 ajv@8.20.0 ajv-formats@3.0.1
cat > times.mjs <<'JAVASCRIPT'
import { toJsonSchema } from "@valibot/to-json-schema";
import Ajv from "ajv";
import addFormats from "ajv-formats";
import * as v from "valibot";

const ajv = addFormats(new Ajv());
for (const [action, text, valibot, json] of [
  [v.isoTime(), "10:30", true, false],
  [v.isoTime(), "10:30:00", false, false],
  [v.isoTime(), "10:30:00Z", false, true],
  [v.isoDateTime(), "2024-05-06T10:30", true, false],
  [v.isoDateTime(), "2024-05-06T10:30:00", false, false],
  [v.isoDateTime(), "2024-05-06T10:30:00Z", false, true],
  [v.isoDate(), "2024-05-06", true, true],
  [v.isoTimeSecond(), "10:30:00", true, true],
  [v.isoTimestamp(), "2024-05-06T10:30:00Z", true, true],
]) {
  const schema = v.pipe(v.string(), action);
  const seen = [v.safeParse(schema, text).success, ajv.compile(toJsonSchema(schema))(text)];
  console.log(`${action.type}, ${text}: valibot ${seen[0]}, JSON Schema ${seen[1]}`);
  if (seen[0] !== valibot || seen[1] !== json) throw new Error(`the behaviour has changed; expected ${valibot} and ${json}`);
}
JAVASCRIPT
node times.mjs
