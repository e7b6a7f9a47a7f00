#!/usr/bin/env bash
# sb3-contrib 2.9.2: a state without a valid action, and the remaining time next to observations of integers.
#
# Guess: a mask without a valid action is an error; `TimeFeatureWrapper` counts from 1 to 0 for any observation, or refuses it.
# Seen:  all actions are drawn with equal probability, whatever the logits are, with an entropy of 0. The time has the type of the
#        observation: next to bytes, such as the memory of an Atari game, it is 1 at the reset and 0 in each step.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 sb3-contrib==2.9.2 stable-baselines3==2.9.2 gymnasium==1.4.0
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import gymnasium
import numpy
import torch
from sb3_contrib.common.maskable.distributions import MaskableCategorical
from sb3_contrib.common.wrappers import TimeFeatureWrapper

logits = torch.tensor([[5.0, 0.0, 0.0, 0.0]])
for mask, expected in (([False, False, True, True], [0, 0, 0.5, 0.5]), ([False] * 4, [0.25] * 4)):
    policy = MaskableCategorical(logits=logits, masks=numpy.array([mask]))
    probabilities = policy.probs[0].tolist()
    print(f"mask {mask}: probabilities {probabilities}, entropy {policy.entropy().item():.3f}")
    assert probabilities == expected, f"the behaviour has changed; expected {expected}"
    if not any(mask):
        assert policy.entropy().item() == 0, "the behaviour has changed"


class Constant(gymnasium.Env):
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, dtype):
        self.observation_space = gymnasium.spaces.Box(0, 255, (1,), dtype)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return numpy.full(1, 7, self.observation_space.dtype), {}

    def step(self, action):
        return numpy.full(1, 7, self.observation_space.dtype), 0.0, False, False, {}


for dtype, expected in ((numpy.float32, [1, 0.75, 0.5, 0.25, 0]), (numpy.uint8, [1, 0, 0, 0, 0])):
    env = TimeFeatureWrapper(Constant(dtype), max_steps=4)
    times = [float(env.reset()[0][-1])] + [float(env.step(0)[0][-1]) for _ in range(4)]
    print(f"remaining time next to {dtype.__name__}: {times}")
    assert times == expected, f"the behaviour has changed; expected {expected}"
PYTHON
