#!/usr/bin/env bash
# jstat 1.9.6 (npm): percentiles and quartiles of scores.
#
# Guess: `percentile` interpolates between all values, as Excel's and NumPy's do, and the quartiles of symmetric values are symmetric.
# Seen:  between the two largest values it does not interpolate, but returns the smaller one: the 90th percentile of 1, 2, 3, 4 is 3 instead
#        of 3.7, and that of 0 and 1 is 0. With 10 episodes the 95th percentile is the second largest value, whatever the largest is. The
#        quartiles of 1, 2, 3, 4, 5 are 1, 3 and 4. `median` and the 50th percentile of two values are 0.5 and 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund jstat@1.9.6
cat > percentiles.mjs <<'JAVASCRIPT'
import jstat from "jstat";

const seconds = [1, 2, 3, 4, 5, 6, 7, 8, 9];
for (const [name, seen, expected] of [
  ["25th percentile of 1, 2, 3, 4, 5", jstat.percentile([1, 2, 3, 4, 5], 0.25), 2],
  ["60th percentile of 1, 2, 3, 4", jstat.percentile([1, 2, 3, 4], 0.6), 2.8],
  ["90th percentile of 1, 2, 3, 4", jstat.percentile([1, 2, 3, 4], 0.9), 3],
  ["90th percentile of 0, 1", jstat.percentile([0, 1], 0.9), 0],
  ["50th percentile of 0, 1", jstat.percentile([0, 1], 0.5), 0],
  ["median of 0, 1", jstat.median([0, 1]), 0.5],
  ["95th percentile of 1 to 10", jstat.percentile([...seconds, 10], 0.95), 9],
  ["95th percentile of 1 to 9 and 600", jstat.percentile([...seconds, 600], 0.95), 9],
  ["quartiles of 1, 2, 3, 4, 5", jstat.quartiles([1, 2, 3, 4, 5]), [1, 3, 4]],
  ["quartiles of 1 to 7", jstat.quartiles([1, 2, 3, 4, 5, 6, 7]), [2, 4, 5]],
]) {
  console.log(`${name}: ${seen}`);
  const equal = Array.isArray(expected) ? String(seen) === String(expected) : Math.abs(seen - expected) < 1e-9;
  if (!equal) throw new Error(`the behaviour has changed; expected ${expected}`);
}
JAVASCRIPT
node percentiles.mjs
