#!/usr/bin/env bash
# envpool 1.2.5 and jumanji 1.1.2: the problems that episodes begin with.
#
# Guess: each episode of envpool's Jumanji environments begins with a random problem, as in Jumanji, where the key decides it.
# Seen:  TSP, Knapsack and Maze do. In CVRP, JobShop, MultiCVRP, LevelBasedForaging and RobotWarehouse all episodes of all copies and seeds
#        begin with one and the same observation, so an agent trains and is evaluated on a single problem.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet envpool==1.2.5 jumanji==1.1.2 jax==0.10.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import envpool
import jax
import jumanji
import numpy

COPIES = 16
SEEDS = [0, 100, 200, 300]


def different(batches):
    """Return the number of different observations in batches of observations, which are trees of arrays."""
    return len({b"".join(numpy.asarray(leaf)[copy].tobytes() for leaf in jax.tree.leaves(batch)) for batch in batches for copy in range(COPIES)})


def starts(name):
    """Return the numbers of different first observations in jumanji and in envpool."""
    reset = jax.jit(jax.vmap(jumanji.make(name).reset))
    batches = [reset(jax.random.split(jax.random.key(seed), COPIES))[1].observation for seed in SEEDS]
    pools = [envpool.make_gymnasium(name, num_envs=COPIES, seed=seed).reset()[0] for seed in SEEDS]
    return different(batches), different(pools)


total = COPIES * len(SEEDS)
for name in ("TSP-v1", "Knapsack-v1", "Maze-v0", "CVRP-v1", "JobShop-v0", "MultiCVRP-v0", "LevelBasedForaging-v0", "RobotWarehouse-v0"):
    in_jumanji, in_envpool = starts(name)
    print(f"{name}: of {total} first observations {in_jumanji} are different in jumanji, {in_envpool} in envpool")
    assert in_jumanji > 0.9 * total, "jumanji has changed"
    drawn = name in ("TSP-v1", "Knapsack-v1", "Maze-v0")
    assert in_envpool == (total if drawn else 1), "the behaviour has changed"
PYTHON
