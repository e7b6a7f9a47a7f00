#!/usr/bin/env bash
# dom-to-semantic-markdown 1.5.0 (npm) with jsdom 29.1.1: tables, lists and words of a page for a language model.
#
# Guess: each cell is in the Markdown in its row and column, list items keep their numbers, and words stay whole.
# Seen:  a line break in a cell ends the row. Under a cell of two rows the price is in the column of the product. A list that starts at 5
#        starts at 1, "un<b>known</b>" is two words, and of a field with a value nothing is left.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund dom-to-semantic-markdown@1.5.0 jsdom@29.1.1
cat > convert.mjs <<'JAVASCRIPT'
import { convertHtmlToMarkdown } from "dom-to-semantic-markdown";
import { JSDOM } from "jsdom";

const table = (rows) => `<table><tr><th>Item</th><th>Price</th></tr>${rows}</table>`;
const HEAD = "| Item | Price |\n| --- | --- |\n";
const CASES = [ // HTML, Markdown
  [table("<tr><td>mug</td><td>$5</td></tr>"), `${HEAD}| mug | $5 |`],
  ["<p>$5<span>.99</span></p>", "$5.99"],
  [table("<tr><td>mug</td><td>$5<br>net</td></tr>"), `${HEAD}| mug | $5\nnet |`],
  [table('<tr><td rowspan="2">mug</td><td>$5</td></tr><tr><td>$6</td></tr>'), `${HEAD}| mug <!-- rowspan: 2 --> | $5 |\n| $6 |  |`],
  ['<ol start="5"><li>mug</li><li>cap</li></ol>', "1. mug\n2. cap"],
  ["<p>un<b>known</b></p>", "un **known**"],
  ["<p>H<sub>2</sub>O</p>", "H 2 O"],
  ['<p>Quantity <input value="7"></p>', "Quantity"],
  ["<p>Size <select><option>S</option><option selected>M</option></select></p>", "Size S M"],
];
const overrideDOMParser = new new JSDOM("").window.DOMParser();
for (const [html, expected] of CASES) {
  const seen = convertHtmlToMarkdown(html, { overrideDOMParser });
  console.log(`${html}: ${JSON.stringify(seen)}`);
  if (seen !== expected) throw new Error(`the behaviour has changed; expected ${JSON.stringify(expected)}`);
}
JAVASCRIPT
node convert.mjs
