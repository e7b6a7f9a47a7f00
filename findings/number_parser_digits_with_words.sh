#!/usr/bin/env bash
# number-parser 0.3.2: numbers that mix digits and words.
#
# Guess: "2 million" is 2000000, as "two million" is.
# Seen:  the word is converted by itself: "1.5 million" becomes "1.5 1000000", and `parse_number` returns None.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet number-parser==0.3.2
"$folder/venv/bin/python" - <<'PYTHON'
from number_parser import parse, parse_number

expected = {
    "two million dollars": "2000000 dollars",
    "2 million dollars": "2 1000000 dollars",
    "1.5 million": "1.5 1000000",
    "3 million 200 thousand": "3 1000000 200 1000",
}
for text, result in expected.items():
    seen = parse(text)
    print(f"{text!r} -> {seen!r}")
    assert seen == result, f"the behaviour has changed; expected {result!r}"
assert parse_number("two million") == 2000000 and parse_number("2 million") is None
PYTHON
