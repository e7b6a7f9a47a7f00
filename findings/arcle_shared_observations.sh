#!/usr/bin/env bash
# arcle 0.2.6 with gymnasium 1.4.0: observations that are kept, and equal seeds of `reset`.
#
# Guess: an observation stays as it was when the agent acts, and `reset(seed=3)` selects the problem.
# Seen:  all observations of an episode are one object, which has the grid after the last action: in a stored trajectory the state before and
#        after each action are equal. The seed has no effect: the problem is drawn from NumPy's global generator.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet arcle==0.2.6 gymnasium==1.4.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import arcle  # registers the environments
import gymnasium
import numpy

env = gymnasium.make("ARCLE/O2ARCEnv-v2", disable_env_checker=True)
everything = numpy.ones((30, 30), dtype=numpy.int8)
observation, _ = env.reset(seed=3, options={"prob_index": 0, "subprob_index": 0})
at_the_time = [observation["grid"].copy()]
trajectory = [observation]
for color in (1, 2, 3):
    observation, *_ = env.step({"selection": everything, "operation": color})  # the operations 0 to 9 color the selected cells
    at_the_time.append(observation["grid"].copy())
    trajectory.append(observation)
print("color of the first cell at the time:", [int(grid[0, 0]) for grid in at_the_time])
print("in the kept observations:", [int(kept["grid"][0, 0]) for kept in trajectory])
assert [int(grid[0, 0]) for grid in at_the_time[1:]] == [1, 2, 3]
assert all(kept["grid"][0, 0] == 3 for kept in trajectory), "the behaviour has changed: observations stay"


def problem():
    """Return the first grid of the problem of seed 3."""
    return env.reset(seed=3)[0]["input"].tobytes()


def problem_after_global_seed():
    numpy.random.seed(3)
    return problem()


different = len({problem() for _ in range(20)})
print(f"{different} different problems of 20 with one seed")
assert different > 10, "the behaviour has changed"
assert len({problem_after_global_seed() for _ in range(20)}) == 1, "the behaviour has changed: the global generator does not decide"
PYTHON
