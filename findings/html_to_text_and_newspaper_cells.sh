#!/usr/bin/env bash
# html-to-text 10.0.1 (npm) and newspaper4k 0.9.4.1: the cells of a table as text.
#
# Guess: white space separates the cells of a row.
# Seen:  by default both join the cells and the rows of a table: "Subtotal$50.00Shipping$9.99". html-to-text also joins the term and
#        the description of a `dl` ("SizeXL") and the options of a list ("12"), and ignores the attribute `value` of list items.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund html-to-text@10.0.1
cat > cells.mjs <<'JAVASCRIPT'
import { convert } from "html-to-text";

for (const [html, expected] of [
  ["<table><tr><td>Red bag</td><td>$50.00</td></tr><tr><td>Hat</td><td>$9</td></tr></table>", "Red bag$50.00Hat$9"],
  ["<table><tr><td>Room 1</td><td>2</td><td>3</td></tr></table>", "Room 123"],
  ["<dl><dt>Size</dt><dd>XL</dd></dl>", "SizeXL"],
  ["<select><option>1</option><option>2</option></select>", "12"],
  ['<ol><li>one</li><li value="9">nine</li></ol>', " 1. one\n 2. nine"],
  ['<ol start="3"><li>three</li></ol>', " 3. three"],
]) {
  const seen = convert(html);
  console.log(`html-to-text, ${html}: ${JSON.stringify(seen)}`);
  if (seen !== expected) throw new Error(`the behaviour has changed; expected ${JSON.stringify(expected)}`);
}
JAVASCRIPT
node cells.mjs
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet newspaper4k==0.9.4.1
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
from newspaper import Article

PARAGRAPH = "<p>The order was sent on the sixth of May, and it will arrive at your address within the next three days, as we promised.</p>"
TABLE = "<table><tr><td>Subtotal</td><td>$50.00</td></tr><tr><td>Shipping</td><td>$9.99</td></tr></table>"
page = f'<html lang="en"><head><title>Order</title></head><body><article><h1>Order</h1>{PARAGRAPH}{TABLE}{PARAGRAPH}</article></body></html>'
article = Article("http://shop.test/")
article.download(input_html=page)
article.parse()
seen = article.text.split("\n\n")
print(f"newspaper4k: {seen}")
assert "Subtotal$50.00Shipping$9.99" in seen, "the behaviour has changed"
PYTHON
