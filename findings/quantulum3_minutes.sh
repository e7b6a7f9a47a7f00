#!/usr/bin/env bash
# quantulum3 0.10.0: quantities of time and halves.
#
# Guess: "30 minutes" is a time, as "2 hours" is, and "half a mile" half of a mile.
# Seen:  minutes and seconds, written out, are angles ("minute of arc"), also next to hours; "half a mile" is 0.5 "per mile",
#        and "half an hour" 0.5 without a unit. The abbreviation "5 min" and "a quarter mile" are read as expected.
#        The extra "classifier", which chooses among units, returns the same with scikit-learn 1.8.0. With 1.9.1, which pip
#        selects, each text with such a unit is a ModuleNotFoundError.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet quantulum3==0.10.0
"$folder/venv/bin/python" - <<'PYTHON'
import logging

from quantulum3 import parser

logging.disable(logging.WARNING)  # about the optional classifier of ambiguous units
expected = {
    "2 hours": [(2.0, "hour")],
    "5 min": [(5.0, "minute")],
    "It takes 2 hours 30 minutes.": [(2.0, "hour"), (30.0, "minute of arc")],
    "45 seconds": [(45.0, "second of arc")],
    "a quarter mile": [(0.25, "mile")],
    "half a mile": [(0.5, "per mile")],
    "half an hour": [(0.5, "dimensionless")],
}
for text, quantities in expected.items():
    seen = [(quantity.value, quantity.unit.name) for quantity in parser.parse(text)]
    print(f"{text!r} -> {seen}")
    assert seen == quantities, f"the behaviour has changed; expected {quantities}"
PYTHON
