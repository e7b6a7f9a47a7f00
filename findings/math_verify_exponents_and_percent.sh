#!/usr/bin/env bash
# math-verify 0.9.0: an exponent and a percent sign in plain text.
#
# Guess: "1e3" equals "1000", and "12%" equals one of "12" and "0.12".
# Seen:  "1e3" is read as 1, so it is judged right for a reference of "1" and wrong for "1000"; "12%" is right for
#        both "12" and "0.12", which are not equal to each other. Rewards that use it need plain decimals.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet math-verify==0.9.0 latex2sympy2_extended==1.11.0 sympy==1.14.0
"$folder/venv/bin/python" - <<'PYTHON'
from math_verify import parse, verify

expected = {
    ("1", "1e3"): True,
    ("1000", "1e3"): False,
    ("12", "12%"): True,
    ("0.12", "12%"): True,
    ("12", "0.12"): False,
}
seen = {(gold, answer): verify(parse(gold), parse(answer)) for gold, answer in expected}
for (gold, answer), equal in seen.items():
    print(f"reference {gold!r}, answer {answer!r}: {equal}")
assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
