#!/usr/bin/env bash
# mockdate 3.0.5, timekeeper 2.3.1 and @sinonjs/fake-timers 15.5.0 (npm): the day that a page shows with a fixed clock.
#
# Guess: with a fixed clock each way to read the time returns the fixed day, and classes that extend Date keep their methods.
# Seen:  with mockdate and timekeeper `new Intl.DateTimeFormat().format()` returns the real day, and an object of a class that extends Date has
#        no methods of that class. With timekeeper `Date()` is the real day too. fake-timers is right in all of them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund mockdate@3.0.5 timekeeper@2.3.1 @sinonjs/fake-timers@15.5.0
cat > days.mjs <<'JAVASCRIPT'
import FakeTimers from "@sinonjs/fake-timers";
import mockdate from "mockdate";
import timekeeper from "timekeeper";

const day = new Date("2001-01-05T12:00:00Z");
const fix = {
  mockdate: () => (mockdate.set(day), () => mockdate.reset()),
  timekeeper: () => (timekeeper.freeze(day), () => timekeeper.reset()),
  "fake-timers": () => {
    const clock = FakeTimers.install({ now: day, toFake: ["Date", "Intl"] });
    return () => clock.uninstall();
  },
};
for (const [name, expected] of [
  ["mockdate", "2001 2001 2001 real no"],
  ["timekeeper", "2001 2001 real real no"],
  ["fake-timers", "2001 2001 2001 2001 yes"],
]) {
  const restore = fix[name]();
  class Deadline extends Date {
    isPast() {
      return true;
    }
  }
  const texts = [new Date().toISOString(), new Date(Date.now()).toISOString(), Date(), new Intl.DateTimeFormat("en", { dateStyle: "long" }).format()];
  const hasMethod = typeof new Deadline().isPast === "function";
  restore();
  const seen = [...texts.map((text) => (String(text).includes("2001") ? "2001" : "real")), hasMethod ? "yes" : "no"].join(" ");
  console.log(`${name}: new Date(), Date.now(), Date(), Intl.DateTimeFormat, methods of a class: ${seen}`);
  if (seen !== expected) throw new Error(`the behaviour has changed; expected ${expected}`);
}
JAVASCRIPT
node days.mjs
