#!/usr/bin/env bash
# @testing-library/dom 10.4.2 (npm), aria-query 5.3.0: `ByRole` with the values of native fields.
#
# Guess: `value: { now: 3 }` finds `<input type="number" value="3">`, as `checked` finds a native checkbox.
# Seen:  it finds only elements with `aria-valuenow`, no native field. A partially checked checkbox is neither `checked: true` nor
#        `checked: false`, an `option` is named by its text where browsers show its `label`, and a button in a closed `details` or in
#        an `inert` element is found, while one in a hidden element is not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund @testing-library/dom@10.4.2 aria-query@5.3.0 jsdom@29.1.1
cat > roles.mjs <<'JAVASCRIPT'
import { JSDOM } from "jsdom";

const { window } = new JSDOM("<!DOCTYPE html><html lang=en><body></body></html>");
const { getComputedStyle, MutationObserver, Node } = window;
Object.assign(globalThis, { window, document: window.document, getComputedStyle, MutationObserver, Node });
const { queryAllByRole } = await import("@testing-library/dom");

function check(html, role, options, expected, change = () => {}) {
  document.body.innerHTML = html;
  change(document.body.firstElementChild);
  const seen = queryAllByRole(document.body, role, options).length;
  console.log(`${role} ${JSON.stringify(options)} in ${html}: ${seen}`);
  if (seen !== expected) throw new Error(`the behaviour has changed; expected ${expected}`);
}

check('<input type="number" value="3">', "spinbutton", { value: { now: 3 } }, 0);
check('<input type="range" value="3">', "slider", { value: { now: 3 } }, 0);
check('<div role="slider" aria-valuenow="3"></div>', "slider", { value: { now: 3 } }, 1);
check("<input type=checkbox checked>", "checkbox", { checked: true }, 1);
for (const checked of [true, false]) {
  check("<input type=checkbox>", "checkbox", { checked }, 0, (element) => { element.indeterminate = true; });
}
check('<select><option label="Large">L</option></select>', "option", { name: "Large" }, 0);
check('<select><option label="Large">L</option></select>', "option", { name: "L" }, 1);
check("<details><summary>More</summary><button>Buy</button></details>", "button", {}, 1);
check("<div inert><button>Buy</button></div>", "button", {}, 1);
check("<div hidden><button>Buy</button></div>", "button", {}, 0);
JAVASCRIPT
node roles.mjs
