#!/usr/bin/env bash
# Gymnasium 1.4.0: AsyncVectorEnv without shared memory, in NEXT_STEP mode, after a reset.
#
# Guess: shared_memory only changes how observations travel, so both settings give equal episodes.
# Seen:  after an episode has ended and reset() was called, the next step of an env without shared memory drops its
#        action and resets again; with shared memory, and in SyncVectorEnv, the step is done.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet gymnasium==1.4.0 numpy==2.4.0
cat >"$folder/run.py" <<'PYTHON'
import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv


class Counter(gymnasium.Env):
    """Counts its steps and ends after one."""

    observation_space = gymnasium.spaces.Box(0, 10, (1,), np.int64)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return np.array([0]), {}

    def step(self, action):
        self.steps += 1
        return np.array([self.steps]), 1.0, True, False, {}


def steps_after_reset(envs):
    envs.reset(seed=0)
    envs.step([1])  # the episode ends
    envs.reset()
    observations, rewards, *_ = envs.step([1])
    envs.close()
    return int(observations[0][0]), float(rewards[0])


if __name__ == "__main__":
    mode = {"autoreset_mode": AutoresetMode.NEXT_STEP}
    seen = {
        "sync": steps_after_reset(SyncVectorEnv([Counter], **mode)),
        "async, shared memory": steps_after_reset(AsyncVectorEnv([Counter], shared_memory=True, **mode)),
        "async, no shared memory": steps_after_reset(AsyncVectorEnv([Counter], shared_memory=False, **mode)),
    }
    for name, (steps, reward) in seen.items():
        print(f"{name}: {steps} steps done, reward {reward}")
    expected = {"sync": (1, 1.0), "async, shared memory": (1, 1.0), "async, no shared memory": (0, 0.0)}
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
"$folder/venv/bin/python" "$folder/run.py"
