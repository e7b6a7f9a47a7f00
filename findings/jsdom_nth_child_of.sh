#!/usr/bin/env bash
# jsdom 29.1.1, @asamuzakjp/dom-selector 7.1.1 (npm): `:nth-child(2 of .open)` with a type in front of it.
#
# Guess: `li:nth-child(2 of .open)` selects the second item with the class, as `:nth-child(2 of .open)` does.
# Seen:  it selects nothing. `ul > li:nth-child(2 of .open)`, `li:nth-child(n+2 of .open)` and the type within the brackets select it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund jsdom@29.1.1 @asamuzakjp/dom-selector@7.1.1
cat > nth.mjs <<'JAVASCRIPT'
import { JSDOM } from "jsdom";

const { document } = new JSDOM("<!DOCTYPE html><ul><li class=open>1<li>2<li class=open>3<li class=open>4</ul>").window;
for (const [selector, expected] of [
  ["li:nth-child(2 of .open)", ""],
  [":nth-child(2 of .open)", "3"],
  [":nth-child(2 of li.open)", "3"],
  ["ul > li:nth-child(2 of .open)", "3"],
  ["li:nth-child(n+2 of .open)", "3,4"],
]) {
  const seen = [...document.querySelectorAll(selector)].map((element) => element.textContent).join();
  console.log(`${selector}: ${JSON.stringify(seen)}`);
  if (seen !== expected) throw new Error(`the behaviour has changed; expected ${JSON.stringify(expected)}`);
}
JAVASCRIPT
node nth.mjs
