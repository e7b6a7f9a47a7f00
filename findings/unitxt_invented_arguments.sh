#!/usr/bin/env bash
# unitxt 1.26.10: `ToolCallKeyValueExtraction`, the score of a tool call by its arguments.
#
# Guess: an argument that the reference does not have lowers the score, as a missing one does, and a call that equals one of several
#        references scores 1.
# Seen:  invented arguments cost nothing, unless the reference of another instance has an argument of that name: the same call scores less
#        in a larger data set. Only the first reference is read; 2.0 is not 2, while "2" is.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet unitxt==1.26.10
cd "$folder"
UNITXT_USE_ONLY_LOCAL_CATALOGS=True HF_HUB_OFFLINE=1 "$folder/venv/bin/python" -W ignore - <<'PYTHON'
from unitxt.metrics import ToolCallKeyValueExtraction
from unitxt.test_utils.metrics import apply_metric


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


def score(calls, references):
    metric = ToolCallKeyValueExtraction(metric="metrics.accuracy")
    results = apply_metric(metric=metric, predictions=calls, references=references, task_data=[{} for _ in calls])
    return round(float(results[0]["score"]["global"]["score"]), 2)


invented = call("buy", item="mug", gift="yes", color="red")
other = call("send", gift="yes")
CASES = (
    ("the expected call", [call("buy", item="mug")], [[call("buy", item="mug")]], 1),
    ("a missing argument", [call("buy")], [[call("buy", item="mug")]], 0.5),
    ("two invented arguments", [invented], [[call("buy", item="mug")]], 1),
    ("the same and a right call of another tool", [invented, other], [[call("buy", item="mug")], [other]], 0.8),
    ("the second of two references", [call("buy", item="cup")], [[call("buy", item="mug"), call("buy", item="cup")]], 0.5),
    ("2.0 for 2", [call("buy", quantity=2.0)], [[call("buy", quantity=2)]], 0.5),
    ('"2" for 2', [call("buy", quantity="2")], [[call("buy", quantity=2)]], 1),
)
for name, calls, references, expected in CASES:
    seen = score(calls, references)
    print(f"{name}: {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
