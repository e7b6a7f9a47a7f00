#!/usr/bin/env bash
# crafter 1.8.3: episodes of new envs with one seed and the same actions.
#
# Guess: `crafter.Env(seed=...)` decides the episode, so equal actions give equal pictures and rewards.
# Seen:  the first pictures are equal. Later ones differ within one process, and the episodes end after different numbers of steps: the
#        creatures of a chunk are a set of objects, and the one to despawn is drawn by its place in it, which depends on their addresses.
#        (With the sets sorted by the order of creation, all episodes of a seed were equal.)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet crafter==1.8.3 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import crafter
import numpy

ACTIONS = numpy.random.RandomState(0).randint(17, size=1000)
others = []  # objects of the program, which move the addresses of later ones


def episode(seed):
    """Return the pictures and rewards of an episode of a new env."""
    env = crafter.Env(seed=seed)
    steps = [(env.reset().tobytes(), 0.0)]
    for action in ACTIONS:
        picture, reward, done, _ = env.step(action)
        steps.append((picture.tobytes(), reward))
        if done:
            break
    others.append([object() for _ in range(1000 * len(others) + 17)])
    return steps


different = 0
for seed in range(5):
    episodes = [episode(seed) for _ in range(5)]
    first = next((number for number, steps in enumerate(zip(*episodes)) if len(set(steps)) > 1), None)
    lengths = [len(steps) - 1 for steps in episodes]
    print(f"seed {seed}: {len(set(map(tuple, episodes)))} different episodes of 5, of {lengths} steps; the first difference is after {first} steps")
    assert len({tuple(steps[:2]) for steps in episodes}) == 1, "the behaviour has changed: the first pictures differ"
    different += first is not None
assert different > 0, "the behaviour has changed: equal seeds and actions give equal episodes"
PYTHON
