#!/usr/bin/env bash
# happy-dom 21.0.4 (npm): rows that a script adds to a table, and the tree of a table.
#
# Guess: `insertAdjacentHTML` on a `tbody` adds rows, as `innerHTML` does, and `rows` is in the order head, bodies, foot.
# Seen:  `insertAdjacentHTML` adds only the text of the cells, in one text node. `rows` is in the order of the source. Text in an
#        element between `table` and its rows stays in the table, apart from its element.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund happy-dom@21.0.4
cat > rows.mjs <<'JAVASCRIPT'
import { Window } from "happy-dom";

function page(html) {
  const { document } = new Window();
  document.write(`<!DOCTYPE html><html><body>${html}</body></html>`);
  return document;
}

function check(name, seen, expected) {
  console.log(`${name}: ${seen}`);
  if (seen !== expected) throw new Error(`the behaviour has changed; expected ${expected}`);
}

const row = "<tr><td>Mug</td><td>$5</td></tr>";
const assigned = page("<table><tbody></tbody></table>");
assigned.querySelector("tbody").innerHTML = row;
check("innerHTML", assigned.body.innerHTML, `<table><tbody>${row}</tbody></table>`);

const inserted = page("<table><tbody></tbody></table>");
inserted.querySelector("tbody").insertAdjacentHTML("beforeend", row);
check("insertAdjacentHTML", inserted.body.innerHTML, "<table><tbody>Mug$5</tbody></table>");

const table = "<table><tfoot><tr><td>total</tfoot><tbody><tr><td>body</tbody><thead><tr><td>head</thead></table>";
check("rows", [...page(table).querySelector("table").rows].map((each) => each.textContent).join(), "total,body,head");

const note = page("<table><b>Note</b><tr><td>5</td></tr></table>");
check("element before the rows", note.body.innerHTML, "<b></b><table>Note<tbody><tr><td>5</td></tr></tbody></table>");
process.exit(0);
JAVASCRIPT
node rows.mjs
