#!/usr/bin/env bash
# crfm-helm 0.5.16, jiwer 4.0.0: the final number of a reply, and the error rates of empty replies.
#
# Guess: `final_number_exact_match` compares the last numbers; an empty reply has a word error rate of 1.
# Seen:  a comma after the last number is a number itself, so that "It is 15 eggs, I think." scores 0 for 15, and two numbers with one
#        character between them are one: "3 4", "10/12" and "10:30" end with no 4, 12 and 30. An empty reply has the error rates of a
#        perfect one, 0, where a wrong word has 1.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet crfm-helm==0.5.16 jiwer==4.0.0
cd "$folder"
NLTK_DATA=$folder "$folder/venv/bin/python" -W ignore - <<'PYTHON'
from helm.benchmark.metrics import evaluate_reference_metrics as metrics

CASES = (
    ("The answer is 15.", "It is 15 eggs", 1),
    ("1,250", "It costs $1,250", 1),
    ("The answer is 15.", "It is 15 eggs, I think.", 0),
    ("The answer is 15.", "15 eggs, and nothing more", 0),
    ("4", "pages 3 4", 0),
    ("12", "10/12", 0),
    ("30", "10:30", 0),
)
for answer, reply, score in CASES:
    seen = metrics.final_number_exact_match(answer, reply)
    print(f"final number of {reply!r}, expected {answer!r}: {seen}")
    assert seen == score, f"the behaviour has changed; expected {score}"
for name in ("wer_score", "mer_score", "cer_score"):
    rate = getattr(metrics, name)
    seen = [round(rate("red bag", reply), 2) for reply in ("red bag", "red", "no", "")]
    print(f"{name} of 'red bag', 'red', 'no' and an empty reply, expected 'red bag': {seen}")
    assert seen[0] == seen[3] == 0, "the behaviour has changed"
    assert seen[1] > 0, "the behaviour has changed"
    assert seen[2] == 1, "the behaviour has changed"
PYTHON
