#!/usr/bin/env bash
# Gymnasium 1.4.0: values of different types under one key of the infos of a vector env.
#
# Guess: an array of a common type, as NumPy makes it: [0, 0.5] stays [0, 0.5], and other mixtures become object arrays.
# Seen:  the first env that has the key decides the type, and the others are converted. With a score of 0 in env 0, the 0.5
#        of env 1 is 0; after True a count of 3 is True. None after a number, and arrays of two lengths, are errors.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet gymnasium==1.4.0 numpy==2.4.0
"$folder/venv/bin/python" - <<'PYTHON'
import gymnasium
import numpy as np
from gymnasium.vector import SyncVectorEnv


class Reporter(gymnasium.Env):
    """Puts `value` into its info at each step."""

    observation_space = gymnasium.spaces.Discrete(2)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, value):
        self.value = value

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 0, 0.0, False, False, {"score": self.value}


def scores(first, second):
    envs = SyncVectorEnv([lambda: Reporter(first), lambda: Reporter(second)])
    envs.reset(seed=0)
    try:
        return envs.step([0, 0])[-1]["score"].tolist()
    except (TypeError, ValueError) as error:
        return type(error).__name__


expected = [
    ((0.5, 0), [0.5, 0.0]),
    ((0, 0.5), [0, 0]),
    ((True, 3), [True, True]),
    ((None, 1), [None, 1]),
    ((1, None), "TypeError"),
    ((np.zeros(2), np.zeros(3)), "ValueError"),
]
for values, result in expected:
    seen = scores(*values)
    print("infos of the two envs:", *values, "- of the vector env:", seen)
    assert repr(seen) == repr(result), f"the behaviour has changed; expected {result}"
PYTHON
