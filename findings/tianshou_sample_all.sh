#!/usr/bin/env bash
# tianshou 2.0.1: `sample(None)` of a buffer, which is documented to return all transitions in a random order.
#
# Guess: each transition is returned once.
# Seen:  they are drawn with replacement from `ReplayBuffer` and `PrioritizedReplayBuffer`: 100 draws contain about 63 of 100 transitions,
#        so that averages over "all" of them differ from the true ones. `VectorReplayBuffer` returns each once, in the order of its envs.
#        `sample(0)` returns each once from a `ReplayBuffer`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 tianshou==2.0.1
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import numpy
from tianshou.data import Batch, PrioritizedReplayBuffer, ReplayBuffer, VectorReplayBuffer

assert "return all available indices in a\n" in ReplayBuffer.sample_indices.__doc__
assert "random order" in ReplayBuffer.sample_indices.__doc__


def filled(buffer, steps, envs=None):
    for step in range(steps):
        values = step if envs is None else step + steps * numpy.arange(envs)
        zeros = False if envs is None else numpy.zeros(envs, bool)
        infos = {} if envs is None else numpy.array([{}] * envs)
        buffer.add(
            Batch(obs=values, act=values, rew=values * 1.0, terminated=zeros, truncated=zeros, obs_next=values + 1, info=infos)
        )
    return buffer


buffers = {
    "ReplayBuffer": filled(ReplayBuffer(100, random_seed=0), 100),
    "PrioritizedReplayBuffer": filled(PrioritizedReplayBuffer(100, alpha=0.6, beta=0.4, random_seed=0), 100),
    "VectorReplayBuffer": filled(VectorReplayBuffer(100, 4), 25, envs=4),
}
for name, buffer in buffers.items():
    batch, indices = buffer.sample(None)
    different = len(set(indices.tolist()))
    print(f"{name}: {len(indices)} draws of {len(buffer)}, {different} different ones, mean {batch.rew.mean():.2f} (all: 49.50)")
    assert len(indices) == len(buffer) == 100
    if name == "VectorReplayBuffer":
        assert batch.rew.tolist() == list(range(100)), "the behaviour has changed"
    else:
        assert different < 80, "the behaviour has changed"
assert buffers["ReplayBuffer"].sample(0)[0].rew.tolist() == list(range(100))
PYTHON
