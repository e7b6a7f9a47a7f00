#!/usr/bin/env bash
# mabwiser 2.7.4: an arm without a trial, such as a new one, in the policy UCB1.
#
# Guess: UCB1 plays it first, as the bound of an arm without a trial is infinite.
# Seen:  its bound is 0, and it stays 0: with rewards of 0 and 1 the arm is never played, in 500 rounds and with any `alpha`,
#        although it is the best one. Epsilon-greedy, softmax and Thompson sampling find it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet mabwiser==2.7.4 numpy==2.4.6 pandas==3.1.1 scikit-learn==1.9.1 scipy==1.17.1
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import numpy
from mabwiser.mab import MAB, LearningPolicy

MEANS = {"a": 0.5, "b": 0.4, "new": 0.9}


def plays(policy, is_added):
    """Return how often each arm is played in 500 rounds after one trial of "a" and of "b"."""
    generator = numpy.random.default_rng(0)
    bandit = MAB(arms=["a", "b"] if is_added else list(MEANS), learning_policy=policy, seed=1)
    bandit.fit(["a", "b"], [1, 0])
    if is_added:
        bandit.add_arm("new")
    counts = dict.fromkeys(MEANS, 0)
    for _ in range(500):
        arm = bandit.predict()
        counts[arm] += 1
        bandit.partial_fit([arm], [int(generator.random() < MEANS[arm])])
    return counts


for is_added in (False, True):
    for policy in (
        LearningPolicy.UCB1(alpha=1.25),
        LearningPolicy.UCB1(alpha=10),
        LearningPolicy.EpsilonGreedy(epsilon=0.1),
        LearningPolicy.Softmax(),
        LearningPolicy.ThompsonSampling(),
    ):
        counts = plays(policy, is_added)
        print(f"{policy}, {'added with add_arm' if is_added else 'in the list of arms'}: {counts}")
        if isinstance(policy, LearningPolicy.UCB1):
            assert counts["new"] == 0, "the behaviour has changed; expected no play of the new arm"
        else:
            assert counts["new"] > 100
PYTHON
