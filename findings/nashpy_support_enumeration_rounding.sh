#!/usr/bin/env bash
# nashpy 0.0.43: the equilibria of small zero-sum games.
#
# Guess: `support_enumeration` finds at least one equilibrium, as every game has one.
# Seen:  strategies and payoffs are compared without a tolerance: a probability of 2e-17 outside of the support excludes an
#        equilibrium. Of 500 games with three actions and payoffs from 1 to 99 dozens have none, although `vertex_enumeration`
#        finds one equilibrium, of which the game is not degenerate. The warning takes them for degenerate; `tol=1e-9` mends some.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet nashpy==0.0.43 numpy==2.4.6 scipy==1.17.1
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import numpy
from nashpy import Game

generator = numpy.random.default_rng(0)
missing, with_tolerance, lost = 0, 0, None
for _ in range(500):
    payoffs = generator.integers(1, 100, (3, 3))
    game = Game(payoffs)
    equilibria = list(game.vertex_enumeration())
    if len(equilibria) == 1 and not list(game.support_enumeration()):
        missing += 1
        with_tolerance += len(list(game.support_enumeration(tol=1e-9)))
        lost = lost or (payoffs.tolist(), [strategy.round(3).tolist() for strategy in equilibria[0]], game.linear_program())
print(f"games with one equilibrium of which support_enumeration finds none: {missing} of 500, with tol=1e-9 {missing - with_tolerance}")
print(f"one of them: {lost}")
assert missing > 20, "the behaviour has changed; expected dozens of games"
assert 0 < with_tolerance < missing, "the behaviour has changed"
PYTHON
