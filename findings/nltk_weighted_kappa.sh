#!/usr/bin/env bash
# nltk 3.10.4: the weighted kappa of two raters in AnnotationTask, such as a judge and a person who give 1 to 5 stars.
#
# Guess: `max_distance` scales all distances to 0 to 1, so it cancels, and the result is the one of statsmodels.
# Seen:  only the expected disagreement is divided by it. Ratings that differ by one star have a quadratic kappa of 0.8, which is -2.2
#        with the maximal distance of 16; of opposite ratings it is -31 instead of -1. It is right without `max_distance`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet nltk==3.10.4 statsmodels==0.15.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import math

import numpy as np
from nltk.metrics import interval_distance
from nltk.metrics.agreement import AnnotationTask
from statsmodels.stats.inter_rater import cohens_kappa

for judge, person, right, seen in (
    ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5], 1, 1),
    ([1, 2, 3, 4, 5], [2, 3, 4, 5, 5], 0.8, -2.2),
    ([1, 2, 3, 4, 5], [1, 2, 3, 4, 4], 16 / 17, 1 / 17),
    ([1, 5, 1, 5], [5, 1, 5, 1], -1, -31),
):
    counts = np.zeros((5, 5))
    for first, second in zip(judge, person, strict=True):
        counts[first - 1, second - 1] += 1
    reference = cohens_kappa(counts, wt="quadratic").kappa
    ratings = [(name, str(item), stars) for name, rater in (("judge", judge), ("person", person)) for item, stars in enumerate(rater)]
    task = AnnotationTask(ratings, distance=interval_distance)
    default, scaled = task.weighted_kappa(), task.weighted_kappa(max_distance=16)
    print(f"{judge} and {person}: statsmodels {reference:.3f}, nltk {default:.3f}, with the maximal distance {scaled:.3f}")
    assert math.isclose(reference, right, abs_tol=1e-9), "the behaviour of statsmodels has changed"
    assert math.isclose(default, right, abs_tol=1e-9), f"the behaviour has changed; expected {right}"
    assert math.isclose(scaled, seen, abs_tol=1e-9), f"the behaviour has changed; expected {seen}"
PYTHON
