#!/usr/bin/env bash
# deepsig 1.2.8: bonferroni_correction, for p-values of several comparisons of agents.
#
# Guess: each corrected p-value is the p-value of the same comparison times their number, at most 1.
# Seen:  the k-th smallest of n values is multiplied by n - k + 1, without a running maximum: 0.013 stays 0.013 next to 0.012, which
#        becomes 0.024. The results are then put in an order that is not that of the input: of 0.5, 0.001, 0.02 and 0.9 the second,
#        0.001, becomes 1.0, and the third, 0.02, becomes 0.004. Only values that were sorted before keep their places.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet deepsig==1.2.8
"$folder/venv/bin/python" - <<'PYTHON'
import numpy
from deepsig import bonferroni_correction

for values, expected in (
    ([0.001, 0.02, 0.5, 0.9], [0.004, 0.06, 1.0, 0.9]),
    ([0.5, 0.001, 0.02, 0.9], [0.06, 1.0, 0.004, 0.9]),
    ([0.02, 0.5, 0.001], [0.5, 0.003, 0.04]),
    ([0.013, 0.012], [0.013, 0.024]),
):
    seen = bonferroni_correction(numpy.array(values))
    usual = numpy.minimum(numpy.array(values) * len(values), 1)
    print(f"{values}: {numpy.round(seen, 4).tolist()}, by Bonferroni's method {numpy.round(usual, 4).tolist()}")
    assert numpy.allclose(seen, expected), f"the behaviour has changed; expected {expected}"
PYTHON
