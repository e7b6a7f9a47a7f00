#!/usr/bin/env bash
# torchrl 0.14.1: an episode that ends within the skipped frames.
#
# Guess: `FrameSkipTransform(k)` stops repeating the action when the episode ends, as `GymWrapper(env, frame_skip=k)` does.
# Seen:  it takes all k steps, also in an environment that has ended. The reward has those of the steps after the end, the
#        observation is that of the last of them, and the end is missed if only the step that ends the episode reports it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 torchrl==0.14.1 gymnasium==1.4.0
"$folder/venv/bin/python" - <<'PYTHON'
import gymnasium
import numpy
from torchrl.envs import GymWrapper, TransformedEnv
from torchrl.envs.transforms import FrameSkipTransform


class Counter(gymnasium.Env):
    """Ends in the third step, with a reward of 1; steps after the end cost 10."""

    observation_space = gymnasium.spaces.Box(0, 100, (1,), numpy.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return numpy.zeros(1, numpy.float32), {}

    def step(self, action):
        self.steps += 1
        reward = 1.0 if self.steps == 3 else -10.0 if self.steps > 3 else 0.0
        return numpy.full(1, self.steps, numpy.float32), reward, self.steps == 3, False, {}


for name, env, expected in (
    ("frame_skip=2", GymWrapper(Counter(), frame_skip=2), ([2, 3], [0, 1], [False, True])),
    ("FrameSkipTransform(2)", TransformedEnv(GymWrapper(Counter()), FrameSkipTransform(2)), ([2, 4], [0, -9], [False, False])),
):
    steps = env.rollout(2)
    seen = tuple(steps["next", key].flatten().tolist() for key in ("observation", "reward", "done"))
    print(f"{name}: observations {seen[0]}, rewards {seen[1]}, done {seen[2]}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
