#!/usr/bin/env bash
# json_repair 0.64.6: values with a unit or a sign that a model wrote without quotation marks.
#
# Guess: such a value is read as text, as "1,000" and "555-1234" are.
# Seen:  what does not belong to the number is dropped: 5% is 5, "5 kg" is 5, $5 is 5, and 10:30 is 10. Prose with
#        numbers in brackets is the last bracket: "I clicked [5] and [6]." is the list [6], while prose without brackets is an empty text.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet json-repair==0.64.6
"$folder/venv/bin/python" - <<'PYTHON'
import json_repair

for reply, expected in (
    ('{"discount": 5%}', {"discount": 5}),
    ('{"weight": 5 kg, "count": 2}', {"weight": 5, "count": 2}),
    ('{"price": $5}', {"price": 5}),
    ('{"time": 10:30}', {"time": 10}),
    ('{"price": 1,000}', {"price": "1,000"}),
    ('{"phone": 555-1234}', {"phone": "555-1234"}),
    ('{"share": 1/2}', {"share": "1/2"}),
    ("I clicked [5] and [6].", [6]),
    ("I clicked 5 and 6.", ""),
):
    seen = json_repair.loads(reply)
    print(f"{reply!r}: {seen!r}")
    assert repr(seen) == repr(expected), f"the behaviour has changed; expected {expected!r}"
PYTHON
