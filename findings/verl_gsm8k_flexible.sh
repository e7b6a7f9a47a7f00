#!/usr/bin/env bash
# verl 0.9.1: the rule-based rewards of GSM8K and of DAPO's mathematics.
#
# Guess: method="flexible" of GSM8K accepts at least what "strict" accepts, and punctuation after a number is no part of it.
# Seen:  "flexible" takes the last run of digits, points and commas: "#### 1,000" and "#### 42 apples, as asked" score 1 with "strict" and
#        0 with "flexible", for which "The answer is 42." and "42, I think" are wrong as well. DAPO's reward of "Answer: 42." and of
#        "**Answer:** 42" is -1. (The modules are imported without the package around them, which needs torch and ray.)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-deps verl==0.9.1
"$folder/venv/bin/python" - "$folder/venv" <<'PYTHON'
import sys
from pathlib import Path

[package] = Path(sys.argv[1]).glob("lib/python*/site-packages/verl/utils/reward_score")
sys.path.insert(0, str(package))
import gsm8k  # noqa: E402
import math_dapo  # noqa: E402

CASES = (
    ("#### 42", "42", 1, 1),
    ("The answer is 42", "42", 0, 1),
    ("#### 1,000", "1000", 1, 0),
    ("#### 42 apples, as asked", "42", 1, 0),
    ("The answer is 42.", "42", 0, 0),
    ("The answer is 42, I think.", "42", 0, 0),
)
for reply, answer, strict, flexible in CASES:
    seen = gsm8k.compute_score(reply, answer), gsm8k.compute_score(reply, answer, method="flexible")
    print(f"GSM8K, {reply!r}: strict {seen[0]}, flexible {seen[1]}")
    assert seen == (strict, flexible), f"the behaviour has changed; expected {strict} and {flexible}"
for reply, score in (("Answer: 42", 1), ("Answer: $42$", 1), ("Answer: 42.", -1), ("**Answer:** 42", -1)):
    seen = math_dapo.compute_score(reply, "42")["score"]
    print(f"DAPO, {reply!r}: {seen}")
    assert seen == score, f"the behaviour has changed; expected {score}"
PYTHON
