#!/usr/bin/env bash
# jsonrepair 3.15.0 and best-effort-json-parser 1.5.1 (npm): replies that are almost JSON.
#
# Guess: what a repair cannot read is left out or an error; the rest of the reply keeps its structure.
# Seen:  `jsonrepair` makes `[[1],2]` of `[1,,2]`, a list within a list, and of the apostrophe in {'a': 'it's'} a quotation mark; a
#        `tru` that was cut off is the text "tru". `parse` of best-effort-json-parser reads a word that is no JSON up to the
#        next blank: True in {"a": True, "b": 2} is the text "True,", and $5 is "$5,". Of {"a": 5 kg, "b": 2} "a" is 5 and the next
#        key 'kg, "b"'.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund jsonrepair@3.15.0 best-effort-json-parser@1.5.1
cat > replies.mjs <<'JAVASCRIPT'
import { parse, setErrorLogger } from "best-effort-json-parser";
import { jsonrepair } from "jsonrepair";

setErrorLogger(() => {});
for (const [name, read, reply, expected] of [
  ["jsonrepair", (text) => JSON.parse(jsonrepair(text)), "[1,,2]", [[1], 2]],
  ["jsonrepair", (text) => JSON.parse(jsonrepair(text)), '["a",,"b"]', [["a"], "b"]],
  ["jsonrepair", (text) => JSON.parse(jsonrepair(text)), "{'a': 'it's'}", { a: 'it"s' }],
  ["jsonrepair", (text) => JSON.parse(jsonrepair(text)), '{"a": tru', { a: "tru" }],
  ["parse", parse, '{"a": True, "b": 2}', { a: "True,", b: 2 }],
  ["parse", parse, '{"a": None,"b": 2}', { a: 'None,"b":' }],
  ["parse", parse, '{"price": $5, "b": 2}', { price: "$5,", b: 2 }],
  ["parse", parse, '{"a": 5 kg, "b": 2}', { a: 5, 'kg, "b"': 2 }],
  ["parse", parse, '{"a": true, "b": 2}', { a: true, b: 2 }],
]) {
  const seen = JSON.stringify(read(reply));
  console.log(`${name}, ${reply}: ${seen}`);
  if (seen !== JSON.stringify(expected)) throw new Error(`the behaviour has changed; expected ${JSON.stringify(expected)}`);
}
JAVASCRIPT
node replies.mjs
