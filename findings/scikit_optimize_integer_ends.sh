#!/usr/bin/env bash
# scikit-optimize 0.10.2: random initial points of an integer parameter.
#
# Guess: each integer of `Integer(1, 4)` is drawn equally often, whatever model comes after the initial points.
# Seen:  with Gaussian processes, the default of `Optimizer` and `gp_minimize`, 1 and 4 are drawn half as often as 2 and 3; with random forests
#        all equally. Of `Integer(0, 2)` the middle is half of all draws, and of a Latin hypercube too.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet scikit-optimize==0.10.2 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
from skopt import Optimizer
from skopt.space import Integer

POINTS = 3000


def shares(low, high, model, initial="random"):
    """Return the share of each integer among the initial points of an optimizer."""
    optimizer = Optimizer([Integer(low, high)], model, n_initial_points=POINTS, initial_point_generator=initial, random_state=0)
    drawn = []
    for _ in range(POINTS):
        point = optimizer.ask()
        optimizer.tell(point, 0.0, fit=False)
        drawn.append(int(point[0]))
    return [drawn.count(value) / POINTS for value in range(low, high + 1)]


for model, initial, expected in (("RF", "random", [1 / 4] * 4), ("GP", "random", [1 / 6, 1 / 3, 1 / 3, 1 / 6]), ("GP", "lhs", [1 / 6, 1 / 3, 1 / 3, 1 / 6])):
    found = shares(1, 4, model, initial)
    print(f"{model}, {initial}: 1, 2, 3 and 4 are {[round(share, 3) for share in found]} of the initial points")
    assert all(abs(share - value) < 0.03 for share, value in zip(found, expected)), "the behaviour has changed"
found = shares(0, 2, "GP")
print(f"GP, random: 0, 1 and 2 are {[round(share, 3) for share in found]}")
assert abs(found[1] - 0.5) < 0.03, "the behaviour has changed"
PYTHON
