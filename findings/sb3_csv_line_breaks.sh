#!/usr/bin/env bash
# stable-baselines3 2.9.2: texts in the log "progress.csv".
#
# Guess: a CSV reader returns the texts that were recorded, also if a later record has a new key.
# Seen:  when a new key appears, a comma is added to every line of the file, also within a text that has a line break: its text
#        contains the commas, and its row has fewer columns. "progress.json" has the text as it was.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 stable-baselines3==2.9.2
"$folder/venv/bin/python" - <<'PYTHON'
import csv
import json
import tempfile
from pathlib import Path

from stable_baselines3.common.logger import configure

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    logger = configure(str(folder), ["csv", "json"])
    logger.record("answer", "first line\nsecond line")
    logger.record("reward", 1)
    logger.dump(1)
    for step in (2, 3):
        logger.record(f"new{step}", 0)
        logger.dump(step)
    logger.close()
    with open(folder / "progress.csv", newline="") as file:
        row = next(csv.DictReader(file))
    first = json.loads((folder / "progress.json").read_text().splitlines()[0])
print("json:", first)
print("csv: ", row)
assert first["answer"] == "first line\nsecond line"
assert ",," in row["answer"], "the behaviour has changed"
PYTHON
