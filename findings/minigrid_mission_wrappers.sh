#!/usr/bin/env bash
# minigrid 3.2.0: the wrappers that turn missions into numbers, on the BabyAI levels of the same package.
#
# Guess: the vocabulary and the length of DictObservationSpaceWrapper and FlatObsWrapper suffice for the package's levels.
# Seen:  the default vocabulary lacks "on", "in", "left", "right" and other words: 23 levels are an error at reset.
#        FlatObsWrapper refuses missions of more than 96 characters, which the larger levels draw.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet minigrid==3.2.0 gymnasium==1.4.0 numpy==2.4.0
"$folder/venv/bin/python" - <<'PYTHON'
import gymnasium
import minigrid  # noqa: F401
from minigrid.wrappers import DictObservationSpaceWrapper, FlatObsWrapper


def outcome(name, wrapper, seed):
    env = wrapper(gymnasium.make(name))
    env.unwrapped.reset(seed=seed)
    mission = env.unwrapped.mission
    try:
        env.reset(seed=seed)
    except (AssertionError, ValueError) as error:
        return mission, f"{type(error).__name__}: {error}"
    return mission, "reset"


expected = [
    ("BabyAI-GoToObj-v0", DictObservationSpaceWrapper, 2, "reset"),
    ("BabyAI-OpenDoor-v0", DictObservationSpaceWrapper, 2, "ValueError: Unknown word: on"),
    ("BabyAI-PutNextLocal-v0", DictObservationSpaceWrapper, 2, "ValueError: Unknown word: next"),
    ("BabyAI-OpenDoorsOrderN4-v0", DictObservationSpaceWrapper, 2, "ValueError: Unknown word: after"),
    ("BabyAI-MiniBossLevel-v0", FlatObsWrapper, 2, "AssertionError: mission string too long (113 chars)"),
]
for name, wrapper, seed, result in expected:
    mission, seen = outcome(name, wrapper, seed)
    print(f"{name}, {wrapper.__name__}, mission {mission!r}: {seen}")
    assert seen == result, f"the behaviour has changed; expected {result}"
PYTHON
