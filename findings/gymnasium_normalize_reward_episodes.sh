#!/usr/bin/env bash
# Gymnasium 1.4.0: the discounted return by which NormalizeReward scales rewards, over several episodes.
#
# Guess: it begins at zero with each episode, so its largest value is that of the longest episode.
# Seen:  only termination resets it. A truncated episode and a call of reset() carry it into the next episode: with a step
#        limit it grows without bound (gamma 1) and the same rewards get smaller and smaller. The reward of a terminating
#        step counts in the next episode instead of its own, in the vector wrapper too.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet gymnasium==1.4.0 numpy==2.4.0
"$folder/venv/bin/python" - <<'PYTHON'
import gymnasium
from gymnasium.wrappers import NormalizeReward


class Steady(gymnasium.Env):
    """Gives a reward of 1 a step, and ends after three."""

    observation_space = gymnasium.spaces.Discrete(9)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, truncates):
        self.truncates = truncates

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return 0, {}

    def step(self, action):
        self.steps += 1
        ended = self.steps == 3
        return self.steps, 1.0, ended and not self.truncates, ended and self.truncates, {}


def discounted_returns(truncates):
    env = NormalizeReward(Steady(truncates), gamma=1.0)
    episodes = []
    for _ in range(3):
        env.reset(seed=0)
        returns = []
        for _ in range(3):
            env.step(0)
            returns.append(float(env.discounted_reward[0]))
        episodes.append(returns)
    return episodes


terminated, truncated = discounted_returns(False), discounted_returns(True)
print("return after each step, three episodes that terminate:   ", terminated)
print("return after each step, three episodes that are truncated:", truncated)
assert terminated == [[1, 2, 1], [2, 3, 1], [2, 3, 1]], "the behaviour has changed"
assert truncated == [[1, 2, 3], [4, 5, 6], [7, 8, 9]], "the behaviour has changed"
PYTHON
