#!/usr/bin/env bash
# node-html-markdown 2.0.0 (npm): numbered lists, and line breaks in cells.
#
# Guess: the numbers of an `ol` are those of the page, and words that are on different lines stay apart.
# Seen:  `start` is ignored, so that the items 5 and 6 are 1 and 2. A `br` in a cell joins the words around it,
#        which it does not elsewhere. The address of a link with a blank is written as it is, which is no link in CommonMark.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund node-html-markdown@2.0.0
cat > markdown.mjs <<'JAVASCRIPT'
import { NodeHtmlMarkdown } from "node-html-markdown";

for (const [html, expected] of [
  ['<ol start="5"><li>five</li><li>six</li></ol>', "1. five\n2. six"],
  ["<table><tr><th>Address</th></tr><tr><td>12 Main St<br>Springfield</td></tr></table>", "12 Main StSpringfield"],
  ["<p>12 Main St<br>Springfield</p>", "12 Main St  \nSpringfield"],
  ['<a href="/search?q=red mug">Red</a>', "[Red](/search?q=red mug)"],
]) {
  const seen = NodeHtmlMarkdown.translate(html);
  console.log(`${html}: ${JSON.stringify(seen)}`);
  if (!seen.includes(expected)) throw new Error(`the behaviour has changed; expected ${JSON.stringify(expected)}`);
}
JAVASCRIPT
node markdown.mjs
