#!/usr/bin/env bash
# xlsx 0.18.5 (npm) and openpyxl 3.1.5: a table of results that is written in JavaScript and read in Python.
#
# Guess: a score of NaN is an empty or an error cell, and a value that a cell cannot hold is an error, or its text.
# Seen:  one NaN or infinite score makes the workbook unreadable in openpyxl, while xlsx reads it. Lists and objects are left out, and a row
#        that has nothing else is missing. Other numbers, texts and booleans are as they were.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet openpyxl==3.1.5
cd "$folder"
npm install --silent --no-audit --no-fund xlsx@0.18.5
cat > write.mjs <<'JAVASCRIPT'
import xlsx from "xlsx";

for (const [name, scores] of Object.entries({
  numbers: [0.5, 1e-7, -3],
  texts: ["007", "=1+1", " a "],
  booleans: [true, false],
  nan: [0.5, NaN],
  infinite: [0.5, -Infinity],
  lists: [0.5, [1, 2], { mean: 1 }, 0.25],
})) {
  const book = xlsx.utils.book_new();
  xlsx.utils.book_append_sheet(book, xlsx.utils.json_to_sheet(scores.map((score) => ({ score }))));
  xlsx.writeFile(book, `${name}.xlsx`);
  const sheet = xlsx.readFile(`${name}.xlsx`).Sheets.Sheet1;
  console.log(`${name} in xlsx:`, xlsx.utils.sheet_to_json(sheet).map(({ score }) => score));
}
JAVASCRIPT
node write.mjs
venv/bin/python - <<'PYTHON'
from openpyxl import load_workbook

for name, expected in (
    ("numbers", [0.5, 1e-07, -3]),
    ("texts", ["007", "=1+1", " a "]),
    ("booleans", [True, False]),
    ("nan", ValueError),
    ("infinite", ValueError),
    ("lists", [0.5, None, None, 0.25]),
):
    try:
        seen = [cell.value for cell in load_workbook(f"{name}.xlsx").active["A"]][1:]
    except ValueError:
        seen = ValueError
    print(f"{name} in openpyxl: {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
