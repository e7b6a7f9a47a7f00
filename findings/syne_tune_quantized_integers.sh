#!/usr/bin/env bash
# syne-tune 0.16.0: integers of a search space that are multiples of a step.
#
# Guess: `qrandint(lower, upper, q)` draws multiples of q between the bounds, as Ray Tune's does, or refuses bounds that are none.
# Seen:  a draw is rounded to the next multiple, which may be outside: `qrandint(1, 10, 4)` draws 0, which its own
#        `is_valid` refuses, `qrandint(8, 60, 16)` draws 0 and 64, `qlograndint(1, 100, 10)` draws 0 most often. The random search of the
#        scheduler suggests these values. `quniform` refuses such bounds.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 pandas==3.1.1 scikit-learn==1.9.1 dill==0.4.1 sortedcontainers==2.4.0 tqdm==4.70.1 psutil==7.2.2 \
    typing-extensions==4.16.0
"$folder/venv/bin/pip" install --quiet --no-deps syne-tune==0.16.0  # its other requirements, such as xgboost, are not needed here
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import logging
import random

import numpy

logging.disable()
from syne_tune.config_space import qlograndint, qrandint, quniform
from syne_tune.optimizer.schedulers.single_objective_scheduler import SingleObjectiveScheduler

random.seed(0)
numpy.random.seed(0)
for name, domain, expected in (
    ("qrandint(16, 64, 16)", qrandint(16, 64, 16), [16, 32, 48, 64]),
    ("qrandint(1, 10, 4)", qrandint(1, 10, 4), [0, 4, 8]),
    ("qrandint(8, 60, 16)", qrandint(8, 60, 16), [0, 16, 32, 48, 64]),
    ("qlograndint(1, 100, 10)", qlograndint(1, 100, 10), list(range(0, 101, 10))),
):
    draws = [domain.sample() for _ in range(1000)]
    values = sorted(set(draws))
    print(f"{name}: {values}, valid {[value for value in values if domain.is_valid(value)]}, 0 in {draws.count(0)} of 1000")
    assert values == expected, f"the behaviour has changed; expected {expected}"
assert draws.count(0) == max(draws.count(value) for value in values), "the behaviour has changed; expected 0 most often"

scheduler = SingleObjectiveScheduler({"batch": qrandint(1, 10, 4)}, metric="loss", searcher="random_search", random_seed=0)
suggested = sorted({scheduler.suggest().config["batch"] for _ in range(40)})
print(f"suggestions of the random search for qrandint(1, 10, 4): {suggested}")
assert suggested == [0, 4, 8], "the behaviour has changed"

try:
    quniform(0.05, 0.3, 0.1)
except ValueError as error:
    print(f"quniform(0.05, 0.3, 0.1): {error}")
else:
    raise AssertionError("the behaviour has changed; expected a ValueError")
PYTHON
