#!/usr/bin/env bash
# mo-gymnasium 1.3.2: the discounted return that the vector wrapper MORecordEpisodeStatistics records.
#
# Guess: equal episodes have equal discounted returns.
# Seen:  it is never reset: each episode's value is the sum of those of all episodes of this env so far. The undiscounted
#        return and the length, which the same wrapper records, are those of the episode.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet mo-gymnasium==1.3.2 gymnasium==1.4.0 numpy==2.4.0
"$folder/venv/bin/python" - <<'PYTHON'
import gymnasium
import numpy as np
from mo_gymnasium.wrappers.vector import MORecordEpisodeStatistics, MOSyncVectorEnv


class TwoRewards(gymnasium.Env):
    """Gives the rewards 1 and 10 at each of its two steps."""

    observation_space = gymnasium.spaces.Discrete(3)
    action_space = gymnasium.spaces.Discrete(2)
    reward_space = gymnasium.spaces.Box(0, 10, (2,))
    reward_dim = 2

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return 0, {}

    def step(self, action):
        self.steps += 1
        return self.steps, np.array([1, 10], np.float32), self.steps == 2, False, {}


envs = MORecordEpisodeStatistics(MOSyncVectorEnv([TwoRewards]), gamma=0.5)
envs.reset(seed=0)
episodes = []
while len(episodes) < 3:
    *_, infos = envs.step([0])
    if "episode" in infos:
        episodes.append({key: infos["episode"][key][0].tolist() for key in ("l", "r", "dr")})
for episode in episodes:
    print("length", episode["l"], "return", episode["r"], "discounted return", episode["dr"])
assert [episode["r"] for episode in episodes] == [[2, 20]] * 3
assert [episode["dr"] for episode in episodes] == [[1.5, 15], [3, 30], [4.5, 45]], "the behaviour has changed"
PYTHON
