#!/usr/bin/env bash
# statsmodels 0.15.0: McNemar's test with exact=False, for two agents that solve the same tasks.
#
# Guess: two agents with equal results are no evidence of a difference: the p-value is 1, or NaN.
# Seen:  it is 0.0, the strongest evidence there is: the continuity correction subtracts 1 from a difference of 0, and the
#        square is divided by 0. Where each agent solves one task that the other does not, it is 0.48 instead of 1.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet statsmodels==0.15.0 numpy==2.4.0 scipy==1.17.1 pandas==3.1.1
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import math

from statsmodels.stats.contingency_tables import mcnemar

# rows: solved by the first agent or not; columns: by the second
tables = {"equal results": [[60, 0], [0, 40]], "one task each": [[60, 1], [1, 38]], "ten tasks each": [[60, 10], [10, 20]]}
seen = {}
for name, table in tables.items():
    exact, corrected, plain = mcnemar(table), mcnemar(table, exact=False), mcnemar(table, exact=False, correction=False)
    seen[name] = corrected.pvalue
    print(f"{name}: p = {exact.pvalue:.3f} (exact), {corrected.pvalue:.3f} (exact=False), {plain.pvalue:.3f} (and correction=False)")
assert seen["equal results"] == 0.0, "the behaviour has changed; expected 0.0"
assert math.isclose(seen["one task each"], 0.4795, abs_tol=1e-4), "the behaviour has changed; expected 0.4795"
PYTHON
