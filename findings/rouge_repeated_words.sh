#!/usr/bin/env bash
# rouge 1.0.1 and rouge-score 0.1.2: ROUGE of an answer that repeats itself.
#
# Guess: two packages of one metric agree up to tokenization, and words that an answer repeats lower its precision.
# Seen:  in rouge each word and pair of words counts once: the answer "red mug red mug red mug" has ROUGE-1 and ROUGE-L of 1.0 against
#        "red mug", rouge-score 0.5. "a. b. c." against "c. b. a." has ROUGE-L of 1.0 in rouge.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet rouge==1.0.1 rouge-score==0.1.2
"$folder/venv/bin/python" - <<'PYTHON'
from rouge import Rouge
from rouge_score.rouge_scorer import RougeScorer

metric, other = Rouge(), RougeScorer(["rouge1", "rougeL"])
for answer, reference, expected, in_rouge_score in (  # ROUGE-1 and ROUGE-L
    ("the red mug", "the red mug", (1.0, 1.0), (1.0, 1.0)),
    ("mug red the", "the red mug", (1.0, 0.33), (1.0, 0.33)),
    ("the blue mug", "the red mug", (0.67, 0.67), (0.67, 0.67)),
    ("yes yes yes", "yes", (1.0, 1.0), (0.5, 0.5)),
    ("red mug red mug red mug", "red mug", (1.0, 1.0), (0.5, 0.5)),
    ("the red mug costs 5", "the red mug costs 5 the red mug costs 5", (1.0, 1.0), (0.67, 0.67)),
    ("a. b. c.", "c. b. a.", (1.0, 1.0), (1.0, 0.33)),
):
    scores = metric.get_scores(answer, reference)[0]
    seen = tuple(round(scores[name]["f"], 2) for name in ("rouge-1", "rouge-l"))
    compared = tuple(round(other.score(reference, answer)[name].fmeasure, 2) for name in ("rouge1", "rougeL"))
    print(f"{answer!r} against {reference!r}: rouge {seen}, rouge-score {compared}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
    assert compared == in_rouge_score, f"rouge-score has changed; expected {in_rouge_score}"
PYTHON
