#!/usr/bin/env bash
# arktype 2.2.10 (npm): texts that are dates.
#
# Guess: `string.date` and `string.date.parse` refuse a text that is no date, and `string.date.iso` a day that does not exist.
# Seen:  "size 5" and "Mug 12" are dates, in May and December 2001, as is "5". February 30 is March 2, also with `string.date.iso.parse`,
#        and "2026-02-30" is a valid `string.date.iso`. Numbers are read more strictly: "007", "1e3" and "5.0" are refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund arktype@2.2.10
cat > dates.mjs <<'JAVASCRIPT'
import { type } from "arktype";

process.env.TZ = "UTC";
for (const [definition, text, expected] of [
  ["string.date", "size", "refused"],
  ["string.date", "size 5", "size 5"],
  ["string.date.parse", "5", "2001-05-01"],
  ["string.date.parse", "size 5", "2001-05-01"],
  ["string.date.parse", "Mug 12", "2001-12-01"],
  ["string.date.parse", "Mug 13", "refused"],
  ["string.date.parse", "2026-02-30", "2026-03-02"],
  ["string.date.iso", "10:30", "refused"],
  ["string.date.iso", "2026-02-30", "2026-02-30"],
  ["string.date.iso.parse", "2026-02-30", "2026-03-02"],
  ["string.numeric.parse", "1e3", "refused"],
  ["string.integer.parse", "007", "refused"],
  ["string.integer.parse", "5.0", "refused"],
]) {
  const result = type(definition)(text);
  const seen = result instanceof type.errors ? "refused" : result instanceof Date ? result.toISOString().slice(0, 10) : String(result);
  console.log(`${definition}, "${text}": ${seen}`);
  if (seen !== expected) throw new Error(`the behaviour has changed; expected ${expected}`);
}
JAVASCRIPT
node dates.mjs
