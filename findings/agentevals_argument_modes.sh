#!/usr/bin/env bash
# agentevals 0.0.9: `create_trajectory_match_evaluator` with calls that have more or fewer arguments than the reference.
#
# Guess: `tool_args_match_mode="superset"` accepts an argument more and "subset" one fewer, in each `trajectory_match_mode`; two calls
#        in another order match in the modes that ignore the order.
# Seen:  so it is in the modes "strict" and "superset" only. In "subset" the two are interchanged, and in "unordered" neither accepts
#        anything but equal arguments. The matching is greedy: the reference's own calls in another order score False.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet agentevals==0.0.9 langchain-core==1.8.3
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import json

from agentevals.trajectory.match import create_trajectory_match_evaluator


def trajectory(*arguments):
    calls = [{"function": {"name": "search", "arguments": json.dumps(values)}} for values in arguments]
    return [{"role": "user", "content": "Find a bag."}, {"role": "assistant", "content": "", "tool_calls": calls}]


def score(mode, arguments_mode, outputs, reference):
    evaluator = create_trajectory_match_evaluator(trajectory_match_mode=mode, tool_args_match_mode=arguments_mode)
    return evaluator(outputs=trajectory(*outputs), reference_outputs=trajectory(*reference))["score"]


SHORT, LONG = {"text": "bag"}, {"text": "bag", "color": "red"}
EXPECTED = {  # trajectory mode: results of "superset" and "subset" for one argument more, then for one fewer
    "strict": (True, False, False, True),
    "superset": (True, False, False, True),
    "subset": (False, True, True, False),
    "unordered": (False, False, False, False),
}
for mode, expected in EXPECTED.items():
    pairs = [([LONG], [SHORT]), ([SHORT], [LONG])]
    seen = tuple(score(mode, arguments_mode, *pair) for pair in pairs for arguments_mode in ("superset", "subset"))
    print(f"{mode}: one argument more: superset {seen[0]}, subset {seen[1]}; one fewer: superset {seen[2]}, subset {seen[3]}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"

for outputs, expected in (([SHORT, LONG], True), ([LONG, SHORT], False)):
    seen = score("superset", "superset", outputs, [SHORT, LONG])
    print(f"calls {outputs}, the reference has the same ones: {seen}")
    assert seen is expected, f"the behaviour has changed; expected {expected}"
PYTHON
