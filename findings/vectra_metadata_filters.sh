#!/usr/bin/env bash
# vectra 0.12.3 (npm): filters on the metadata of a local vector index.
#
# Guess: `$in` and `$nin` compare numbers and booleans as `$eq` does, and an operator or a vector that does not fit is an error.
# Seen:  with numbers `$in` selects nothing and `$nin` everything; `$in: [false]` selects nothing. An unknown operator is taken for
#        equality. A vector of three numbers is stored in an index of two, with a score, and one of zeros has the
#        score NaN.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund vectra@0.12.3
cat > filters.mjs <<'JAVASCRIPT'
import { LocalIndex } from "vectra";

const index = new LocalIndex("index");
await index.createIndex({ version: 1 });
await index.insertItem({ id: "mug", vector: [1, 0], metadata: { size: 5, color: "red", sold: false } });
await index.insertItem({ id: "cup", vector: [1, 1], metadata: { size: 6, color: "blue", sold: true } });
const select = async (filter) => (await index.queryItems([1, 0], "", 10, filter)).map(({ item }) => item.id).join();
for (const [filter, expected] of [
  [{ size: { $eq: 5 } }, "mug"],
  [{ color: { $in: ["red"] } }, "mug"],
  [{ color: { $nin: ["red"] } }, "cup"],
  [{ size: { $in: [5, 6] } }, ""],
  [{ size: { $nin: [5, 6] } }, "mug,cup"],
  [{ sold: { $in: [false] } }, ""],
  [{ size: { $below: 6 } }, "cup"],
]) {
  const seen = await select(filter);
  console.log(`${JSON.stringify(filter)}: ${seen || "nothing"}`);
  if (seen !== expected) throw new Error(`the behaviour has changed; expected ${expected}`);
}
await index.insertItem({ id: "long", vector: [1, 0, 9], metadata: {} });
await index.insertItem({ id: "zero", vector: [0, 0], metadata: {} });
const scores = Object.fromEntries((await index.queryItems([1, 0], "", 10)).map(({ item, score }) => [item.id, score]));
console.log(scores);
if (!Number.isNaN(scores.zero)) throw new Error("the behaviour has changed; expected NaN");
if (!(scores.long > 0)) throw new Error("the behaviour has changed; expected a score");
JAVASCRIPT
node filters.mjs
