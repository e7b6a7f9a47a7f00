#!/usr/bin/env bash
# bfcl-eval 2026.3.23: `agentic_checker`, which looks for the answer in a reply (web search and memory of BFCL v4).
#
# Guess: a reply that is the answer is valid, white space is ignored as the docstring states, and words around a full stop or a slash stay apart.
# Seen:  an answer that begins or ends with another character than a letter or digit is never found: "$5", "50%" and "C++" are wrong replies
#        to themselves. Points and slashes are removed, not replaced: 3.14 is valid for 314, "$5.00" is not for 5, and "red/blue" is not
#        for red. Two blanks or a line break between words are a wrong answer.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-deps bfcl-eval==2026.3.23
"$folder/venv/bin/python" - <<'PYTHON'
from bfcl_eval.eval_checker.agentic_eval.agentic_checker import agentic_checker

CASES = (
    ("5 dollars", "5 dollars", True),
    ("It is New York.", "new york", True),
    ("$5", "$5", False),
    ("It costs $5 today.", "$5", False),
    ("50%", "50%", False),
    ("C++", "C++", False),
    ("Yes!", "Yes!", False),
    ("3.14", "314", True),
    ("-5", "5", True),
    ("$5.00", "5", False),
    ("red/blue", "red", False),
    ("It is 42.Done", "42", False),
    ("New\nYork", "New York", False),
)
for reply, answer, valid in CASES:
    seen = agentic_checker(reply, [answer])["valid"]
    print(f"reply {reply!r}, answer {answer!r}: {'valid' if seen else 'not valid'}")
    assert seen is valid, f"the behaviour has changed; expected {valid}"
PYTHON
