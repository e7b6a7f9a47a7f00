#!/usr/bin/env bash
# json-diff-ts 4.10.4 and deep-diff 1.0.2 (npm): undoing the changes of an episode.
#
# Guess: reverting the differences between two states in the new state gives the old state, and the atomic changes of json-diff-ts are
#        the same differences.
# Seen:  of two elements that were added to an empty list, json-diff-ts leaves the second one, and of four the second and the last.
#        Its atomic changes, applied to the old state, keep elements that were removed. deep-diff is right if its changes are reverted
#        first to last; last to first, as changes are undone, it leaves elements or null.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund json-diff-ts@4.10.4 deep-diff@1.0.2
cat > revert.mjs <<'JAVASCRIPT'
import deepDiff from "deep-diff";
import { applyChangeset, atomizeChangeset, diff, revertChangeset, unatomizeChangeset } from "json-diff-ts";

const state = (text) => ({ cart: text.split("") });
const write = ({ cart }) => Array.from(cart, (element) => element ?? "null").join("");
for (const [before, after, reverted, applied, revertedFirstToLast, revertedLastToFirst] of [
  ["", "a", "", "a", "", ""],
  ["a", "ab", "a", "ab", "a", "a"],
  ["a", "b", "a", "b", "a", "a"],
  ["", "ab", "b", "ab", "", "b"],
  ["a", "abc", "ac", "abc", "a", "ac"],
  ["", "abcd", "bd", "abcd", "", "bdnull"],
  ["abc", "a", "abc", "ac", "abc", "abc"],
  ["abcd", "d", "abcd", "dc", "abcd", "abcd"],
]) {
  const changes = () => diff(state(before), state(after));
  const undo = (differences) => {
    const result = state(after);
    for (const difference of differences) deepDiff.revertChange(result, {}, difference);
    return write(result);
  };
  const atomic = unatomizeChangeset(atomizeChangeset(changes()));
  const seen = [
    write(revertChangeset(state(after), changes())),
    write(applyChangeset(state(before), atomic)),
    undo(deepDiff.diff(state(before), state(after))),
    undo(deepDiff.diff(state(before), state(after)).reverse()),
  ];
  console.log(`"${before}" to "${after}": reverted "${seen[0]}", atomic changes "${seen[1]}", deep-diff "${seen[2]}" and "${seen[3]}"`);
  if (write(applyChangeset(state(before), changes())) !== after) throw new Error("the behaviour of applyChangeset has changed");
  const expected = [reverted, applied, revertedFirstToLast, revertedLastToFirst];
  if (seen.join() !== expected.join()) throw new Error(`the behaviour has changed; expected ${expected}`);
}
JAVASCRIPT
node revert.mjs
