#!/usr/bin/env bash
# TextArena 0.7.4: what `reset(seed=7)` seeds.
#
# Guess: the draws of that game, as in Gymnasium, where each env has its own generator.
# Seen:  Python's global `random`. A game that is played beside another one, or beside any code that draws random numbers,
#        has other dice and cards with the same seed, and each reset makes the draws of the whole process repeat.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet textarena==0.7.4
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import random
import re

import textarena


def totals(draw_between_steps):
    """Roll six times in PigDice with seed 7, and return the totals of the turn after each roll."""
    env = textarena.make("PigDice-v0-raw")
    env.reset(num_players=2, seed=7)
    texts = []
    for _ in range(6):
        _, observation = env.get_observation()
        texts.append(str(observation))
        env.step(action="[roll]")
        if draw_between_steps:
            random.random()
    return re.findall(r"turn total is (\d+)", " ".join(texts))


alone, again, beside = totals(False), totals(False), totals(True)
print("seed 7:                                ", *alone)
print("seed 7 again:                          ", *again)
print("seed 7, with one other draw a step:    ", *beside)
assert alone == again and alone, "the same seed gives other dice"
assert alone != beside, "the behaviour has changed: other draws have no effect"

random.seed()
numbers = []
for _ in range(2):
    textarena.make("PigDice-v0-raw").reset(num_players=2, seed=7)
    numbers.append(random.random())
print("random.random() after each of two resets:", *numbers)
assert numbers[0] == numbers[1], "the behaviour has changed: reset leaves the global generator alone"
PYTHON
