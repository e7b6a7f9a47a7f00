#!/usr/bin/env bash
# appworld 0.1.3.post1: comparison of a task's answer with the expected one.
#
# Guess: numbers are equal if they are to the cent, and identifiers are compared as texts.
# Seen:  19.994 is 19.99, but 434.99999999999994, which is 100 * 4.35 in Python, is not 435, nor is 20.004 20: a number is rounded only
#        after the test for whole numbers and keeps the text "435.0". "007" is 7, True is 1, and identifiers of 16 digits may be equal
#        to their neighbours; "1,000" is not 1000.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet appworld==0.1.3.post1
cd "$folder"
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
from appworld.common.utils import do_answers_match

CASES = (
    (435, "435", True),
    (19.994, 19.99, True),
    (20.004, 20.003, True),
    (100 * 4.35, 435, False),
    (19.996, 20, False),
    (20.004, 20, False),
    ("1,000", 1000, False),
    ("$5", 5, False),
    ("1_000", 1000, True),
    ("007", "7", True),
    (True, 1, True),
    ("9999999999999999", "10000000000000000", True),
)
for answer, expected_answer, equal in CASES:
    seen = do_answers_match(answer, expected_answer)
    print(f"answer {answer!r}, expected {expected_answer!r}: {'equal' if seen else 'not equal'}")
    assert seen is equal, f"the behaviour has changed; expected {equal}"
PYTHON
