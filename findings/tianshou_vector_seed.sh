#!/usr/bin/env bash
# tianshou 2.0.1: `reset(seed=5)` of a vector env.
#
# Guess: the copies get the seeds 5, 6 and 7, as in Gymnasium's vector envs and in tianshou's own `seed(5)`.
# Seen:  each copy gets the seed 5, so that all of them play the same episodes. A list of seeds is an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 tianshou==2.0.1
"$folder/venv/bin/python" - <<'PYTHON'
import gymnasium
import numpy
from tianshou.env import DummyVectorEnv


class Draw(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 1000, (1,), numpy.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return numpy.array([self.np_random.integers(1000)], numpy.float32), {}

    def step(self, action):
        return numpy.array([self.np_random.integers(1000)], numpy.float32), 0.0, False, False, {}


env = DummyVectorEnv([Draw] * 3)
reset_with_seed = env.reset(seed=5)[0].ravel().tolist()
env.seed(5)
seed_first = env.reset()[0].ravel().tolist()
gymnasium_seeds = gymnasium.vector.SyncVectorEnv([Draw] * 3).reset(seed=5)[0].ravel().tolist()
print("tianshou, reset(seed=5):", reset_with_seed)
print("tianshou, seed(5) and reset():", seed_first)
print("Gymnasium, reset(seed=5):", gymnasium_seeds)
assert len(set(reset_with_seed)) == 1, "the behaviour has changed"
assert len(set(seed_first)) == len(set(gymnasium_seeds)) == 3
try:
    env.reset(seed=[5, 6, 7])
except gymnasium.error.Error as error:
    print("reset(seed=[5, 6, 7]):", error)
else:
    raise AssertionError("the behaviour has changed: no error")
PYTHON
