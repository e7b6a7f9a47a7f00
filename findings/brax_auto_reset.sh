#!/usr/bin/env bash
# brax 0.14.2: `AutoResetWrapper`, which `brax.envs.create` adds by default.
#
# Guess: each episode of an env begins in a new random state.
# Seen:  all episodes of an env begin in the state of its first `reset`: of 100 episodes of two envs there are two initial states.
#        `done` is also 1 at the limit of steps; only `info["truncation"]` shows that.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet brax==0.14.2
"$folder/venv/bin/python" - <<'PYTHON'
import os

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
from brax.envs import Env, State
from brax.envs.wrappers.training import wrap


class Walk(Env):
    observation_size = action_size = 1
    backend = "none"

    def reset(self, rng):
        position = jax.random.uniform(rng, (1,))
        return State(None, position, jax.numpy.zeros(()), jax.numpy.zeros(()))

    def step(self, state, action):
        return state.replace(obs=state.obs + 1, reward=jax.numpy.ones(()), done=jax.numpy.zeros(()))


env = wrap(Walk(), episode_length=3)
step = jax.jit(env.step)
state = env.reset(jax.random.split(jax.random.PRNGKey(0), 2))
starts, ends = [state.obs.ravel().tolist()], []
for _ in range(150):
    state = step(state, jax.numpy.zeros((2, 1)))
    if state.done.all():
        starts.append(state.obs.ravel().tolist())
        ends.append((state.done.tolist(), state.info["truncation"].tolist()))
print("episodes of each env:", len(ends), "done and truncation at the end of the first:", ends[0])
print("initial states:", sorted({tuple(start) for start in starts}))
assert len(ends) == 50 and ends[0] == ([1.0, 1.0], [1.0, 1.0])
assert len({tuple(start) for start in starts}) == 1, "the behaviour has changed"
PYTHON
