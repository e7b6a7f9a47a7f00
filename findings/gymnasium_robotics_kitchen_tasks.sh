#!/usr/bin/env bash
# gymnasium-robotics 1.4.2 with mujoco 3.3.7: FrankaKitchen-v1, an environment with goals whose rewards can be computed again.
#
# Guess: the info of a step stays as it was, and `compute_reward` depends on its arguments only, so that rewards can be computed again for
#        other goals, as hindsight experience replay does.
# Seen:  `episode_task_completions` is one list in all infos, which `reset` empties: the infos of a finished episode have no completed
#        task. `compute_reward` of goals that are reached is 2 at the beginning of an episode and 1 after one of the two tasks is done.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet gymnasium-robotics==1.4.2 mujoco==3.3.7 gymnasium==1.4.0 numpy==2.4.6
MUJOCO_GL=disable "$folder/venv/bin/python" - <<'PYTHON'
import gymnasium
import gymnasium_robotics
import numpy
from gymnasium_robotics.envs.franka_kitchen.kitchen_env import OBS_ELEMENT_GOALS, OBS_ELEMENT_INDICES

gymnasium.register_envs(gymnasium_robotics)
env = gymnasium.make("FrankaKitchen-v1", tasks_to_complete=["microwave", "kettle"])
kitchen = env.unwrapped
goal = env.reset(seed=3)[0]["desired_goal"]
before = kitchen.compute_reward(goal, goal, {})
# The door of the microwave is opened, and the next step counts it.
kitchen.data.qpos[OBS_ELEMENT_INDICES["microwave"]] = OBS_ELEMENT_GOALS["microwave"]
_, reward, _, _, info = env.step(numpy.zeros(env.action_space.shape, env.action_space.dtype))
after = kitchen.compute_reward(goal, goal, {})
done = list(info["episode_task_completions"])
env.reset()
print(f"reward of the step {reward}; completed tasks in its info {done}, after reset {info['episode_task_completions']}")
print(f"compute_reward of two reached goals: {before} before the step, {after} after it, {kitchen.compute_reward(goal, goal, {})} after reset")
assert (reward, done, info["episode_task_completions"]) == (1.0, ["microwave"], []), "the behaviour has changed"
assert (before, after) == (2.0, 1.0), "the behaviour has changed"
PYTHON
