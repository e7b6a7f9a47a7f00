#!/usr/bin/env bash
# node-html-parser 9.0.7 (npm): elements without their optional end tags.
#
# Guess: an `option` without an end tag is an element, as `li`, `dt` and `td` without one are.
# Seen:  of three options without end tags one is an element, the second, and of two the first; the others are text, and their groups are
#        lost. `structuredText` writes each cell of a table on a line of its own, and joins the names of buttons.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund node-html-parser@9.0.7
cat > options.mjs <<'JAVASCRIPT'
import { parse } from "node-html-parser";

for (const [page, expected] of [
  ["<select><option>red</option><option>blue</option></select>", ["option red", "option blue"]],
  ["<select><option>red<option>blue</select>", ["option red"]],
  ["<select><option>red<option>blue<option>green</select>", ["option blue"]],
  ["<select><optgroup label=warm><option>red<option>pink<optgroup label=cold><option>blue</select>", ["option red"]],
  ["<table><tr><th>Name<td>Bag<tr><th>Price<td>$5</table>", ["th Name", "td Bag", "th Price", "td $5"]],
  ["<dl><dt>Name<dd>Bag<dt>Price<dd>$5</dl>", ["dt Name", "dd Bag", "dt Price", "dd $5"]],
  ["<ul><li>red<li>blue</ul>", ["li red", "li blue"]],
]) {
  const seen = parse(page).querySelectorAll("option, optgroup, th, td, dt, dd, li").map((element) => `${element.rawTagName} ${element.text}`);
  console.log(`${page}: ${JSON.stringify(seen)}`);
  if (JSON.stringify(seen) !== JSON.stringify(expected)) throw new Error(`the behaviour has changed; expected ${JSON.stringify(expected)}`);
}
const text = parse("<table><tr><td>Bag</td><td>$5</td></tr></table><button>Buy</button><button>Sell</button>").structuredText;
console.log(JSON.stringify(text));
if (text !== "Bag\n$5\nBuySell") throw new Error("the behaviour has changed");
JAVASCRIPT
node options.mjs
