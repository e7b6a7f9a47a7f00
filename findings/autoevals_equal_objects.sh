#!/usr/bin/env bash
# autoevals 0.4.1: `ExactMatch` and `JSONDiff` of JSON objects, as of the arguments of a tool call.
#
# Guess: equal objects match exactly, whatever the order of their keys is, as the documentation states; a missing key is a difference.
# Seen:  `ExactMatch` of an object with its keys in another order is 0, as it is of 5 and 5.0. `JSONDiff` scores 1 for a
#        null in place of a missing key, and for True in place of 1.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet autoevals==0.4.1
"$folder/venv/bin/python" - <<'PYTHON'
from autoevals import ExactMatch, JSONDiff

CASES = (
    ({"item": "mug", "count": 2}, {"item": "mug", "count": 2}, 1, 1),
    ({"item": "mug", "count": 2}, '{"item": "mug", "count": 2}', 1, 1),
    ({"item": "mug", "count": 2}, {"count": 2, "item": "mug"}, 0, 1),
    ({"item": "mug", "count": 2}, '{"count": 2, "item": "mug"}', 0, 1),
    ({"count": 2.0}, {"count": 2}, 0, 1),
    ({"item": "mug", "coupon": None}, {"item": "mug"}, 0, 1),
    ({"item": "mug", "coupon": ""}, {"item": "mug"}, 0, 0.5),
    ({"gift": True}, {"gift": 1}, 0, 1),
    ({"gift": False}, {"gift": True}, 0, 0),
)
for output, expected, exact, difference in CASES:
    seen = ExactMatch()(output, expected).score, round(JSONDiff()(output, expected).score, 2)
    print(f"{output} for {expected}: ExactMatch {seen[0]}, JSONDiff {seen[1]}")
    assert seen == (exact, difference), f"the behaviour has changed; expected {exact} and {difference}"
for output, expected, exact in ((5, 5, 1), (5.0, 5, 0), ("5", 5, 1)):
    seen = ExactMatch()(output, expected).score
    print(f"{output!r} for {expected!r}: ExactMatch {seen}")
    assert seen == exact, f"the behaviour has changed; expected {exact}"
PYTHON
