#!/usr/bin/env bash
# d3rlpy 2.8.1: an `MDPDataset` whose last episode has not ended.
#
# Guess: the steps after the last terminal are an episode without a terminal, or an error.
# Seen:  they are dropped without a warning: of ten steps with one terminal at the fifth, five are kept. With `timeouts` set at the
#        last step they are kept, except for the last transition. The number of actions is the largest action plus one, so
#        that actions -1 and 0 are one action.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 d3rlpy==2.8.1
"$folder/venv/bin/python" - <<'PYTHON'
import numpy
from d3rlpy.dataset import MDPDataset

observations = numpy.arange(10, dtype=numpy.float32)[:, None]
actions, rewards, terminals, timeouts = numpy.arange(10) % 2, numpy.ones(10), numpy.zeros(10), numpy.zeros(10)
terminals[4] = timeouts[9] = 1

dataset = MDPDataset(observations, actions, rewards, terminals)
print("episodes:", [(episode.size(), episode.terminated) for episode in dataset.episodes], "transitions:", dataset.transition_count)
assert [episode.size() for episode in dataset.episodes] == [5], "the behaviour has changed"
dataset = MDPDataset(observations, actions, rewards, terminals, timeouts)
print("with timeouts:", [(episode.size(), episode.terminated) for episode in dataset.episodes], "transitions:", dataset.transition_count)
assert [episode.size() for episode in dataset.episodes] == [5, 5] and dataset.transition_count == 9
actions_found = MDPDataset(observations, actions - 1, rewards, terminals, timeouts).dataset_info.action_size
print("number of actions, if they are -1 and 0:", actions_found)
assert actions_found == 1, "the behaviour has changed"
PYTHON
