#!/usr/bin/env bash
# chrono-node 2.10.3 (npm): dates of a phrase of several words.
#
# Guess: a phrase is read as a whole, or nothing of it is.
# Seen:  a part of the phrase is read as a date: "day after tomorrow" without "the" is tomorrow, "a week from today" is today, "two
#        days before christmas" two days ago, "1st of next month" the 15th if today is the 15th, and "Friday the 13th" the next
#        Friday. "1/2 cup" is the second of January, and "Dec 25" in May is that of the year before. `parseDate` returns the date
#        without the part of the text that it comes from.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund chrono-node@2.10.3
cat > phrases.mjs <<'JAVASCRIPT'
import * as chrono from "chrono-node";

const wednesday = { instant: new Date("2024-05-15T10:30:00Z"), timezone: 0 };
for (const [text, part, expected] of [
  ["tomorrow", "tomorrow", "2024-05-16"],
  ["day after tomorrow", "tomorrow", "2024-05-16"],
  ["the day after tomorrow", "the day after tomorrow", "2024-05-17"],
  ["a week from today", "today", "2024-05-15"],
  ["two days before christmas", "two days before", "2024-05-13"],
  ["1st of next month", "next month", "2024-06-15"],
  ["Friday the 13th", "Friday", "2024-05-17"],
  ["1/2 cup", "1/2", "2024-01-02"],
  ["Dec 25", "Dec 25", "2023-12-25"],
]) {
  const [result] = chrono.parse(text, wednesday);
  const seen = chrono.parseDate(text, wednesday).toISOString().slice(0, 10);
  console.log(`${text}: ${seen}, of "${result.text}"`);
  if (seen !== expected || result.text !== part) throw new Error(`the behaviour has changed; expected ${expected} of "${part}"`);
}
JAVASCRIPT
node phrases.mjs
