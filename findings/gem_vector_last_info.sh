#!/usr/bin/env bash
# gem-llm 0.1.0: the last observation and info of an episode in a vector env, with the default autoreset mode.
#
# Guess: the mode is NEXT_STEP, as the docstring of VectorEnv states, or SAME_STEP as in Gymnasium, where both are in the
#        info of the reset as "final_obs" and "final_info".
# Seen:  it is SAME_STEP, and both are lost: step returns the observation and the info of the next episode with the reward
#        of the last. What an env reports at the end of an episode, such as success, cannot be read.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet gem-llm==0.1.0
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
from gem.core import Env
from gem.vector.sync_vector_env import SyncVectorEnv


class OneStep(Env):
    """Ends after one step, with an observation and an info about the end."""

    def reset(self, seed=None):
        return "start", {"stage": "start"}

    def step(self, action):
        return "end", 1.0, True, False, {"stage": "end", "success": True}


envs = SyncVectorEnv(["one-step"], [OneStep])
envs.reset(seed=0)
observations, rewards, terminated, truncated, infos = envs.step(["act"])
print("mode", envs.autoreset_mode, "in a class whose docstring begins:", type(envs).__mro__[1].__doc__[:41])
print("observation", observations, "reward", rewards, "terminated", terminated, "info", infos)
assert terminated.tolist() == [True] and rewards.tolist() == [1.0]
assert observations == ["start"] and infos == [{"stage": "start"}], "the behaviour has changed"
PYTHON
