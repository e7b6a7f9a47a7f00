#!/usr/bin/env bash
# markitdown 0.1.9 with the extra "xlsx": the cells of a workbook in Markdown.
#
# Guess: a cell is in the Markdown as it is in the workbook, as the cells of a CSV file are.
# Seen:  the texts "007" and "008" are 7 and 8, and "N/A", "None" and "null" are NaN, as an empty cell is. With one empty cell the other
#        integers of a column are 3.0 and the booleans 1.0 and 0.0. Next to a small number 1,250.55 is 1.250550e+03, and 1,234,567.89
#        is 1.234568e+06, without its last digits. A vertical bar is not escaped and begins another cell. In CSV all of them are kept.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet "markitdown[xlsx]==0.1.9" openpyxl==3.1.5 pandas==3.1.1
cd "$folder"
venv/bin/python - <<'PYTHON'
import csv

from markitdown import MarkItDown
from openpyxl import Workbook

HEAD = ("sku", "quantity", "price", "note", "paid")
ROWS = (
    ("007", 3, 1234567.89, "N/A", True),
    ("008", None, 0.00012, "S|M", False),
    ("009", 2, 1250.55, "None", None),
)
EXPECTED = [
    "| 7 | 3.0 | 1.234568e+06 | NaN | 1.0 |",
    "| 8 | NaN | 1.200000e-04 | S|M | 0.0 |",
    "| 9 | 2.0 | 1.250550e+03 | NaN | NaN |",
]
workbook = Workbook()
for row in (HEAD, *ROWS):
    workbook.active.append(row)
workbook.save("orders.xlsx")
with open("orders.csv", "w", newline="") as file:
    csv.writer(file).writerows((HEAD, *ROWS))
seen = MarkItDown().convert("orders.xlsx").text_content.splitlines()[3:]
for row, line, expected in zip(ROWS, seen, EXPECTED, strict=True):
    print(f"{row}: {line}")
    assert line == expected, f"the behaviour has changed; expected {expected}"
in_csv = MarkItDown().convert("orders.csv").text_content.splitlines()[2:]
print("\n".join(in_csv))
assert in_csv == [
    "| 007 | 3 | 1234567.89 | N/A | True |",
    "| 008 |  | 0.00012 | S\\|M | False |",
    "| 009 | 2 | 1250.55 | None |  |",
], "the Markdown of the CSV file has changed"
PYTHON
