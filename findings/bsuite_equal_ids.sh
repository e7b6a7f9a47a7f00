#!/usr/bin/env bash
# bsuite 0.3.6: episodes of one identifier that is loaded twice.
#
# Guess: "catch/0" to "catch/19" are twenty seeds, so each of them gives the same episodes whenever it is loaded.
# Seen:  all twenty have the same settings, with the seed None: episodes of one identifier differ from each other as those of two do, and two
#        agents are compared on other episodes. The same holds for "cartpole/0" and "mountain_car/0"; "bandit/0" repeats itself.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet bsuite==0.3.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import bsuite
import numpy
from bsuite import sweep


def episodes(identifier, number=3):
    """Return the steps of the first episodes with a sequence of actions that does not depend on the identifier."""
    env = bsuite.load_from_id(identifier)
    draw, steps = numpy.random.RandomState(0), []
    for _ in range(number):
        step = env.reset()
        while not step.last():
            steps.append((step.observation.tobytes(), step.reward))
            step = env.step(draw.randint(env.action_spec().num_values))
        steps.append((step.observation.tobytes(), step.reward))
    return steps


settings = {str(dict(sweep.SETTINGS[f"catch/{number}"])) for number in range(20)}
print("settings of catch/0 to catch/19:", settings)
for identifier, repeated in (("catch/0", False), ("cartpole/0", False), ("mountain_car/0", False), ("bandit/0", True)):
    different = sum(episodes(identifier) != episodes(identifier) for _ in range(5))
    print(f"{identifier}: two loads had other episodes in {different} of 5 cases")
    assert (different == 0) == repeated, "the behaviour has changed"
assert settings == {"{'seed': None}"}, "the behaviour has changed"
PYTHON
