#!/usr/bin/env bash
# nasim 0.12.0 and mobile-env 2.1.0 with gymnasium 1.4.0: equal seeds of `reset`, and sampled actions.
#
# Guess: after `reset(seed=3)` equal actions have equal results, and an action that the action space samples is accepted.
# Seen:  the seed has no effect in either. In nasim, NumPy's global generator decides whether an exploit succeeds. In mobile-env each reset has
#        the next episode of a sequence, which only the seed in `config` decides. A sampled action is an AssertionError in nasim.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet nasim==0.12.0 mobile-env==2.1.0 gymnasium==1.4.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import gymnasium
import mobile_env  # registers the environments
import nasim  # registers the environments
import numpy

EPISODES = 20


def episode(env, actions, seed):
    """Return the steps of an episode of a seed."""
    observation, _ = env.reset(seed=seed)
    steps = [numpy.asarray(observation).tobytes()]
    for action in actions:
        observation, reward, terminated, truncated, _ = env.step(action)
        steps.append((numpy.asarray(observation).tobytes(), float(reward)))
        if terminated or truncated:
            break
    return tuple(steps)


def made(name, **arguments):
    env = gymnasium.make(name, disable_env_checker=True, **arguments)
    env.action_space.seed(0)
    return env


network = made("Tiny-v0")
actions = [int(network.action_space.sample()) for _ in range(300)]
different = len({episode(network, actions, seed=3) for _ in range(EPISODES)})
print(f"nasim: {different} different episodes of {EPISODES} with one seed and the same actions")
assert different > 1, "the behaviour has changed"
repeated = set()
for _ in range(EPISODES):
    numpy.random.seed(3)
    repeated.add(episode(network, actions, seed=3))
assert len(repeated) == 1, "the behaviour has changed: the global generator does not decide"
network.reset(seed=3)
try:
    network.step(network.action_space.sample())
except AssertionError as error:
    print("nasim: a sampled action:", error)
else:
    raise AssertionError("the behaviour has changed: a sampled action is accepted")

cells = made("mobile-small-central-v0")
actions = [cells.action_space.sample() for _ in range(10)]
different = len({episode(cells, actions, seed=3) for _ in range(EPISODES)})
print(f"mobile-env: {different} different episodes of {EPISODES} with one seed and the same actions")
assert different == EPISODES, "the behaviour has changed"
first = [episode(made("mobile-small-central-v0"), actions, seed=seed) for seed in range(3)]
print(f"mobile-env: {len(set(first))} different first episodes of new envs with 3 seeds, and {len({episode(made('mobile-small-central-v0', config={'seed': seed}), actions, None) for seed in range(3)})} with 3 seeds in `config`")
assert len(set(first)) == 1, "the behaviour has changed"
PYTHON
