#!/usr/bin/env bash
# envpool 1.2.5 and gymnasium 1.4.0: an episode that reaches a terminal state in the last step that its limit permits.
#
# Guess: the step is terminated and truncated, as in Gymnasium, or at least terminated: the pole fell, the goal was reached.
# Seen:  it is only truncated, so an algorithm that distinguishes the two adds the value of a state after which nothing follows. One step
#        more in the limit, and the same step is terminated.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet envpool==1.2.5 gymnasium==1.4.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import envpool
import gymnasium
import numpy

UP, RIGHT, DOWN = 0, 1, 2
PATH = [UP, *[RIGHT] * 11, DOWN]  # along the cliff to the goal


def of_gymnasium(limit):
    """Return (terminated, truncated) of the step that reaches the goal."""
    env = gymnasium.make("CliffWalking-v1", max_episode_steps=limit)
    env.reset(seed=0)
    for action in PATH:
        _, _, terminated, truncated, _ = env.step(action)
    return terminated, truncated


def of_envpool(limit):
    """Return (terminated, truncated) of the step that reaches the goal."""
    env = envpool.make_gymnasium("CliffWalking-v1", num_envs=1, seed=0, max_episode_steps=limit)
    env.reset()
    for action in PATH:
        _, _, terminated, truncated, _ = env.step(numpy.array([action]))
    return bool(terminated[0]), bool(truncated[0])


def falls(limit):
    """Push carts to the right, and return whether the poles fell in the step of the limit, and (terminated, truncated) of those that did."""
    env = envpool.make_gymnasium("CartPole-v1", num_envs=200, seed=0, max_episode_steps=limit)
    env.reset()
    for step in range(limit):
        observation, _, terminated, truncated, _ = env.step(numpy.ones(200, dtype=int))
    fallen = (numpy.abs(observation[:, 2]) > 12 * numpy.pi / 180) & truncated
    return {(bool(a), bool(b)) for a, b in zip(terminated[fallen], truncated[fallen])}, int(fallen.sum())


for limit in (len(PATH) + 1, len(PATH)):
    print(f"the goal after {len(PATH)} steps, limit {limit}: (terminated, truncated) is {of_gymnasium(limit)} in gymnasium, {of_envpool(limit)} in envpool")
assert of_gymnasium(14) == of_envpool(14) == (True, False)
assert of_gymnasium(13) == (True, True), "gymnasium has changed"
assert of_envpool(13) == (False, True), "the behaviour has changed"
flags, number = falls(limit=9)
print(f"envpool's CartPole: {number} poles fell in the step of the limit, with {flags}")
assert number > 0 and flags == {(False, True)}, "the behaviour has changed"
PYTHON
