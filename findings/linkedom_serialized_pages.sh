#!/usr/bin/env bash
# linkedom 0.18.15 (npm), with @mozilla/readability 0.6.0: a page that is parsed and written again.
#
# Guess: the written page is the same page, and Readability returns the article that it returns with jsdom.
# Seen:  in attributes and in the title `&` is not escaped, so that "&amp;lt;" becomes "&lt;", which is "<" when it is read again.
#        Without the optional end tags a table's body is within the last head cell, and a link within the link before. Readability
#        leaves the links of an article relative, since the document has no address.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund linkedom@0.18.15 jsdom@29.1.1 @mozilla/readability@0.6.0
cat > pages.mjs <<'JAVASCRIPT'
import { Readability } from "@mozilla/readability";
import { JSDOM } from "jsdom";
import { parseHTML } from "linkedom";

function check(name, seen, expected) {
  console.log(`${name}: ${seen}`);
  if (seen !== expected) throw new Error(`the behaviour has changed; expected ${expected}`);
}

const parse = (html) => parseHTML(`<!DOCTYPE html><html><head></head><body>${html}</body></html>`).document;
const given = '<p title="Type &amp;lt;br&amp;gt; here">x</p>';
const once = parse(given).body.innerHTML;
const twice = parse(once);
check("attribute, written once", once, '<p title="Type &lt;br&gt; here">x</p>');
check("attribute, read again", twice.querySelector("p").title, "Type <br> here");
check("text, written once", parse("<p>&amp;lt;br&amp;gt;</p>").body.innerHTML, "<p>&amp;lt;br&amp;gt;</p>");

const table = parse("<table><thead><tr><th>Name<th>Price<tbody><tr><td>Mug<td>$5</table>");
check("parent of the table's body", table.querySelector("tbody").parentElement.tagName, "TH");
check("second head cell", table.querySelectorAll("th")[1].textContent, "PriceMug$5");
check("two links", parse('<a href="/1">x<a href="/2">y</a>').body.innerHTML, '<a href="/1">x<a href="/2">y</a></a>');

const text = "The kettle heats one litre of water in three minutes, and it switches off when the water boils. ".repeat(8);
const article = `<html><head><title>Kettle</title></head><body><article><p>${text}</p>
<p>${text} <a href="/mug">Mug</a></p></article></body></html>`;
for (const [name, document, expected] of [
  ["jsdom", new JSDOM(article, { url: "http://shop.test/kettle" }).window.document, "http://shop.test/mug"],
  ["linkedom", parseHTML(article).document, "/mug"],
]) {
  const { content } = new Readability(document).parse();
  check(`link in Readability's article with ${name}`, content.match(/href="([^"]*)"/)[1], expected);
}
JAVASCRIPT
node pages.mjs
