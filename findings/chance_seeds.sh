#!/usr/bin/env bash
# chance 1.1.13 (npm): seeds of generated pages and tasks.
#
# Guess: two seeds, such as a world and a task, select other numbers than two other seeds do, and each object is another seed.
# Seen:  integers are added up, each one multiplied by its place from the end: `new Chance(1, 2)`, `(2, 0)`, `(0, 4)` and `(4)` are one
#        generator. Each object is the seed 0, as are 0.5, null and 2^32.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund chance@1.1.13
cat > seeds.mjs <<'JAVASCRIPT'
import Chance from "chance";

const draws = (seeds) => {
  const chance = new Chance(...seeds);
  return [1, 2, 3].map(() => chance.integer({ min: 0, max: 1e9 })).join(" ");
};
for (const [first, second, equal] of [
  [[1], [2], false],
  [["a", "b"], ["b", "a"], false],
  [[1, 2], [1, 3], false],
  [[1, 2], [2, 0], true],
  [[1, 2], [0, 4], true],
  [[1, 2], [4], true],
  [[3, 1], [2, 3], true],
  [[{ world: 1 }], [{ world: 2 }], true],
  [[{ world: 1 }], [0], true],
  [[0.5], [0], true],
  [[null], [0], true],
  [[2 ** 32], [0], true],
]) {
  const seen = draws(first) === draws(second);
  console.log(`${JSON.stringify(first)} and ${JSON.stringify(second)}: ${seen ? "equal" : "different"} numbers`);
  if (seen !== equal) throw new Error("the behaviour has changed");
}
JAVASCRIPT
node seeds.mjs
