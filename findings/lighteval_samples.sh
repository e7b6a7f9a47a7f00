#!/usr/bin/env bash
# lighteval 0.13.0: scores of several samples for one question.
#
# Guess: pass@k of wrong samples is 0 and of right ones 1, and avg@n compares texts as pass@1 does.
# Seen:  pass@4 of two wrong samples is 1.0. Without `n`, the number of samples of the first question counts for all later ones: after a
#        question with four, two right samples score 0.5, after one with two the third and fourth are ignored. `AvgAtN` takes
#        `strip_strings` and does not strip: " 42" has a pass@1 of 1 and an avg@2 of 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet lighteval==0.13.0 torch==2.13.0 transformers==5.24.0
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import logging

logging.disable(logging.WARNING)
from lighteval.metrics.metrics_sample import AvgAtN, PassAtK  # noqa: E402
from lighteval.models.model_output import ModelResponse  # noqa: E402
from lighteval.tasks.requests import Doc  # noqa: E402

question = Doc(query="6 * 7?", choices=["42"], gold_index=0)


def check(name, metric, cases):
    for samples, expected in cases:
        seen = round(float(metric.compute(question, ModelResponse(text=samples))), 2)
        print(f"{name} of {samples}: {seen}")
        assert seen == expected, f"the behaviour has changed; expected {expected}"


check("pass@1", PassAtK(k=1), [(["42", "1"], 0.5)])
check("pass@4", PassAtK(k=4), [(["1", "2"], 1)])
check("pass@1", PassAtK(k=1), [(["42", "42", "42", "1"], 0.75), (["42", "42"], 0.5)])
check("pass@1", PassAtK(k=1), [(["42", "1"], 0.5), (["1", "1", "42", "42"], 0)])
check("stripped pass@1", PassAtK(k=1, n=2, strip_strings=True), [(["42", "42"], 1), ([" 42", "42\n"], 1)])
check("stripped avg@2", AvgAtN(n=2, strip_strings=True), [(["42", "42"], 1), ([" 42", "42\n"], 0)])
PYTHON
