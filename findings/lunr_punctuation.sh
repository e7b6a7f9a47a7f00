#!/usr/bin/env bash
# lunr 2.3.9 (npm): questions to an index of products.
#
# Guess: a product is found by the text that it has, and by its name with a question mark or a comma.
# Seen:  punctuation is removed from the products and not from the query: "mug?", "mug," and "(mug)" find nothing, nor do "$5.99" and
#        "C++", which are in the names; "5.99" and "c" find them. "red mug?" finds what is red, without a warning.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund lunr@2.3.9
cat > search.mjs <<'JAVASCRIPT'
import lunr from "lunr";

const index = lunr(function () {
  this.ref("id");
  this.field("name");
  for (const [id, name] of [["mug", "Blue mug, $5.99"], ["book", "C++ in a week"], ["cup", "Red cup"]]) this.add({ id, name });
});
for (const [query, expected] of [
  ["mug", "mug"],
  ["what is a mug", "mug"],
  ["mug?", ""],
  ["mug,", ""],
  ["(mug)", ""],
  ["red mug?", "cup"],
  ["5.99", "mug"],
  ["$5.99", ""],
  ["c", "book"],
  ["C++", ""],
]) {
  const seen = index.search(query).map(({ ref }) => ref).join(", ");
  console.log(`${query}: ${seen || "nothing"}`);
  if (seen !== expected) throw new Error(`the behaviour has changed; expected ${expected || "nothing"}`);
}
JAVASCRIPT
node search.mjs
