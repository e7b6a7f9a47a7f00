#!/usr/bin/env bash
# rrweb-snapshot 2.2.2 (npm): the state of fields in a snapshot.
#
# Guess: a snapshot has the state of each field at its time.
# Seen:  it has typed values, but a field that was emptied has its original value, a checkbox that was unchecked is checked, and of a
#        group of radio buttons the original and the chosen one are both checked. The content of a `template` is left out. A recording
#        that begins after a change starts from another page. A list's chosen option is right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund rrweb-snapshot@2.2.2 jsdom@29.1.1
cat > snapshot.mjs <<'JAVASCRIPT'
import { JSDOM } from "jsdom";

const { window } = new JSDOM("<!DOCTYPE html><html><head></head><body></body></html>", { url: "http://shop.test/" });
for (const name of Object.getOwnPropertyNames(window)) {
  if (/^(HTML|Node|Element|Document|CSS|Shadow|Text|SVG)/.test(name) && !(name in globalThis)) globalThis[name] = window[name];
}
Object.assign(globalThis, { window, document: window.document });
const { createMirror, snapshot } = await import("rrweb-snapshot");

// The fields of a snapshot as the attributes that a replay sets.
function fields(node) {
  const within = (node.childNodes ?? []).flatMap(fields);
  return ["input", "textarea", "option"].includes(node.tagName) ? [node, ...within] : within;
}
const state = (node) => node.attributes.selected ?? node.attributes.checked ?? node.attributes.value;

for (const [html, change, expected] of [
  ['<input value="red mug">', (body) => { body.querySelector("input").value = "blue cup"; }, ["blue cup"]],
  ['<input value="red mug">', (body) => { body.querySelector("input").value = ""; }, ["red mug"]],
  ["<input type=checkbox>", (body) => { body.querySelector("input").checked = true; }, [true]],
  ["<input type=checkbox checked>", (body) => { body.querySelector("input").checked = false; }, [""]],
  [
    "<input type=radio name=r value=1 checked><input type=radio name=r value=2>",
    (body) => { body.querySelectorAll("input")[1].checked = true; },
    ["", true],
  ],
  ["<select><option selected>S<option>M</select>", (body) => { body.querySelector("select").value = "M"; }, [undefined, true]],
]) {
  document.body.innerHTML = html;
  change(document.body);
  const seen = fields(snapshot(document, { mirror: createMirror() })).map(state);
  console.log(`${html}: ${JSON.stringify(seen)}`);
  if (JSON.stringify(seen) !== JSON.stringify(expected)) throw new Error(`the behaviour has changed; expected ${JSON.stringify(expected)}`);
}
document.body.innerHTML = "<template><p>Row</p></template>";
const text = JSON.stringify(snapshot(document, { mirror: createMirror() }));
if (document.querySelector("template").content.textContent !== "Row" || text.includes("Row")) throw new Error("the behaviour has changed");
process.exit(0);
JAVASCRIPT
node snapshot.mjs
