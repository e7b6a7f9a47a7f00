#!/usr/bin/env bash
# compromise 14.17.0 (npm): numbers of a sentence.
#
# Guess: `numbers().get()` returns the numbers that the sentence contains, or an empty list.
# Seen:  "10k" is 10 and "$1.5k" 1.5. "two dozen" is 2, "no one" is 1, and "point five" is 5. "fifty fifty" is 0, and "twenty twenty
#        four" 0 and 4. If there is no number, the result is an object instead of a list. `toNumber` writes "one third" as "0.333rd".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund compromise@14.17.0
cat > numbers.mjs <<'JAVASCRIPT'
import nlp from "compromise";

for (const [text, expected] of [
  ["two million three hundred thousand", [2300000]],
  ["10k followers", [10]],
  ["$1.5k", [1.5]],
  ["two dozen eggs", [2]],
  ["no one", [1]],
  ["point five", [5]],
  ["zero point five", [0.5]],
  ["fifty fifty", [0]],
  ["twenty twenty four", [0, 4]],
]) {
  const seen = nlp(text).numbers().get();
  console.log(`${text}: ${JSON.stringify(seen)}`);
  if (JSON.stringify(seen) !== JSON.stringify(expected)) throw new Error(`the behaviour has changed; expected ${JSON.stringify(expected)}`);
}
const none = nlp("a dozen").numbers().get();
console.log(`a dozen: ${Array.isArray(none) ? "a list" : none.constructor.name}`);
if (Array.isArray(none)) throw new Error("the behaviour has changed; expected no list");
const third = nlp("one third");
third.numbers().toNumber();
console.log(`one third: ${third.text()}`);
if (third.text() !== "0.333rd") throw new Error("the behaviour has changed; expected 0.333rd");
JAVASCRIPT
node numbers.mjs
