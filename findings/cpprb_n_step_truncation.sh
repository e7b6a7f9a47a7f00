#!/usr/bin/env bash
# cpprb 11.0.0: n-step returns of an episode that ends by a time limit.
#
# Guess: after `on_episode_end` the last transitions have the last observation as their next one, so that its value can be bootstrapped.
# Seen:  the next observation of the last n - 1 transitions is 1.0, whatever the environment returned. `done` is 0, so that training
#        bootstraps from an observation that never was. The returns are right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet cpprb==11.0.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
from cpprb import ReplayBuffer

fields = {"obs": {}, "rew": {}, "next_obs": {}, "done": {}}
buffer = ReplayBuffer(16, fields, Nstep={"size": 3, "gamma": 0.5, "rew": "rew", "next": "next_obs"})
for episode in (100, 200):
    for step in range(5):
        buffer.add(obs=episode + step, rew=1, next_obs=episode + step + 1, done=0)
    buffer.on_episode_end()
seen = {key: value.ravel().tolist() for key, value in buffer.get_all_transitions().items()}
for key, values in seen.items():
    print(f"{key}: {values}")
assert seen["obs"] == [100, 101, 102, 103, 104, 200, 201, 202, 203, 204]
assert seen["rew"] == [1.75, 1.75, 1.75, 1.5, 1.0] * 2
assert seen["done"] == [0] * 10
assert seen["next_obs"] == [103, 104, 105, 1, 1, 203, 204, 205, 1, 1], "the behaviour has changed"
PYTHON
