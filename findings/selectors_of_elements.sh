#!/usr/bin/env bash
# optimal-select 4.0.1, simmerjs 0.5.6, unique-selector 0.5.0 and @medv/finder 4.0.2 (npm) with jsdom 29.1.1: a CSS selector of an element.
#
# Guess: the selector of an element selects that element only.
# Seen:  in simmerjs a button with a class such as "hover:bold" and a custom element have none. In optimal-select the selector of a form
#        with a field named "children" selects its fields. unique-selector and finder have a selector for each of them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund optimal-select@4.0.1 simmerjs@0.5.6 unique-selector@0.5.0 @medv/finder@4.0.2 jsdom@29.1.1
cat > select.mjs <<'JAVASCRIPT'
import { finder } from "@medv/finder";
import { JSDOM } from "jsdom";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { window } = new JSDOM(`<body>
  <p>one</p><p>two</p>
  <div><button class="hover:bold">Pay</button><button class="hover:bold">Stop</button></div>
  <shop-item><p>mug</p></shop-item>
  <form><input name="adults"><input name="children"></form>
</body>`);
Object.assign(globalThis, { window, document: window.document, Node: window.Node, Element: window.Element });
globalThis.CSS = { escape: (text) => text.replace(/[^\w-]/g, "\\$&") };
const optimal = require("optimal-select");
const unique = require("unique-selector");
const simmer = require("simmerjs").default(window, {});
const LIBRARIES = {
  finder: (element) => finder(element),
  "unique-selector": (element) => unique.default(element),
  simmerjs: (element) => simmer(element),
  "optimal-select": (element) => optimal.select(element),
};
const CASES = [ // element, libraries whose selector does not select it
  ["p", []],
  ["button", ["simmerjs"]],
  ["shop-item", ["simmerjs"]],
  ["form", ["optimal-select"]],
];
console.warn = () => {};
for (const [name, expected] of CASES) {
  const element = document.querySelector(name);
  const missed = Object.entries(LIBRARIES).filter(([library, select]) => {
    const selector = select(element);
    const selected = selector ? [...document.querySelectorAll(selector)] : [];
    console.log(`${name}: ${library} returns ${selector}, which selects ${selected.length} elements`);
    return selected.length !== 1 || selected[0] !== element;
  });
  const seen = missed.map(([library]) => library);
  if (String(seen) !== String(expected)) throw new Error(`the behaviour has changed; expected misses of ${expected}, got ${seen}`);
}
JAVASCRIPT
node select.mjs
