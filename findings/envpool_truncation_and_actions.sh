#!/usr/bin/env bash
# envpool 1.2.5: the discount of a time limit in the dm_env interface, and actions outside of the space.
#
# Guess: the last step of a time limit has the discount 1, as `dm_env.truncation` has, so that its value is bootstrapped; an action
#        that the space does not contain is an error.
# Seen:  the discount is 0, as it is after a fall: the two ends cannot be distinguished. In "CartPole-v1" any action other than 1 is
#        a push to the left, so that 2, 7 and -1 are 0, and a float is cut off.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet envpool==1.2.5 gymnasium==1.4.0 numpy==2.4.6 dm-env==1.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import dm_env
import envpool
import numpy


def last_discount(**options):
    env = envpool.make("CartPole-v1", env_type="dm", num_envs=1, seed=1, **options)
    env.reset()
    for steps in range(1, 100):
        step = env.step(numpy.array([0]))
        if step.step_type[0] == dm_env.StepType.LAST:
            return steps, float(step.discount[0])


truncation = dm_env.truncation(1.0, None).discount
for name, options in (("fall", {}), ("time limit of 3 steps", {"max_episode_steps": 3})):
    steps, discount = last_discount(**options)
    print(f"{name}: discount {discount} in step {steps}; of dm_env.truncation: {truncation}")
    assert discount == 0, "the behaviour has changed"
    assert (steps == 3) == bool(options) and truncation == 1

velocities = {}
for action in (0, 1, 2, 7, -1, 1.9):
    env = envpool.make("CartPole-v1", env_type="gymnasium", num_envs=1, seed=1)
    env.reset()
    velocities[action] = round(float(env.step(numpy.array([action]))[0][0, 1]), 3)
print(f"{env.action_space}, velocity after each action: {velocities}")
assert velocities[0] < 0 < velocities[1]
assert velocities[2] == velocities[7] == velocities[-1] == velocities[0], "the behaviour has changed"
assert velocities[1.9] == velocities[1], "the behaviour has changed"
PYTHON
