#!/usr/bin/env bash
# Gymnasium 1.4.0: RecordEpisodeStatistics around a vector env, with a partial reset.
#
# Guess: reset(options={"reset_mask": ...}) zeroes the counters of the envs that are reset, and of no others.
# Seen:  SyncVectorEnv takes reset_mask out of the options before the wrapper reads it, so the wrapper zeroes the
#        counters of all envs: the return of an episode that goes on is too small.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet gymnasium==1.4.0 numpy==2.4.0
"$folder/venv/bin/python" - <<'PYTHON'
import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics


class Counter(gymnasium.Env):
    """Gives a reward of 1 a step and ends after `last` steps."""

    observation_space = gymnasium.spaces.Box(0, 10, (1,), np.int64)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, last):
        self.last = last

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return np.array([0]), {}

    def step(self, action):
        self.steps += 1
        return np.array([self.steps]), 1.0, self.steps == self.last, False, {}


envs = SyncVectorEnv([lambda: Counter(1), lambda: Counter(3)], autoreset_mode=AutoresetMode.DISABLED)
envs = RecordEpisodeStatistics(envs)
envs.reset(seed=0)
envs.step([0, 0])  # the first env ends
envs.reset(options={"reset_mask": np.array([True, False])})
envs.step([0, 0])
envs.reset(options={"reset_mask": np.array([True, False])})
*_, infos = envs.step([0, 0])  # the third step of the second env, which ends
print("steps of the second env:", 3, "- recorded length:", int(infos["episode"]["l"][1]), "- recorded return:", float(infos["episode"]["r"][1]))
assert int(infos["episode"]["l"][1]) == 1, "the behaviour has changed; expected a recorded length of 1"
PYTHON
