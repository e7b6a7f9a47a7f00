#!/usr/bin/env bash
# autorank 1.3.0: the comparison of three agents with rewards of 0 and 1.
#
# Guess: agents that solve 16, 15 and 14 of 30 tasks differ by a negligible effect, and the best one is the first row.
# Seen:  each effect size is "large": it is minus infinity for 16 and 14, whose median absolute deviations are 0, and NaN for an agent and
#        itself. The table has medians, 1, 0.5 and 0, instead of success rates, and its first row is the worst agent.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet autorank==1.3.0 numpy==1.26.4 pandas==2.3.3 scipy==1.12.0 statsmodels==0.15.0
"$folder/venv/bin/python" - <<'PYTHON'
import math
import warnings

warnings.simplefilter("ignore")

import pandas
from autorank import autorank

rates = {"a": 16, "b": 15, "c": 14}
rewards = pandas.DataFrame({name: [1.0] * solved + [0.0] * (30 - solved) for name, solved in rates.items()})
table = autorank(rewards).rankdf
print(table[["meanrank", "median", "mad", "effect_size", "magnitude"]].to_string())
assert list(table.index) == ["c", "b", "a"], "the behaviour has changed; expected the worst agent first"
assert list(table["magnitude"]) == ["large"] * 3, "the behaviour has changed; expected large effects"
assert math.isnan(table.loc["c", "effect_size"]) and table.loc["a", "effect_size"] == -math.inf, "the behaviour has changed"
assert list(table["median"]) == [0, 0.5, 1] and "mean" not in table.columns, "the behaviour has changed; expected medians"
PYTHON
