#!/usr/bin/env bash
# metaworld 3.1.1: `reset(seed=...)` of an environment that `gymnasium.make` returned.
#
# Guess: the seed selects the goal, as Gymnasium requires: two resets with seed 3 begin equally, in any env.
# Seen:  the seed has no effect: each reset has the next goal of a sequence that the `seed` of `make` decides, so that seeds 3, 3 and 4
#        give the goals that 8, 9 and 10 give, and without `seed=` in `make` the goals of seed 3 differ between two envs.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet metaworld==3.1.1 mujoco==3.3.0 gymnasium==1.4.0 packaging==26.4
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import gymnasium
import metaworld  # noqa: F401


def goals(seeds, **options):
    """Return the goal after each reset, as the observation contains it."""
    env = gymnasium.make("Meta-World/MT1", env_name="reach-v3", **options)
    observations = [env.reset(seed=seed)[0] for seed in seeds]
    env.close()
    return [tuple(observation[-3:].round(3).tolist()) for observation in observations]


first, second, third = goals([3, 3, 4], seed=1)
print("make(seed=1), reset(seed=3), reset(seed=3), reset(seed=4):", first, second, third)
assert len({first, second, third}) == 3, "the behaviour has changed"
assert goals([8, 9, 10], seed=1) == [first, second, third], "the behaviour has changed"
print("make(seed=1) and the seeds 8, 9, 10: the same goals")
assert goals([3], seed=2) != [first]
two = [goals([3])[0] for _ in range(2)]
print("reset(seed=3) in two envs, without a seed in make:", *two)
assert two[0] != two[1], "the behaviour has changed"
PYTHON
