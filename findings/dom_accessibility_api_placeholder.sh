#!/usr/bin/env bash
# dom-accessibility-api 0.7.1 (npm): the accessible name of a field that has only a placeholder.
#
# Guess: it is the placeholder, as the mapping of HTML to accessibility APIs states and as browsers report it.
# Seen:  it is empty; a `title` is used. The text of two adjacent `span` elements in a button is joined without a blank, that of two
#        `div` elements is not. Queries by role and name that use this package do not find a search field by its placeholder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund dom-accessibility-api@0.7.1 jsdom@29.1.1
cat > names.mjs <<'JAVASCRIPT'
import { computeAccessibleName } from "dom-accessibility-api";
import { JSDOM } from "jsdom";

for (const [html, expected] of [
  ['<input placeholder="Search">', ""],
  ['<textarea placeholder="Search"></textarea>', ""],
  ['<input placeholder="Search" title="Find">', "Find"],
  ['<input aria-label="Search">', "Search"],
  ["<button><span>Add</span><span>to cart</span></button>", "Addto cart"],
  ["<button><div>Add</div><div>to cart</div></button>", "Add to cart"],
]) {
  const { document } = new JSDOM(`<!DOCTYPE html><html lang="en"><body>${html}</body></html>`).window;
  const seen = computeAccessibleName(document.body.firstElementChild);
  console.log(`${html}: ${JSON.stringify(seen)}`);
  if (seen !== expected) throw new Error(`the behaviour has changed; expected ${JSON.stringify(expected)}`);
}
JAVASCRIPT
node names.mjs
