#!/usr/bin/env bash
# skrl 2.1.1: `reset` of a wrapped Gymnasium vector env.
#
# Guess: each call starts new episodes, as it does for a single env.
# Seen:  only the first call does. Later calls return the current observations, and the episodes go on, so that an evaluation that
#        begins with `reset` begins in the middle of episodes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 skrl==2.1.1 gymnasium==1.4.0
"$folder/venv/bin/python" - <<'PYTHON'
import gymnasium
import numpy
import torch
from skrl.envs.wrappers.torch import wrap_env


class Counter(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 100, (1,), numpy.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return numpy.zeros(1, numpy.float32), {}

    def step(self, action):
        self.steps += 1
        return numpy.array([self.steps], numpy.float32), 0.0, self.steps == 50, False, {}


single = wrap_env(Counter())
vector = wrap_env(gymnasium.vector.SyncVectorEnv([Counter, Counter]))
for name, env, expected in [("single env", single, [0.0]), ("vector env", vector, [3.0, 3.0])]:
    env.reset()
    for _ in range(3):
        env.step(torch.zeros(env.num_envs, 1, dtype=torch.int64))
    seen = env.reset()[0].flatten().tolist()
    print(f"{name}: observations after reset {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
