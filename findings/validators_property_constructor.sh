#!/usr/bin/env bash
# ajv 8.20.0, zod 4.6.7, valibot 1.5.0, arktype 2.2.10, @sinclair/typebox 0.34.52 (npm): a property called "constructor".
#
# Guess: an optional property that an object does not have is missing, whatever its name is, and a required one is an error.
# Seen:  in all five an object from JSON without "constructor", as that of a racing team, has the wrong type: it inherits a function of
#        that name. A required "constructor" of any type is never missing. With other names all five accept and refuse as guessed;
#        `ownProperties` of ajv mends it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund ajv@8.20.0 zod@4.6.7 valibot@1.5.0 arktype@2.2.10 @sinclair/typebox@0.34.52
cat > validators.mjs <<'JAVASCRIPT'
import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { Ajv } from "ajv";
import { type } from "arktype";
import * as v from "valibot";
import { z } from "zod";

const validators = {
  ajv: [
    (name, value) => new Ajv().validate({ type: "object", properties: { [name]: { type: "string" } } }, value),
    (name, value) => new Ajv().validate({ type: "object", required: [name] }, value),
  ],
  zod: [
    (name, value) => z.object({ [name]: z.string().optional() }).safeParse(value).success,
    (name, value) => z.object({ [name]: z.unknown() }).safeParse(value).success,
  ],
  valibot: [
    (name, value) => v.safeParse(v.object({ [name]: v.optional(v.string()) }), value).success,
    (name, value) => v.safeParse(v.object({ [name]: v.unknown() }), value).success,
  ],
  arktype: [
    (name, value) => !(type({ [`${name}?`]: "string" })(value) instanceof type.errors),
    (name, value) => !(type({ [name]: "unknown" })(value) instanceof type.errors),
  ],
  typebox: [
    (name, value) => Value.Check(Type.Object({ [name]: Type.Optional(Type.String()) }), value),
    (name, value) => Value.Check(Type.Object({ [name]: Type.Unknown() }), value),
  ],
};
const team = JSON.parse('{"driver": "Ann"}');
for (const [package_, [optional, required]] of Object.entries(validators)) {
  for (const [name, expected] of [["sponsor", [true, false]], ["constructor", [false, true]]]) {
    const seen = [optional(name, team), required(name, team)];
    console.log(`${package_}, "${name}": optional ${seen[0] ? "accepted" : "refused"}, required ${seen[1] ? "accepted" : "refused"}`);
    if (String(seen) !== String(expected)) throw new Error(`the behaviour has changed; expected ${expected}`);
  }
}
const own = new Ajv({ ownProperties: true });
if (!own.validate({ type: "object", properties: { constructor: { type: "string" } } }, team)) throw new Error("ownProperties has changed");
JAVASCRIPT
node validators.mjs
