#!/usr/bin/env bash
# imask 7.6.1 (npm): the number in a masked field, as a page's script reads it.
#
# Guess: a field with the mask `Number` holds the number that its HTML, a script or a user wrote into it; one that is out of bounds is
#        refused, or is the nearest bound.
# Seen:  value="19.99" in the HTML is 1999, and so is `mask.value = "19.99"`, while 19.99 that is typed is 19.99. With `min` 0 and `max` 100
#        the digits that do not fit are left out: 150 is 15, 1234.5 is 12.5, and -5 is 5.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund imask@7.6.1 jsdom@29.1.1
cat > field.mjs <<'JAVASCRIPT'
import { JSDOM } from "jsdom";

const { window } = new JSDOM("", { pretendToBeVisual: true });
for (const name of ["document", "HTMLElement", "Element", "Event", "InputEvent", "CustomEvent"]) globalThis[name] = window[name];
globalThis.window = window;
const { default: IMask } = await import("imask");

function read(text, options, how) {
  document.body.innerHTML = `<input value="${how === "html" ? text : ""}">`;
  const field = document.querySelector("input");
  const mask = IMask(field, { mask: Number, ...options });
  if (how === "script") mask.value = text;
  if (how === "typed") {
    field.focus();
    for (const character of text) {
      field.value += character;
      field.setSelectionRange(field.value.length, field.value.length);
      field.dispatchEvent(new window.InputEvent("input", { bubbles: true, inputType: "insertText", data: character }));
    }
  }
  return mask.typedValue;
}
for (const [text, options, inHtml, byScript, typed] of [
  ["150", {}, 150, 150, 150],
  ["19.99", {}, 1999, 1999, 19.99],
  ["0.1", {}, 1, 1, 0.1],
  ["19.99", { radix: "." }, 19.99, 19.99, 19.99],
  ["50", { radix: ".", min: 0, max: 100 }, 50, 50, 50],
  ["150", { radix: ".", min: 0, max: 100 }, 15, 15, 15],
  ["1234.5", { radix: ".", min: 0, max: 100 }, 12.5, 12.5, 12.5],
  ["-5", { radix: ".", min: 0, max: 100 }, 5, 5, 5],
]) {
  const seen = ["html", "script", "typed"].map((how) => read(text, options, how));
  console.log(`${text} with ${JSON.stringify(options)}: in the HTML ${seen[0]}, by a script ${seen[1]}, typed ${seen[2]}`);
  if (seen.join() !== [inHtml, byScript, typed].join()) throw new Error(`the behaviour has changed; expected ${[inHtml, byScript, typed]}`);
}
process.exit(0);
JAVASCRIPT
node field.mjs
