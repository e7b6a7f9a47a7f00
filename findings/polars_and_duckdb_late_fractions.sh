#!/usr/bin/env bash
# polars 2.1.0 and duckdb 2.0.1: rewards that are whole numbers in the first rows and fractions later.
#
# Guess: the column has fractions, or reading it is an error, as polars documents for `strict=True`, its default.
# Seen:  the type is inferred from the first 100 rows (polars) or 20,480 rows (duckdb), and later values are converted to it without
#        an error. `polars.DataFrame` of dicts truncates 0.7 to 0. duckdb rounds: 0.5 in JSON is 0, 0.7 is 1, and 0.5 in CSV is 1. In
#        the same place `polars.read_ndjson` raises an error. A key that comes later is dropped by polars, and an error in duckdb.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet polars==2.1.0 duckdb==2.0.1
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import json
from pathlib import Path

import duckdb
import polars

LATE = [0.5, 0.7, 1.5, -0.9]


def rows(count):
    return [{"reward": 1}] * count + [{"reward": value} for value in LATE]


for count, expected in ((99, LATE), (100, [0, 0, 1, 0])):
    seen = polars.DataFrame(rows(count))["reward"].to_list()[-4:]
    print(f"polars, {count} whole numbers, then {LATE}: {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"

for count, in_json, in_csv in ((20_000, LATE, LATE), (20_480, [0, 1, 2, -1], None), (30_000, [0, 1, 2, -1], [1, 1, 2, -1])):
    Path("rewards.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows(count)))
    Path("rewards.csv").write_text("reward\n" + "".join(f"{row['reward']}\n" for row in rows(count)))
    for file, expected in (("rewards.jsonl", in_json), ("rewards.csv", in_csv)):
        if expected is not None:
            seen = [value for (value,) in duckdb.sql(f"select reward from '{file}'").fetchall()][-4:]
            print(f"duckdb, {count} whole numbers, then {LATE} in {file}: {seen}")
            assert seen == expected, f"the behaviour has changed; expected {expected}"

try:
    polars.read_ndjson("rewards.jsonl")
except polars.exceptions.ComputeError as error:
    print(f"read_ndjson: {error}")
else:
    raise AssertionError("the behaviour has changed; expected a ComputeError")
seen = polars.DataFrame([{"reward": 1}] * 100 + [{"reward": 1, "error": "no button"}]).columns
print(seen)
assert seen == ["reward"], "the behaviour has changed"
PYTHON
