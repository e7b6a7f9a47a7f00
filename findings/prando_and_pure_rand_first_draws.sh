#!/usr/bin/env bash
# prando 6.0.1 and pure-rand 8.4.2 (npm): the first draw of each seed.
#
# Guess: the first draws of the seeds 1 to 100, such as one for each task, are spread over the whole range.
# Seen:  in prando the first number is from 0.5001 to 0.5063, the first boolean is one and the same, and of ten items the sixth is drawn.
#        In pure-rand's xorshift128plus and xoroshiro128plus the first number is above 0.999998, and the first of two items alternates from
#        seed to seed. Its mersenne and congruential32 are spread. prando's seeds 0, 1, 1.5 and "" are one seed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund prando@6.0.1 pure-rand@8.4.2
cat > draw.mjs <<'JAVASCRIPT'
import prando from "prando";
import { uniformFloat64 } from "pure-rand/distribution/uniformFloat64";
import { uniformInt } from "pure-rand/distribution/uniformInt";
import { congruential32 } from "pure-rand/generator/congruential32";
import { mersenne } from "pure-rand/generator/mersenne";
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";
import { xorshift128plus } from "pure-rand/generator/xorshift128plus";

const Prando = prando.default ?? prando;
const seeds = Array.from({ length: 100 }, (_, index) => index + 1);
function check(name, seen, expected) {
  console.log(`${name}: ${seen}`);
  if (String(seen) !== String(expected)) throw new Error(`the behaviour has changed; expected ${expected}`);
}

const sources = {
  prando: [(seed) => new Prando(seed).next(), (seed) => new Prando(seed).nextInt(0, 1)],
};
for (const [name, create] of Object.entries({ xorshift128plus, xoroshiro128plus, mersenne, congruential32 })) {
  sources[name] = [(seed) => uniformFloat64(create(seed)), (seed) => uniformInt(create(seed), 0, 1)];
}
for (const [name, minimum, maximum, choices] of [
  ["prando", 0.5, 0.51, "1111111111"],
  ["xorshift128plus", 0.999998, 1, "0101010101"],
  ["xoroshiro128plus", 0.999998, 1, "0101010101"],
  ["mersenne", 0, 1, "1000101101"],
  ["congruential32", 0, 1, "0001111110"],
]) {
  const [number, choose] = sources[name];
  const numbers = seeds.map(number);
  const range = [Math.min(...numbers), Math.max(...numbers)];
  console.log(`${name}: from ${range[0]} to ${range[1]}`);
  const spread = range[1] - range[0];
  if (range[0] < minimum || range[1] > maximum || spread < 0.05 * (maximum - minimum)) throw new Error("the range has changed");
  check(`${name}, choices of the seeds 1 to 10`, seeds.slice(0, 10).map(choose).join(""), choices);
}
const items = "abcdefghij".split("");
check("prando, items", [...new Set(seeds.map((seed) => new Prando(seed).nextArrayItem(items)))], "f");
check("prando, seeds 0, 1, 1.5 and \"\"", new Set([0, 1, 1.5, ""].map((seed) => new Prando(seed).next())).size, 1);
JAVASCRIPT
node draw.mjs
