#!/usr/bin/env bash
# envpool 1.2.5 and gymnasium 1.4.0: the first states of Taxi.
#
# Guess: an episode of envpool's Taxi-v3 begins as one of Gymnasium's Taxi, with a passenger who is not at the destination.
# Seen:  in about a quarter of the episodes the passenger waits at the destination, so that nobody has to be driven anywhere for the reward of 20.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet envpool==1.2.5 gymnasium==1.4.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import envpool
import gymnasium

EPISODES = 500
taxi = gymnasium.make("Taxi-v4").unwrapped
places = taxi.decode  # of a state: row, column, passenger (4: in the taxi), destination


def is_there(state):
    *_, passenger, destination = places(state)
    return passenger == destination


starts = [int(taxi.reset(seed=seed)[0]) for seed in range(EPISODES)]
there = sum(map(is_there, starts))
envs = envpool.make("Taxi-v3", env_type="gymnasium", num_envs=EPISODES, seed=0)
states = [int(state) for state in envs.reset()[0]]
there_in_envpool = sum(map(is_there, states))
print(f"passenger at the destination: {there} of {EPISODES} episodes in gymnasium, {there_in_envpool} in envpool")
assert there == 0, "gymnasium has changed"
assert 0.1 * EPISODES < there_in_envpool < 0.4 * EPISODES, "the behaviour has changed"
PYTHON
