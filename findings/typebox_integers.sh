#!/usr/bin/env bash
# @sinclair/typebox 0.34.52 (npm): arguments of a tool that `Value.Parse` converts to an integer.
#
# Guess: a value that is no integer is an error, and a number has the same value as an integer and as a number.
# Seen:  5.7 and "5.7" are 5 and -0.9 is 0; "1e3" is 1, "12e-1" 12 and "1e400" 1, where `Type.Number` reads 1000 and 1.2. True is 1,
#        and "9007199254740993" loses its last digit. None of them is an error; "5 kg" is.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund @sinclair/typebox@0.34.52
cat > integers.mjs <<'JAVASCRIPT'
import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";

for (const [type, value, expected] of [
  [Type.Integer(), 5.7, 5],
  [Type.Integer(), "5.7", 5],
  [Type.Integer(), "-0.9", 0],
  [Type.Integer(), "1e3", 1],
  [Type.Number(), "1e3", 1000],
  [Type.Integer(), "12e-1", 12],
  [Type.Number(), "12e-1", 1.2],
  [Type.Integer(), "1e400", 1],
  [Type.Integer(), true, 1],
  [Type.Integer(), "9007199254740993", 9007199254740992],
]) {
  const seen = Value.Parse(type, value);
  console.log(`${JSON.stringify(value)} as ${type.type}: ${JSON.stringify(seen)}`);
  if (JSON.stringify(seen) !== JSON.stringify(expected)) throw new Error(`the behaviour has changed; expected ${expected}`);
}
let refused = "";
try {
  Value.Parse(Type.Integer(), "5 kg");
} catch (error) {
  refused = error.message;
}
console.log(`"5 kg" as integer: ${refused}`);
if (refused !== "Expected integer") throw new Error("the behaviour has changed; expected an error");
JAVASCRIPT
node integers.mjs
