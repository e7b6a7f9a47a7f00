#!/usr/bin/env bash
# jiwer 4.0.0: the word error rate of texts that differ in their white space.
#
# Guess: words are separated by white space, so that a line break or a tab counts as a blank does.
# Seen:  only blanks separate words. "one\ntwo" is one word, and its rate against "one two" is 2.0; a text in which one of three
#        lines is wrong has the rate 1.0. Double blanks, and white space at the ends, do not matter.
#        `RemoveWhiteSpace(replace_by_space=True)` as a transform mends it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet jiwer==4.0.0
"$folder/venv/bin/python" - <<'PYTHON'
import jiwer

expected = [
    ("one two", "one  two ", 0.0),
    ("one\ntwo", "one two", 2.0),
    ("one\ttwo", "one two", 2.0),
    ("one\u00a0two", "one two", 2.0),
    ("the price is\n$5", "the price is $5", 2 / 3),
    ("one\ntwo\nthree", "one\ntwo\nfour", 1.0),
]
for reference, hypothesis, rate in expected:
    seen = jiwer.wer(reference, hypothesis)
    print(f"{reference!r}, {hypothesis!r}: {seen:.3f}")
    assert seen == rate, f"the behaviour has changed; expected {rate}"
words = jiwer.Compose([jiwer.RemoveWhiteSpace(replace_by_space=True), jiwer.ReduceToListOfListOfWords()])
assert jiwer.wer("one\ntwo", "one two", reference_transform=words, hypothesis_transform=words) == 0.0
PYTHON
