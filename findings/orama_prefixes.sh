#!/usr/bin/env bash
# @orama/orama 3.1.18 (npm): a search for products, and counts of prices.
#
# Guess: a product with the words of the query is ranked before one with longer words, and each price is in one range.
# Seen:  each word of the query finds longer ones with the score of their rarity: for "size 5" the size 50 is first, "AB-12" and "AB-123"
#        have one score, and for "C++" a cup of coffee is first. With `exact: true` the sizes are distinguished, but "C++" and "mug?"
#        find nothing. A price of 5 is in the range from 0 to 5 and in that from 5 to 10.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund @orama/orama@3.1.18
cat > search.mjs <<'JAVASCRIPT'
import { create, insert, search } from "@orama/orama";

const database = create({ schema: { id: "string", name: "string", number: "string", price: "number" } });
for (const product of [
  { id: "mug", name: "Red mug, $5.99", number: "AB-12", price: 5 },
  { id: "book", name: "C++ in a week", number: "AB-123", price: 10 },
  { id: "coffee", name: "Cup of coffee", number: "CD-7", price: 0 },
  { id: "shoe 50", name: "size 50 shoe", number: "E", price: 7 },
  { id: "shoe 5", name: "size 5 shoe", number: "F", price: 7 },
]) {
  await insert(database, product);
}
for (const [term, expected, exactly] of [
  ["week", "book", "book"],
  ["size 5", "shoe 50, shoe 5, mug", "shoe 5"],
  ["size 5 shoe", "shoe 50, shoe 5, mug", "shoe 5"],
  ["C++", "coffee, book", ""],
  ["mug?", "mug", ""],
]) {
  const names = async (exact) => (await search(database, { term, exact })).hits.map(({ id }) => id).join(", ");
  const [seen, exact] = [await names(false), await names(true)];
  console.log(`${term}: ${seen}; with exact: ${exact || "nothing"}`);
  if (seen !== expected || exact !== exactly) throw new Error(`the behaviour has changed; expected ${expected}; ${exactly}`);
}
const [first, second] = (await search(database, { term: "AB-12" })).hits;
console.log(`AB-12: ${first.document.number} ${first.score}, ${second.document.number} ${second.score}`);
if (first.score !== second.score) throw new Error("the behaviour has changed; expected equal scores");
const ranges = [{ from: 0, to: 5 }, { from: 5, to: 10 }, { from: 10, to: 20 }];
const { values } = (await search(database, { term: "", facets: { price: { ranges } } })).facets.price;
console.log("ranges of the prices 0, 5, 7, 7, 10:", values);
if (JSON.stringify(values) !== '{"0-5":2,"5-10":4,"10-20":1}') throw new Error("the behaviour of facets has changed");
JAVASCRIPT
node search.mjs
