#!/usr/bin/env bash
# ale-py 0.12.1: continuing an Atari game from a cloned state.
#
# Guess: after `restore_state` of a state that `clone_state(include_rng=True)` returned, the same actions lead to the same frames, as the
#        method's documentation states.
# Seen:  with sticky actions, the default, they do not lead to the frames that followed the clone; two restores of one state are equal.
#        A search that compares a restored branch with the game that went on compares different draws. Without sticky actions the
#        frames are equal.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet ale-py==0.12.1 gymnasium==1.4.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import ale_py
import gymnasium
import numpy

gymnasium.register_envs(ale_py)
for probability, expected in ((0.25, [False, True]), (0.0, [True, True])):
    env = gymnasium.make("ALE/Breakout-v5", repeat_action_probability=probability)
    env.reset(seed=1)
    for _ in range(5):
        env.step(1)
    state = env.unwrapped.clone_state(include_rng=True)
    branches = []
    for _ in range(3):
        branches.append([env.step(2 + step % 2)[0] for step in range(100)])
        env.unwrapped.restore_state(state)
    seen = [numpy.array_equal(first, second) for first, second in zip(branches, branches[1:])]
    print(f"sticky actions {probability}: game and first branch equal {seen[0]}, two branches equal {seen[1]}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
