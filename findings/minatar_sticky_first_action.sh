#!/usr/bin/env bash
# MinAtar 1.0.15 with gymnasium 1.4.0: the first step of an episode.
#
# Guess: `reset(seed=...)` decides the episode, and a sticky first action is the "no operation" that a new env begins with.
# Seen:  the last action is kept beyond `reset`: in one of ten episodes, the default, the first step repeats the last action of the episode
#        before, so the episode of a seed depends on what was played before it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet minatar==1.0.15 gymnasium==1.4.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import gymnasium
from minatar.gym import register_envs

SEEDS = 300
NOTHING, LEFT = 0, 1
register_envs()


def column(observation):
    """Return the column of the cannon."""
    return int(observation[:, :, 0].any(axis=0).argmax())


def first_step(env, seed):
    """Return the columns of the cannon before and after a first step without an operation."""
    observation, _ = env.reset(seed=seed)
    return column(observation), column(env.step(NOTHING)[0])


def moved(played):
    """Return the number of seeds whose first step moved the cannon, in an env with earlier episodes that ended with a move to the left or not."""
    env = gymnasium.make("MinAtar/SpaceInvaders-v1", disable_env_checker=True)
    number = 0
    for seed in range(SEEDS):
        before, after = first_step(env, seed)
        number += before != after
        if played:
            for _ in range(3):
                env.step(LEFT)
    return number


alone, after_others = moved(played=False), moved(played=True)
print(f"the cannon moved in the first step of {alone} of {SEEDS} seeds, and of {after_others} if each episode before ended with a move to the left")
assert alone == 0
assert 0.05 * SEEDS < after_others < 0.2 * SEEDS, "the behaviour has changed"
PYTHON
