#!/usr/bin/env bash
# mushroom-rl 1.10.1: ReplayMemory.add with n_steps_return=3, which DQN's `n_steps_return` uses.
#
# Guess: each step of an episode is the beginning of one stored transition; those near its end have a shorter return.
# Seen:  the last two steps of each episode are dropped, and an episode of one or two steps as a whole, whatever its reward. Steps that are
#        added one by one, as in a training loop with a fit after each step, are never stored: the memory stays empty.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet mushroom-rl==1.10.1
"$folder/venv/bin/python" - 2>"$folder/warnings" <<'PYTHON' || { tail -3 "$folder/warnings"; exit 1; }
import numpy
from mushroom_rl.utils.replay_memory import ReplayMemory


def episode(start, length):
    """Return steps (state, action, reward, next state, absorbing, last) that end with the reward 1."""
    return [
        (numpy.array([start + i]), numpy.array([0]), float(i == length - 1), numpy.array([start + i + 1]), i == length - 1, i == length - 1)
        for i in range(length)
    ]


def stored(memory):
    return [int(memory._states[i][0]) for i in range(memory.size)]


steps = episode(0, 5) + episode(100, 2) + episode(200, 3)
for n_steps, expected in ((1, [0, 1, 2, 3, 4, 100, 101, 200, 201, 202]), (3, [0, 1, 2, 200])):
    memory = ReplayMemory(initial_size=0, max_size=100)
    memory.add(steps, n_steps_return=n_steps, gamma=0.9)
    print(f"n_steps_return={n_steps}: states of the stored transitions {stored(memory)}")
    assert stored(memory) == expected, f"the behaviour has changed; expected {expected}"

memory = ReplayMemory(initial_size=0, max_size=100)
for step in steps:
    memory.add([step], n_steps_return=3, gamma=0.9)
print(f"n_steps_return=3, one step at a time: states of the stored transitions {stored(memory)}")
assert stored(memory) == [], "the behaviour has changed; expected an empty memory"
PYTHON
