#!/usr/bin/env bash
# browsergym-assistantbench 0.14.3: rewards for answers that are numbers.
#
# Guess: the reward is between 0 and 1, larger for a number that is nearer, and "1,250" is 1250.
# Seen:  the comma is a decimal point, so that "1,250" scores 0 for 1250, and "1,25" scores 1 for 1.25. Below zero the order is reversed:
#        the right -10 scores 1, -5 scores 1.69, and -0.1 scores 5.61. (The evaluation is imported without the package around it,
#        which loads its tasks from the network.)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-deps browsergym-assistantbench==0.14.3 numpy==2.4.6 scipy==1.17.1
"$folder/venv/bin/python" -W ignore - "$folder/venv" <<'PYTHON'
import sys
from pathlib import Path

[package] = Path(sys.argv[1]).glob("lib/python*/site-packages/browsergym/assistantbench")
sys.path.insert(0, str(package))
from evaluation.evaluator import question_scorer  # noqa: E402

CASES = (
    ("1250", "1250", 1),
    ("1200", "1250", 0.96),
    ("1,250", "1250", 0),
    ("$1,250", "1250", 0),
    ("1,25", "1.25", 1),
    ('{"name": "Gym", "price": "1,250"}', '{"name": "Gym", "price": 1250}', 0.5),
    ("5", "10", 0.31),
    ("-10", "-10", 1),
    ("-5", "-10", 1.69),
    ("-0.1", "-10", 5.61),
)
for answer, expected_answer, reward in CASES:
    seen = round(float(question_scorer(answer, expected_answer)[0]), 2)
    print(f"answer {answer!r}, expected {expected_answer!r}: reward {seen}")
    assert seen == reward, f"the behaviour has changed; expected {reward}"
PYTHON
