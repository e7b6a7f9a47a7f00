#!/usr/bin/env bash
# @testing-library/user-event 14.6.13 (npm): keys and clicks on a page in jsdom.
#
# Guess: keys and clicks do what they do in a browser, or are an error.
# Seen:  arrow keys and letters do not change a `select`, a number or a range. Tab goes to fields in an inert element and in a closed
#        `details`, and a click on a button in an inert element arrives. A click on a link within a label checks the checkbox.
#        Chromium does the reverse in each case.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund @testing-library/user-event@14.6.13 @testing-library/dom@10.4.2 jsdom@29.1.1
cat > keys.mjs <<'JAVASCRIPT'
import { JSDOM } from "jsdom";

const { window } = new JSDOM("<!doctype html><body>", { pretendToBeVisual: true });
Object.assign(globalThis, { window, document: window.document });
for (const name of ["Element", "HTMLElement", "Node", "Event", "MutationObserver", "getComputedStyle"]) globalThis[name] = window[name];
const { userEvent } = await import("@testing-library/user-event");
const user = userEvent.setup({ document });

async function check(name, html, expected, act) {
  document.activeElement?.blur();
  document.body.innerHTML = html;
  const seen = await act(document.body.querySelector("[data-target]"));
  console.log(`${name}: ${seen}`);
  if (seen !== expected) throw new Error(`the behaviour has changed; expected ${expected}`);
}
const press = (keys) => async (field) => {
  field.focus();
  await user.keyboard(keys);
  return field.value;
};
const tab = (count) => async () => {
  for (let index = 0; index < count; index += 1) await user.tab();
  return document.activeElement.id;
};

await check("a letter in a text field", "<input data-target>", "b", press("b"));
await check("an arrow key on a list", "<select data-target><option>Red<option>Blue</select>", "Red", press("{ArrowDown}"));
await check("a letter on a list", "<select data-target><option>Red<option>Blue</select>", "Red", press("b"));
await check("an arrow key on a number", "<input data-target type=number value=5>", "5", press("{ArrowUp}"));
await check("an arrow key on a range", "<input data-target type=range value=50>", "50", press("{ArrowRight}"));
await check("Tab and a disabled fieldset", "<fieldset disabled><input id=first></fieldset><input id=second>", "second", tab(1));
await check("Tab and an inert element", "<div inert><input id=first></div><input id=second>", "first", tab(1));
await check("Tab and a closed details", "<details><summary>More</summary><input id=first></details><input id=second>", "first", tab(2));
await check("a click in an inert element", "<div inert><button data-target>Buy</button></div>", true, async (button) => {
  let clicked = false;
  button.addEventListener("click", () => { clicked = true; });
  await user.click(button);
  return clicked;
});
await check("a link in a label", "<label><input type=checkbox> I accept the <a href='#terms' data-target>terms</a></label>", true, async (link) => {
  await user.click(link);
  return document.querySelector("input").checked;
});
process.exit(0);
JAVASCRIPT
node keys.mjs
