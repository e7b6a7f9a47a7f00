#!/usr/bin/env bash
# Gymnasium 1.4.0: the last observation of an episode under MaxAndSkipObservation(skip=4).
#
# Guess: it contains the last frame, whichever of the four frames ends the episode.
# Seen:  only the third and fourth frame are stored. If the first or second ends the episode, the last observation is that
#        of the step before, or zeros in the first step, and so it may not show what ended the episode.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet gymnasium==1.4.0 numpy==2.4.0
"$folder/venv/bin/python" - <<'PYTHON'
import gymnasium
import numpy as np
from gymnasium.wrappers import MaxAndSkipObservation


class Frames(gymnasium.Env):
    """Shows the number of the frame, and ends with frame `last`."""

    observation_space = gymnasium.spaces.Box(0, 100, (1,), np.int64)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, last):
        self.last = last

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.frame = 10
        return np.array([self.frame]), {}

    def step(self, action):
        self.frame += 1
        return np.array([self.frame]), 1.0, self.frame == self.last, False, {}


expected = {12: 0, 13: 13, 14: 14, 15: 14, 16: 14, 17: 17}
for last, result in expected.items():
    env = MaxAndSkipObservation(Frames(last), skip=4)
    env.reset(seed=0)
    terminated = False
    while not terminated:
        observation, _, terminated, *_ = env.step(0)
    print("the last frame is", last, "- the last observation is", observation[0])
    assert observation[0] == result, f"the behaviour has changed; expected {result}"
PYTHON
