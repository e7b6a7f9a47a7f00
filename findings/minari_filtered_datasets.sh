#!/usr/bin/env bash
# Minari 0.5.4: data sets that `filter_episodes` returns.
#
# Guess: `combine_datasets` of filtered data sets has the episodes that are left, and `iterate_episodes([0, 1])` returns the first two of
#        them.
# Seen:  the combined data set has all episodes of the stored ones, without a warning: a data set for imitation has the failed episodes
#        again. `iterate_episodes([0, 1])` returns the first two stored episodes, also those that were filtered out, while the
#        filtered data set's `[0]` is its own first one. `split_dataset` keeps the filter.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet minari==0.5.4 h5py==3.16.0 pillow==13.0.0 jax==0.10.2 gymnasium==1.4.0 numpy==2.4.6
MINARI_DATASETS_PATH="$folder/data" "$folder/venv/bin/python" - 2>"$folder/warnings" <<'PYTHON' || { tail -3 "$folder/warnings"; exit 1; }
import gymnasium
import minari
import numpy


class Shop(gymnasium.Env):
    """Episodes of two steps with the given scores."""

    observation_space = gymnasium.spaces.Box(0, 9, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, scores):
        self.scores = list(scores)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return numpy.zeros(1, numpy.float32), {}

    def step(self, action):
        self.steps += 1
        reward = self.scores.pop(0) if self.steps == 2 else 0.0
        return numpy.ones(1, numpy.float32), reward, self.steps == 2, False, {}


def scores(episodes):
    return [float(episode.rewards.sum()) for episode in episodes]


def successes(name, values):
    """Store a data set with episodes of these scores, and return its successful ones."""
    collector = minari.DataCollector(Shop(values))
    for _ in values:
        collector.reset()
        collector.step(0)
        collector.step(1)
    return collector.create_dataset(dataset_id=name).filter_episodes(lambda episode: episode.rewards.sum() > 0)


first, second = successes("shop/first-v0", [0.0, 1.0, 0.0, 1.0]), successes("shop/second-v0", [1.0, 0.0])
combined = minari.combine_datasets([first, second], "shop/both-v0")
for text, seen, expected in (
    ("scores of the filtered data sets", [scores(first), scores(second)], [[1.0, 1.0], [1.0]]),
    ("scores of both combined", scores(combined), [0.0, 1.0, 0.0, 1.0, 1.0, 0.0]),
    ("scores of iterate_episodes([0, 1])", scores(first.iterate_episodes([0, 1])), [0.0, 1.0]),
    ("score of [0]", scores([first[0]]), [1.0]),
    ("scores of split_dataset", [scores(part) for part in minari.split_dataset(first, [1, 1], seed=1)], [[1.0], [1.0]]),
):
    print(f"{text}: {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
