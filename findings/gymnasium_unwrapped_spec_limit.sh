#!/usr/bin/env bash
# Gymnasium 1.4.0: the step limit in the spec of an unwrapped env.
#
# Guess: `env.unwrapped.spec.max_episode_steps` is the limit of `make` or of the registration, so that an env can read its own
#        limit, and `make(env.unwrapped.spec)` makes the same env again.
# Seen:  it is None even for a registered limit; only `env.spec` of the wrapped env has the number. An env that is made again
#        from the spec of the unwrapped one has no TimeLimit and is never truncated.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet gymnasium==1.4.0
"$folder/venv/bin/python" - <<'PYTHON'
import gymnasium

for keywords, limit in (({}, 200), ({"max_episode_steps": 7}, 7)):
    env = gymnasium.make("MountainCar-v0", **keywords)
    print(keywords, "limit in env.spec:", env.spec.max_episode_steps, "- in env.unwrapped.spec:", env.unwrapped.spec.max_episode_steps)
    assert (env.spec.max_episode_steps, env.unwrapped.spec.max_episode_steps) == (limit, None), "the behaviour has changed"


def truncated_at(env):
    env.reset(seed=0)
    return next((step for step in range(1, 501) if env.step(1)[3]), None)


seen = [truncated_at(gymnasium.make(spec)) for spec in (env.spec, env.unwrapped.spec)]
print("made again from env.spec and from env.unwrapped.spec, truncated at step:", seen)
assert seen == [7, None], "the behaviour has changed; expected [7, None]"
PYTHON
