#!/usr/bin/env bash
# defuddle 0.19.4 (npm): the content of a page about an order.
#
# Guess: paragraphs and lists between two long paragraphs of an article, without any class, are a part of the content.
# Seen:  a short element with a date, such as "January 5, 2026" below the heading "Delivery date" or a table's cell, is removed, and is the
#        date of publication; "2026-01-05" stays. A description list is removed, as are a list of links and the paragraph "Comments".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund defuddle@0.19.4
cat > order.mjs <<'JAVASCRIPT'
import { Defuddle } from "defuddle/node";

const first = "This order was placed in the shop and contains some products. ".repeat(6);
const last = "The order will arrive within a few days at the address. ".repeat(6);
const page = (part) =>
  `<html><head><title>Shop</title></head><body><main><article><h1>Order</h1><p>${first}</p>${part}<p>${last}</p></article></main></body></html>`;
for (const [part, expected, published] of [
  ["<p>Total: $5</p>", "Total: $5", ""],
  ["<table><tr><td>Total</td><td>$5</td></tr></table>", "Total $5", ""],
  ["<h2>Delivery date</h2><p>2026-01-05</p>", "Delivery date 2026-01-05", ""],
  ["<h2>Delivery date</h2><p>January 5, 2026</p>", "Delivery date", "2026-01-05T00:00:00+00:00"],
  ["<p>Ordered on January 5, 2026</p>", "", "2026-01-05T00:00:00+00:00"],
  ["<table><tr><td>January 5, 2026</td></tr></table>", "", "2026-01-05T00:00:00+00:00"],
  ["<dl><dt>Total</dt><dd>$5</dd><dt>Color</dt><dd>red</dd></dl>", "", ""],
  ["<ol><li>Bag</li></ol>", "Bag", ""],
  ["<ul><li><a href=/bag>Bag</a></li><li><a href=/cup>Cup</a></li></ul>", "", ""],
  ["<p>Comments</p>", "", ""],
]) {
  const result = await Defuddle(page(part), "http://shop.example/order");
  const text = result.content.replace(/<[^>]+>/g, " ").replace(/\s+/g, " ");
  const seen = text.slice(text.indexOf(first.trim()) + first.trim().length, text.indexOf(last.trim())).trim();
  console.log(`${part}: "${seen}", published "${result.published}"`);
  if (seen !== expected || result.published !== published) throw new Error(`the behaviour has changed; expected "${expected}", "${published}"`);
}
JAVASCRIPT
node order.mjs
