#!/usr/bin/env bash
# trl 1.16.0: a preference data set with an implicit prompt, in plain texts.
#
# Guess: the prompt ends where the answers begin, or at least at the end of a word.
# Seen:  the prompt is the common beginning of both texts, less the last character where one text begins with the other, so it may end
#        within a word: "The sky is blue" and "The sky is black" have the prompt "The sky is bl" and the answers "ue" and "ack".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 trl==1.16.0
"$folder/venv/bin/python" - <<'PYTHON'
from trl import extract_prompt

expected = [
    ("The sky is blue.", "The sky is green.", ("The sky is", " blue.", " green.")),
    ("The sky is blue.", "The sky is black.", ("The sky is bl", "ue.", "ack.")),
    ("It costs 120", "It costs 125", ("It costs 12", "0", "5")),
    ("The sky is blue", "The sky is blue and green", ("The sky is blu", "e", "e and green")),
]
for chosen, rejected, result in expected:
    seen = tuple(extract_prompt({"chosen": chosen, "rejected": rejected}).values())
    print(f"{chosen!r}, {rejected!r} -> {seen}")
    assert seen == result, f"the behaviour has changed; expected {result}"
PYTHON
