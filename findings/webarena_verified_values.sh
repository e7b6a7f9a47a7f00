#!/usr/bin/env bash
# webarena-verified 1.2.3: how its evaluator reads the amounts, dates, numbers and places of an answer.
#
# Guess: "$1,250" is 1250, as "$1,250.00" is. A month is no date, a verdict does not depend on the day of the evaluation, and the
#        typed values that an answer may have are distinguished by their signs and numbers.
# Seen:  a comma without a point after it is a decimal separator: the currency "$1,250" is 1.25, and so is the text "1,250". The
#        date "March 2023" is the day of this month on which the evaluator runs, and 10:30 is today. "($50)" and "$-50" are 50,
#        and the number "minus five" is 5. Of the places, South Carolina is North Carolina, and Pier 38 is Pier 39.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet webarena-verified==1.2.3
"$folder/venv/bin/python" - <<'PYTHON'
import datetime

from webarena_verified.core.evaluation.data_types import TYPE_REGISTRY

today = datetime.date.today()
march = f"2023-03-{today.day:02}"
for kind, answer, expected, equal in (
    ("currency", "$1,250.00", 1250, True),
    ("currency", "$1,250", 1250, False),
    ("currency", "$1,250", 1.25, True),
    ("currency", "1,250", 1250, False),
    ("currency", "-$50", -50, True),
    ("currency", "$-50", -50, False),
    ("currency", "$-50", 50, True),
    ("currency", "($50)", 50, True),
    ("number", "1,250", 1250, True),
    ("number", "minus five", 5, True),
    ("date", "May 5, 2023", "2023-05-05", True),
    ("date", "March 2023", march, True),
    ("date", "10:30", today.isoformat(), True),
    ("location-name", "West Virginia", "Virginia", False),
    ("location-name", "South Carolina", "North Carolina", True),
    ("location-name", "Pier 38", "Pier 39", True),
):
    value = TYPE_REGISTRY[kind]
    seen = value(answer) == value(expected)
    shown = "a day of March 2023" if expected == march else "today" if expected == today.isoformat() else expected
    print(f"{kind}: {answer!r} is {'equal' if seen else 'not equal'} to {shown!r}")
    assert seen == equal, f"the behaviour has changed; expected {equal}"
PYTHON
