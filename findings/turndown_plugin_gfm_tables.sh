#!/usr/bin/env bash
# turndown-plugin-gfm 1.0.2 with turndown 7.2.5 (npm): tables as Markdown, read again with marked 18.0.2.
#
# Guess: each cell of the page is in its row and column in the Markdown, or the table stays HTML.
# Seen:  "|" in a cell is not escaped, so that the cells after it move one column to the right and the last one is lost. A `br` or a list
#        in a cell ends the row, and `colspan` is ignored. A table without a header row stays HTML, as documented; so does one with a
#        `caption`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund turndown@7.2.5 turndown-plugin-gfm@1.0.2 marked@18.0.2
cat > tables.mjs <<'JAVASCRIPT'
import { marked } from "marked";
import TurndownService from "turndown";
import { gfm } from "turndown-plugin-gfm";

const service = new TurndownService();
service.use(gfm);
const HEAD = "<tr><th>Name</th><th>Price</th></tr>";
const cells = (row) => row.map((cell) => cell.text);
for (const [page, expected] of [
  [`<table>${HEAD}<tr><td>Bag</td><td>$5</td></tr></table>`, [["Name", "Price"], ["Bag", "$5"]]],
  [`<table>${HEAD}<tr><td>Bag | red</td><td>$5</td></tr></table>`, [["Name", "Price"], ["Bag", "red"]]],
  [`<table>${HEAD}<tr><td>Bag<br>red</td><td>$5</td></tr></table>`, [["Name", "Price"], ["Bag", ""], ["red", "$5"]]],
  [`<table>${HEAD}<tr><td><ul><li>Bag</li></ul></td><td>$5</td></tr></table>`, [["Name", "Price"], ["", ""]]],
  ['<table><tr><th colspan="2">Name</th><th>Price</th></tr><tr><td>Bag</td><td>red</td><td>$5</td></tr></table>', [["Name", "Price"], ["Bag", "red"]]],
]) {
  const markdown = service.turndown(page);
  const table = marked.lexer(markdown).find((token) => token.type === "table");
  const seen = table ? [cells(table.header), ...table.rows.map(cells)] : null;
  console.log(`${page}\n${markdown}\n${JSON.stringify(seen)}\n`);
  if (JSON.stringify(seen) !== JSON.stringify(expected)) throw new Error(`the behaviour has changed; expected ${JSON.stringify(expected)}`);
}
const captioned = service.turndown(`<table><caption>Bags</caption>${HEAD}<tr><td>Bag</td><td>$5</td></tr></table>`);
console.log(captioned);
if (!captioned.startsWith("<table>")) throw new Error("the behaviour has changed; expected HTML");
JAVASCRIPT
node tables.mjs
