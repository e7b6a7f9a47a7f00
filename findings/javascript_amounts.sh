#!/usr/bin/env bash
# currency.js 2.0.4, numeral 2.0.6, accounting 0.4.1 and parse-price 1.1.8 (npm): amounts of a page as numbers.
#
# Guess: one amount is read as it is written, and a text with no amount or two of them is no number.
# Seen:  all four read "1e3" as 13 and "2 for $5" as 25: the digits are joined. "$10 - $20" is -1020 (numeral), 10, 1020 or NaN. "sold
#        out" is 0 in three of them and null in numeral. The minus sign U+2212 is dropped, and parse-price drops every sign. "5,00 €"
#        is 500 except in parse-price. "5%" is 0.05 in numeral and 5 in the others.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund currency.js@2.0.4 numeral@2.0.6 accounting@0.4.1 parse-price@1.1.8
cat > amounts.mjs <<'JAVASCRIPT'
import accounting from "accounting";
import currency from "currency.js";
import numeral from "numeral";
import parsePrice from "parse-price";

const readers = [(text) => currency(text).value, (text) => numeral(text).value(), accounting.unformat, parsePrice.default ?? parsePrice];
for (const [text, expected] of [
  ["$1,299.00", [1299, 1299, 1299, 1299]],
  ["1e3", [13, 13, 13, 13]],
  ["2 for $5", [25, 25, 25, 25]],
  ["$10 - $20", [NaN, -1020, 10, 1020]],
  ["sold out", [0, null, 0, 0]],
  ["-$5", [-5, -5, -5, 5]],
  ["\u2212$5", [5, 5, 5, 5]],
  ["(5.00)", [-5, -5, -5, 5]],
  ["5,00 €", [500, 500, 500, 5]],
  ["1.234,56", [1.23, 1.23456, 1.23456, 1234.56]],
  ["5%", [5, 0.05, 5, 5]],
  ["$1.5k", [1.5, 1500, 1.5, 1.5]],
]) {
  const seen = readers.map((read) => read(text));
  console.log(`${text}: ${seen.map(String).join(", ")}`);
  if (!seen.every((value, index) => Object.is(value, expected[index]))) throw new Error(`the behaviour has changed; expected ${expected}`);
}
JAVASCRIPT
node amounts.mjs
