#!/usr/bin/env bash
# inspect-evals 0.26.0: the scorer of AssistantBench, for answers that contain digits and are no numbers.
#
# Guess: names, addresses and dates are compared by the F1 of their words, as the scorer's docstring states for strings.
# Seen:  the first number in an answer is the answer: all dates of one year are equal, as are two addresses with one house number.
#        "24 Hour Fitness" and "25 Hour Fitness" score 0.98, "5 May" and "20 May" 0.4. Without digits, "Blue Bag" and "Blue Cap" score 0.5.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet inspect-evals==0.26.0 inspect-ai==0.3.285
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
from inspect_evals.assistant_bench.scoring import score_answer

CASES = (
    ("Blue Bag", "Blue Cap", 0.5),
    ("2024-01-05", "2024-12-31", 1),
    ("January 5, 2024", "March 5, 2024", 1),
    ("10:30", "10:45", 1),
    ("12 Main Street", "12 Oak Avenue", 1),
    ("Route 66 Diner", "Studio 66 Gym", 1),
    ("7-Eleven", "7 Brew", 1),
    ("10 km", "10 miles", 1),
    ("24 Hour Fitness", "25 Hour Fitness", 0.98),
    ("5 May", "20 May", 0.4),
    ('["Cafe 1", "Bar 2"]', '["Gym 1", "Spa 2"]', 1),
)
for answer, expected_answer, score in CASES:
    seen = round(score_answer(answer, expected_answer), 2)
    print(f"answer {answer!r}, expected {expected_answer!r}: {seen}")
    assert seen == score, f"the behaviour has changed; expected {score}"
PYTHON
