#!/usr/bin/env bash
# jsondiffpatch 0.7.7 (npm): undoing a difference with `unpatch` and `objectHash`.
#
# Guess: `unpatch(new, diff(old, new))` is the old state, for lists whose objects are matched by their ids as well.
# Seen:  an object that changed and moved behind one from the end of the list keeps its new values: the quantities of the new state stay
#        in the old one. `patch` is right, and so is `unpatch` without `objectHash`, or if the object moved only.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund jsondiffpatch@0.7.7
cat > unpatch.mjs <<'JAVASCRIPT'
import { create } from "jsondiffpatch";

const cart = (lines) => lines.map(([id, quantity]) => ({ id, quantity }));
const write = (lines) => lines.map(({ id, quantity }) => `${id}:${quantity}`).join(" ");
const byId = create({ objectHash: ({ id }) => id });
const byIndex = create();
for (const [before, after, expected] of [
  [[["mug", 1], ["cup", 1]], [["cup", 1], ["mug", 5]], "mug:1 cup:1"],
  [[["mug", 1], ["cup", 1], ["hat", 1]], [["cup", 1], ["mug", 5]], "mug:1 cup:1 hat:1"],
  [[["mug", 1], ["cup", 1], ["hat", 1]], [["hat", 1], ["mug", 1]], "mug:1 cup:1 hat:1"],
  [[["mug", 1], ["cup", 1], ["hat", 1]], [["hat", 1], ["mug", 5]], "mug:5 cup:1 hat:1"],
  [[["mug", 1], ["cup", 1], ["hat", 1]], [["hat", 9], ["mug", 5]], "mug:5 cup:1 hat:1"],
]) {
  const seen = write(byId.unpatch(cart(after), byId.diff(cart(before), cart(after))));
  console.log(`${write(cart(before))} to ${write(cart(after))}: unpatched ${seen}`);
  if (write(byId.patch(cart(before), byId.diff(cart(before), cart(after)))) !== write(cart(after))) throw new Error("patch has changed");
  if (write(byIndex.unpatch(cart(after), byIndex.diff(cart(before), cart(after)))) !== write(cart(before))) throw new Error("changed by index");
  if (seen !== expected) throw new Error(`the behaviour has changed; expected ${expected}`);
}
JAVASCRIPT
node unpatch.mjs
