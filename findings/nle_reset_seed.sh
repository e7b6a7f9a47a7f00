#!/usr/bin/env bash
# nle 1.3.0 (NetHack Learning Environment): `reset(seed=...)`.
#
# Guess: a seed selects the dungeon, as Gymnasium requires of `reset`.
# Seen:  the seed of `reset` does not reach NetHack: each reset is another game, also with the same seed and in a new process.
#        Only `env.unwrapped.seed(core, disp)`, called before each `reset`, fixes the game.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet nle==1.3.0 gymnasium==1.2.0
"$folder/venv/bin/python" - <<'PYTHON'
import gymnasium
import nle  # noqa: F401

env = gymnasium.make("NetHackScore-v0")


def games(seed, before=lambda: None):
    screens = set()
    for _ in range(3):
        before()
        observation, _ = env.reset(seed=seed)
        screens.add(observation["chars"].tobytes())
    return len(screens)


print("games of three resets with seed 3:", games(3))
assert games(3) == 3, "the behaviour has changed"
fixed = games(None, before=lambda: env.unwrapped.seed(3, 3))
print("after env.unwrapped.seed(3, 3):", fixed)
assert fixed == 1, "the behaviour has changed"
PYTHON
