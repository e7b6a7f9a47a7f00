#!/usr/bin/env bash
# happy-dom 21.0.4 (npm): the fields that `new FormData(form)` reads.
#
# Guess: they are those that a browser submits.
# Seen:  of a list with `multiple` only the first chosen option is there, although `selectedOptions` has all. Fields of a disabled
#        `fieldset` are submitted. `<input type="number" value="1,000">` and a date in another form keep a value that browsers
#        replace with the empty text, a range without a value is empty instead of 50, and of two checked radio buttons of one group
#        both are submitted.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund happy-dom@21.0.4
cat > form.mjs <<'JAVASCRIPT'
import { Window } from "happy-dom";

for (const [fields, inBrowsers, expected] of [
  ["<select name=s multiple><option selected>a<option>b<option selected>c</select>", "s=a&s=c", "s=a"],
  ["<fieldset disabled><input name=a value=1></fieldset><input name=b value=2>", "b=2", "a=1&b=2"],
  ['<input name=n type=number value="1,000">', "n=", "n=1,000"],
  ['<input name=d type=date value="5/6/2024">', "d=", "d=5/6/2024"],
  ["<input name=r type=range>", "r=50", "r="],
  ["<input type=radio name=r value=1 checked><input type=radio name=r value=2 checked>", "r=2", "r=1&r=2"],
  ["<input name=a value=1 disabled><input type=checkbox name=b><input type=checkbox name=c checked>", "c=on", "c=on"],
]) {
  const window = new Window();
  window.document.write(`<!DOCTYPE html><html><body><form>${fields}</form></body></html>`);
  const form = window.document.querySelector("form");
  const seen = [...new window.FormData(form)].map(([name, value]) => `${name}=${value}`).join("&");
  console.log(`${fields}: ${seen}, browsers submit ${inBrowsers}`);
  if (seen !== expected) throw new Error(`the behaviour has changed; expected ${expected}`);
  const list = form.querySelector("select");
  if (list && [...list.selectedOptions].map((option) => option.value).join() !== "a,c") throw new Error("expected two chosen options");
}
process.exit(0);
JAVASCRIPT
node form.mjs
