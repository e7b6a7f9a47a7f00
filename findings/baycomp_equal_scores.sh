#!/usr/bin/env bash
# baycomp 1.0.3: the Bayesian comparison of two agents whose scores are equal on each task.
#
# Guess: each of the two is better with the probability 0.5, as in `two_on_single`.
# Seen:  the signed-rank test, the default of `two_on_multiple`, takes the first one for better, with probabilities from about 0.6 to
#        0.71, whichever of them is the first. The sign test returns NaN. With a region of equivalence both return 1 for it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet baycomp==1.0.3 numpy==2.4.6 scipy==1.16.3 matplotlib==3.11.2
"$folder/venv/bin/python" - <<'PYTHON'
import math
import warnings

import numpy
from baycomp import SignedRankTest, SignTest, two_on_multiple, two_on_single

warnings.simplefilter("ignore")
for count, low, high in ((5, 0.69, 0.72), (10, 0.66, 0.70), (30, 0.64, 0.70), (100, 0.57, 0.62)):
    scores = numpy.random.default_rng(0).random(count)
    first, second = (float(value) for value in SignedRankTest.probs(scores, scores.copy(), random_state=0))
    print(f"{count} tasks: first {first:.3f}, second {second:.3f}")
    assert low < first < high and abs(first + second - 1) < 1e-6, "the behaviour has changed"
    left = two_on_multiple(scores, scores.copy())[0]
    assert low < left < high, "the behaviour has changed"
    sign = SignTest.probs(scores, scores.copy())
    assert math.isnan(sign[0]), "the behaviour has changed; expected NaN"
    assert two_on_single(scores, scores.copy()) == (0.5, 0.5)
    with_rope = two_on_multiple(scores, scores.copy(), rope=0.01)
    assert with_rope[1] > 0.999, "the behaviour has changed; expected the region of equivalence"
PYTHON
