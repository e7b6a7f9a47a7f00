#!/usr/bin/env bash
# @automerge/automerge 3.5.0 (npm): values of a document.
#
# Guess: a value that a document cannot hold is an error, as undefined and a symbol are.
# Seen:  a Set, a Map, a regular expression, a URL and an Error are empty objects, a Float32Array an object with keys "0" and "1", and an
#        invalid date is 1970. A Date, a Uint8Array, NaN and -0 are kept.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund @automerge/automerge@3.5.0
cat > values.mjs <<'JAVASCRIPT'
import { isDeepStrictEqual } from "node:util";

import { from, load, save } from "@automerge/automerge";

const day = new Date("2026-01-05T10:00:00Z");
for (const [name, value, expected] of [
  ["a date", day, day],
  ["bytes", new Uint8Array([1, 2]), new Uint8Array([1, 2])],
  ["NaN and -0", [NaN, -0], [NaN, -0]],
  ["an object", { quantity: 3 }, { quantity: 3 }],
  ["a set", new Set(["red"]), {}],
  ["a map", new Map([["red", 1]]), {}],
  ["a regular expression", /red/i, {}],
  ["an address", new URL("http://shop.example/"), {}],
  ["an error", new Error("sold out"), {}],
  ["observations", new Float32Array([0.5, 1]), { 0: 0.5, 1: 1 }],
  ["an invalid date", new Date(NaN), new Date(0)],
  ["undefined", undefined, "RangeError"],
  ["a symbol", Symbol.iterator, "RangeError"],
]) {
  let seen;
  try {
    seen = load(save(from({ value }))).value;
  } catch (error) {
    seen = error.name;
  }
  console.log(`${name}:`, seen);
  if (!isDeepStrictEqual(seen, expected)) throw new Error(`the behaviour has changed; expected ${JSON.stringify(expected)}`);
}
JAVASCRIPT
node values.mjs
