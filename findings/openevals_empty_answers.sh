#!/usr/bin/env bash
# openevals 0.2.2: `create_json_match_evaluator` for an answer that is empty, as it should be.
#
# Guess: equal answers score 1.
# Seen:  two empty lists, as for a search without results, and two empty objects score 0 with aggregator="average", 1 with "all" and
#        nothing without an aggregator. Found items where none are expected score 0 as well, or 1 with list_match_mode="superset" and "all".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet openevals==0.2.2
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
from openevals.json import create_json_match_evaluator


def score(answer, expected_answer, aggregator, mode="same_elements"):
    options = {} if aggregator is None else {"aggregator": aggregator, "list_aggregator": aggregator}
    evaluate = create_json_match_evaluator(list_match_mode=mode, **options)
    return [result["score"] for result in evaluate(outputs=answer, reference_outputs=expected_answer)]


item = {"name": "mug"}
CASES = (
    ([item], [item], [1], [1], [1]),
    ([], [item], [0], [0], [0]),
    ([item], [], [0], [0], [0]),
    ([], [], [0], [1], []),
    ({}, {}, [0], [1], []),
)
for answer, expected_answer, average, everything, none in CASES:
    seen = [score(answer, expected_answer, aggregator) for aggregator in ("average", "all", None)]
    print(f"answer {answer}, expected {expected_answer}: average {seen[0]}, all {seen[1]}, without an aggregator {seen[2]}")
    assert seen == [average, everything, none], f"the behaviour has changed; expected {[average, everything, none]}"
seen = score([item], [], "all", mode="superset")
print(f"answer {[item]}, expected [], superset: all {seen}")
assert seen == [1], "the behaviour has changed; expected [1]"
PYTHON
