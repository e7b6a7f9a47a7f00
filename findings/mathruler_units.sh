#!/usr/bin/env bash
# mathruler 0.1.0: equal answers.
#
# Guess: an answer with another unit, or in percent, is another answer, and the package installs what it imports.
# Seen:  words for units are removed wherever they are: "2 hours" is "2 minutes", "in a week" is "in a month", "12 cm^2" is "12 cm", and
#        "birthday" is "birth". "25%" is 25, and not 0.25. "2 hours" is another answer than "2 apples". Products and sums are not
#        computed: "2*3" is not 6. The package requires nothing, and imports sympy, pylatexenc and tqdm.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet mathruler==0.1.0
if "$folder/venv/bin/python" -c "import mathruler.grader" 2> "$folder/error"; then
    echo "the behaviour has changed; expected an error"
    exit 1
fi
tail -1 "$folder/error" | grep "No module named 'sympy'"
"$folder/venv/bin/pip" install --quiet sympy==1.14.0 pylatexenc==2.11 tqdm==4.70.1
"$folder/venv/bin/python" - <<'PYTHON'
from mathruler.grader import grade_answer

for answer, reference, expected in (
    ("1,000", "1000", True),
    ("5 apples", "5", False),
    ("2 hours", "2 apples", False),
    ("2 hours", "2 minutes", True),
    ("1 year", "1 day", True),
    ("3 feet", "3 inches", True),
    ("12 cm^2", "12 cm", True),
    ("in a week", "in a month", True),
    ("monthly", "weekly", True),
    ("birthday", "birth", True),
    ("25%", "25", True),
    ("0.25", "25%", False),
    ("1/4", "25%", False),
    ("1/4", "0.25", True),
    ("2*3", "6", False),
    ("2+3", "5", False),
):
    seen = grade_answer(answer, reference)
    print(f"{answer} for {reference}: {seen}")
    assert seen is expected, f"the behaviour has changed; expected {expected}"
PYTHON
