#!/usr/bin/env bash
# dictdiffer 0.10.0 and deepdiff 9.1.0: the difference of two states, applied and reverted.
#
# Guess: `revert(diff(old, new), new)` is `old`, and a difference contains each value whose type has changed, as `DeepDiff` of two
#        numbers does.
# Seen:  `revert` returns the removed elements of a list in the wrong order, except for the first one. dictdiffer takes 1 for True, 0 for
#        False, and whole numbers above 2^53 that are one apart for equal. `DeepDiff` does the same with 1 and True in a list, but not in a
#        dict, nor with `ignore_order=True`; a `Delta` then makes another list than the one that was compared.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet dictdiffer==0.10.0 deepdiff==9.1.0
"$folder/venv/bin/python" - <<'PYTHON'
from deepdiff import DeepDiff, Delta
from dictdiffer import diff, patch, revert

old, new = {"cart": ["bag", "cup", "hat", "pen"]}, {"cart": ["bag"]}
changes = list(diff(old, new))
print(changes)
assert patch(changes, old) == new
seen = revert(changes, new)
print(f"reverted: {seen}")
assert seen == {"cart": ["bag", "cup", "pen", "hat"]}, "the behaviour has changed"
assert revert(list(diff(new, old)), old) == new

for before, after in ((1, True), (0, False), (1.0, 1), (10**17, 10**17 + 1)):
    seen = list(diff({"value": before}, {"value": after}))
    print(f"dictdiffer, {before!r} and {after!r}: {seen}")
    assert seen == [], "the behaviour has changed; expected no difference"

assert set(DeepDiff({"paid": 1}, {"paid": True})) == {"type_changes"}
assert set(DeepDiff([1, 2], [2, True], ignore_order=True)) == {"type_changes"}
for before, after, expected in (([1], [True], [1]), ([0, 1], [False, 1], [0, 1]), ([True, False], [1, 0, 2], [True, False, 2])):
    difference = DeepDiff(before, after)
    seen = before + Delta(difference)
    print(f"deepdiff, {before} and {after}: {difference}, applied: {seen}")
    assert repr(seen) == repr(expected), f"the behaviour has changed; expected {expected}"
PYTHON
