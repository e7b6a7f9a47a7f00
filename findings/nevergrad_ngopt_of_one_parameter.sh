#!/usr/bin/env bash
# nevergrad 1.0.12: `NGOpt`, the optimizer that its documentation recommends, with one parameter.
#
# Guess: it searches an integer from 1 to 64 near the best values so far, and a float with any budget.
# Seen:  the candidates for the integer do not depend on the losses: minimizing and maximizing it tries the same 100 values. They
#        are around the middle: in three of four seeds 64 is not among them. With NumPy 2.4 and a budget of 60 a float is a
#        TypeError after 13 candidates; two floats with the same budget are not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet nevergrad==1.0.12 numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import nevergrad


def candidates(parameter, loss, budget, seed=0):
    parameter.random_state.seed(seed)
    optimizer = nevergrad.optimizers.NGOpt(parametrization=parameter, budget=budget)
    values = []
    for _ in range(budget):
        candidate = optimizer.ask()
        values.append(candidate.value)
        optimizer.tell(candidate, loss(candidate.value))
    return values


def integer():
    return nevergrad.p.Scalar(lower=1, upper=64).set_integer_casting()


largest = []
for seed in range(4):
    minimized, maximized = (candidates(integer(), lambda x, sign=sign: float(sign * x), 100, seed) for sign in (1, -1))
    print(f"seed {seed}: values from {min(maximized)} to {max(maximized)}, equal if minimized: {minimized == maximized}")
    assert minimized == maximized, "the behaviour has changed"
    largest.append(max(maximized))
assert sum(value < 64 for value in largest) == 3, "the behaviour has changed"

assert len(candidates(nevergrad.p.Array(shape=(2,), lower=0, upper=1), lambda x: float(((x - 0.3) ** 2).sum()), 60)) == 60
try:
    candidates(nevergrad.p.Array(shape=(1,), lower=0, upper=1), lambda x: float(((x - 0.3) ** 2).sum()), 60)
except TypeError as error:
    print(f"one float: {error}")
else:
    raise AssertionError("the behaviour has changed; expected a TypeError")
PYTHON
