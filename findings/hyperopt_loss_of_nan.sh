#!/usr/bin/env bash
# hyperopt 0.3.0: the search of `tpe.suggest` if some trials diverge and return a loss of NaN.
#
# Guess: these trials are taken for bad ones, or left out, as they are for the best trial that `fmin` returns.
# Seen:  they are taken for good ones: if each negative x diverges, most of the later trials have a negative x, more than a random
#        search has. With a loss of infinity or the status "fail" few have. There is no warning, and the returned trial is valid.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet hyperopt==0.3.0 numpy==2.4.6 scipy==1.17.1
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import numpy
from hyperopt import STATUS_FAIL, Trials, fmin, hp, rand, tpe

results = {
    "NaN": lambda x: float("nan") if x < 0 else (x - 0.5) ** 2,
    "infinity": lambda x: float("inf") if x < 0 else (x - 0.5) ** 2,
    'status "fail"': lambda x: {"status": STATUS_FAIL} if x < 0 else (x - 0.5) ** 2,
}


def later_diverging(loss, algorithm):
    """Return the part of the trials after the 30th, in five searches, that diverge."""
    values = []
    for seed in range(5):
        trials = Trials()
        options = {"algo": algorithm, "max_evals": 80, "trials": trials, "rstate": numpy.random.default_rng(seed)}
        best = fmin(loss, hp.uniform("x", -1, 1), show_progressbar=False, verbose=False, **options)
        assert best["x"] >= 0
        values += trials.vals["x"][30:]
    return float(numpy.mean(numpy.array(values) < 0))


random_search = later_diverging(results["NaN"], rand.suggest)
print(f"random search: {random_search:.0%} of the later trials diverge")
for name, loss in results.items():
    seen = later_diverging(loss, tpe.suggest)
    print(f"TPE, {name}: {seen:.0%}")
    if name == "NaN":
        assert seen > random_search + 0.1, "the behaviour has changed; expected more than in a random search"
    else:
        assert seen < random_search - 0.1, "the behaviour has changed; expected fewer than in a random search"
PYTHON
