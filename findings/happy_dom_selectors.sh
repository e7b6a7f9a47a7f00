#!/usr/bin/env bash
# happy-dom 21.0.4 (npm): selectors for the state of fields and links.
#
# Guess: `querySelectorAll` selects what browsers select, or raises an error for a pseudo-class that it does not implement.
# Seen:  `:enabled`, `:required`, `:optional`, `:invalid`, `:read-only`, `:placeholder-shown`, `:any-link` and `option:checked` select
#        nothing, without an error, and `:disabled` misses fields of a disabled `fieldset`. A test that asserts that no field is
#        invalid passes. `[lang=en i]` is an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund happy-dom@21.0.4
cat > selectors.mjs <<'JAVASCRIPT'
import { Window } from "happy-dom";

for (const [html, selector, inBrowsers, expected] of [
  ["<input>", "input:enabled", 1, 0],
  ["<input disabled>", "input:disabled", 1, 1],
  ["<fieldset disabled><input></fieldset>", "input:disabled", 1, 0],
  ["<input required>", "input:required", 1, 0],
  ["<input>", "input:optional", 1, 0],
  ["<input required>", "input:invalid", 1, 0],
  ["<input readonly>", "input:read-only", 1, 0],
  ['<input placeholder="Search">', "input:placeholder-shown", 1, 0],
  ['<a href="/cart">Cart</a>', "a:any-link", 1, 0],
  ["<select><option>S<option>M</select>", "option:checked", 1, 0],
  ["<input type=checkbox checked>", "input:checked", 1, 1],
  ["<input type=CHECKBOX>", "[type=checkbox]", 1, 0],
]) {
  const window = new Window();
  window.document.write(`<!DOCTYPE html><html><body><form>${html}</form></body></html>`);
  const seen = window.document.querySelectorAll(selector).length;
  console.log(`${selector} in ${html}: ${seen} elements, ${inBrowsers} in browsers`);
  if (seen !== expected) throw new Error(`the behaviour has changed; expected ${expected}`);
}
const invalid = new Window();
invalid.document.write("<!DOCTYPE html><html><body><form><input required></form></body></html>");
if (invalid.document.querySelector("input").checkValidity()) throw new Error("the field must be invalid");
let error;
try {
  invalid.document.querySelectorAll("[lang=en i]");
} catch (caught) {
  error = caught;
}
if (!error) throw new Error("the behaviour has changed; expected an error for [lang=en i]");
console.log(error.message);
process.exit(0);
JAVASCRIPT
node selectors.mjs
