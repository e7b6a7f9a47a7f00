#!/usr/bin/env bash
# highway-env 1.12.1: the seed of the action space of an environment.
#
# Guess: after `env.action_space.seed(7)` and `env.reset(seed=7)`, a policy that calls `env.action_space.sample()` repeats its episode,
#        as in other environments, where the action space is one object.
# Seen:  each `reset` makes a new, unseeded action space. The episodes and returns of such a policy differ, also within one process; a
#        seed of the action space holds only until the next reset. With fixed actions the seed of `reset` decides the episode.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet highway-env==1.12.1 gymnasium==1.4.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import gymnasium
import highway_env  # registers the environments

def episode(env, fixed=None, after=False):
    """Return the actions and the rewards of one episode of at most 20 steps."""
    env.action_space.seed(7)
    env.reset(seed=7)
    if after:
        env.action_space.seed(7)
    actions, rewards = [], []
    while len(actions) < 20:
        actions.append(int(env.action_space.sample()) if fixed is None else fixed)
        _, reward, terminated, truncated, _ = env.step(actions[-1])
        rewards.append(float(reward))
        if terminated or truncated:
            break
    return actions, rewards

for name in ("CartPole-v1", "highway-fast-v0"):
    env = gymnasium.make(name)
    space = env.action_space
    env.reset(seed=7)
    kept = env.action_space is space
    seeded, seeded_after, fixed = (
        [episode(env, **options) for _ in range(3)] for options in ({}, {"after": True}, {"fixed": 1})
    )
    repeated = [all(run == runs[0] for run in runs) for runs in (seeded, seeded_after, fixed)]
    print(f"{name}: the space is kept {kept}; repeated with the seed before, after reset, and with fixed actions: {repeated}")
    expected = name == "CartPole-v1"
    assert kept == expected and repeated == [expected, True, True], "the behaviour has changed"
PYTHON
