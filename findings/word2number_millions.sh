#!/usr/bin/env bash
# word2number 1.1: a number of millions and of thousands.
#
# Guess: "two million three hundred thousand" is 2,300,000.
# Seen:  it is 2,301,300: if no words follow "thousand", the words before it are added once more. The example of the package's
#        page, which ends in "nine hundred and eighty four", is right. "2.5 million" is 1,000,000, and "nineteen eighty four" 1524.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet word2number==1.1
"$folder/venv/bin/python" - <<'PYTHON'
from word2number.w2n import word_to_num

expected = {
    "two million three thousand nine hundred and eighty four": 2003984,
    "three hundred thousand": 300000,
    "two million three hundred thousand": 2301300,
    "two million three thousand": 2004003,
    "one billion two million": 1003000002,
    "2.5 million": 1000000,
    "nineteen eighty four": 1524,
}
for text, number in expected.items():
    seen = word_to_num(text)
    print(f"{text!r} -> {seen:,}")
    assert seen == number, f"the behaviour has changed; expected {number:,}"
PYTHON
