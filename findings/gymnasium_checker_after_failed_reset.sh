#!/usr/bin/env bash
# Gymnasium 1.4.0: the passive checker that `make` adds after a first reset that raised.
#
# Guess: an env whose first `reset` raised, for example for a wrong option, works after a `reset` that succeeds.
# Seen:  the second reset succeeds, and each following step raises "TypeError: cannot unpack non-iterable NoneType object"
#        after it has performed the action. Without the checker (`disable_env_checker=True`) the same calls work.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet gymnasium==1.4.0
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import gymnasium
from gymnasium.spaces import Discrete


class Corridor(gymnasium.Env):
    observation_space = action_space = Discrete(50)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if options and "level" not in options:
            raise ValueError(f"unknown options {options}")
        self.place = 0
        return self.place, {}

    def step(self, action):
        self.place += 1
        return self.place, 0.0, False, False, {}


gymnasium.register("Corridor-v0", Corridor)
print("gymnasium", gymnasium.__version__)
seen = {}
for is_disabled in (False, True):
    env = gymnasium.make("Corridor-v0", disable_env_checker=is_disabled)
    try:
        env.reset(options={"stage": 1})
    except ValueError as error:
        print("first reset:", error)
    env.reset(options={"level": 1})
    results = []
    for _ in range(2):
        try:
            results.append(env.step(1)[0])
        except TypeError as error:
            results.append(f"TypeError: {error}")
    seen[is_disabled] = [*results, env.unwrapped.place]
    print("without" if is_disabled else "with", "the checker, two steps and the place:", seen[is_disabled])
broken = "TypeError: cannot unpack non-iterable NoneType object"
assert seen == {False: [broken, broken, 2], True: [1, 2, 2]}, f"the behaviour has changed: {seen}"
PYTHON
