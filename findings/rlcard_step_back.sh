#!/usr/bin/env bash
# rlcard 1.2.0: `step_back` after each step of random games.
#
# Guess: `step_back` returns the state that was before the step, so that a search can try each action of a state.
# Seen:  `action_record` keeps the action in all games, and has it twice when it is taken again. In limit hold'em the observation keeps the
#        raises that were taken back, in Dou Dizhu the cards that were seen, and in Mahjong the hand and the legal actions are others.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet rlcard==1.2.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import copy
import random

import numpy
import rlcard

GAMES = 20


def equal(first, second):
    """Return True if two states, which have dicts, lists and arrays, are equal."""
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(equal(first[key], second[key]) for key in first)
    return bool(numpy.array_equal(first, second)) if isinstance(first, numpy.ndarray) else first == second


def differences(name):
    """Return the number of steps that were taken back, and how often each part of the state differed after it."""
    env = rlcard.make(name, config={"seed": 3, "allow_step_back": True})
    draw, steps, counts = random.Random(0), 0, {}
    for _ in range(GAMES):
        state, _ = env.reset()
        while not env.is_over():
            before = copy.deepcopy(state)
            action = draw.choice(list(before["legal_actions"]))
            env.step(action)
            after, _ = env.step_back()
            steps += 1
            for key in before:
                counts[key] = counts.get(key, 0) + (not equal(before[key], after[key]))
            state, _ = env.step(action)
    return steps, {key: number for key, number in counts.items() if number}


for name in ("leduc-holdem", "limit-holdem", "uno", "doudizhu"):
    steps, counts = differences(name)
    print(f"{name}: of {steps} steps that were taken back, other values in {counts}")
    assert counts["action_record"] == steps, "the behaviour has changed"
    if name == "limit-holdem":
        assert counts.get("obs", 0) > 0.1 * steps, "the behaviour has changed"
    if name == "doudizhu":
        assert counts.get("raw_obs", 0) > 0.01 * steps, "the behaviour has changed"
PYTHON
