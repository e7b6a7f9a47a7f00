#!/usr/bin/env bash
# strands-agents-evals 1.7.0: the scorers of trajectories that it gives to a judge as tools.
#
# Guess: a trajectory that is the expected one scores 1 with each scorer, and only that one scores 1 with `exact_match_scorer`.
# Seen:  `exact_match_scorer` returns 1 with any number of further actions at the end. `any_order_match_scorer` counts equal actions
#        once but divides by all: three equal clicks against themselves score 1/3. `in_order_match_scorer` returns 0 if only the first
#        expected action is missing, and 2/3 if only the last one is.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet strands-agents-evals==1.7.0
"$folder/venv/bin/python" - <<'PYTHON'
from strands_evals.tools.evaluation_tools import any_order_match_scorer, exact_match_scorer, in_order_match_scorer

path = ["search", "open", "buy"]
clicks = ["click", "click", "click"]
for scorer, actual, expected, score in (
    (exact_match_scorer, path, path, 1),
    (exact_match_scorer, [*path, "return", "return"], path, 1),
    (any_order_match_scorer, path, path, 1),
    (any_order_match_scorer, clicks, clicks, 1 / 3),
    (any_order_match_scorer, ["click"], clicks, 1 / 3),
    (in_order_match_scorer, clicks, clicks, 1),
    (in_order_match_scorer, ["search", "open"], path, 2 / 3),
    (in_order_match_scorer, ["open", "buy"], path, 0),
):
    seen = scorer(actual_trajectory=actual, expected_trajectory=expected)
    print(f"{scorer.tool_name}: {actual} for {expected}: {seen:.2f}")
    assert abs(seen - score) < 1e-9, f"the behaviour has changed; expected {score:.2f}"
PYTHON
