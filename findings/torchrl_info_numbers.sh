#!/usr/bin/env bash
# torchrl 0.14.1: infos of a Gymnasium env whose values are Python numbers.
#
# Guess: `auto_register_info_dict` and `default_info_dict_reader` accept infos such as {"score": 0.5}, which envs and wrappers return.
# Seen:  a float, an int, a bool or a str is an AttributeError; only NumPy's numbers and arrays are read.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 torchrl==0.14.1 gymnasium==1.4.0
"$folder/venv/bin/python" - <<'PYTHON'
import gymnasium
import numpy
from torchrl.envs import GymWrapper


class Scored(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 1, (1,), numpy.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, score):
        self.score = score

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return numpy.zeros(1, numpy.float32), {"score": self.score}

    def step(self, action):
        return numpy.zeros(1, numpy.float32), 0.0, False, False, {"score": self.score}


for score, expected in [(numpy.float64(0.5), "0.5"), (0.5, "AttributeError"), (1, "AttributeError"), (True, "AttributeError")]:
    try:
        steps = GymWrapper(Scored(score)).auto_register_info_dict().rollout(1)
        seen = str(steps["next", "score"].item())
    except AttributeError as error:
        seen = type(error).__name__
        print(error)
    print(f"info {{'score': {score!r}}}: {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
