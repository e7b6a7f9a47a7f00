#!/usr/bin/env bash
# river 0.26.1: bandit policies with posterior distributions, on rewards that are not 0 or 1.
#
# Guess: `ThompsonSampling` with `proba.Gaussian()`, which is documented for continuous rewards, and `BayesUCB` find the best of three arms
#        with the mean rewards 0.2, 0.5 and 0.9, as `UCB` and `EpsilonGreedy` do.
# Seen:  `ThompsonSampling` draws exactly 0 for an arm without a trial, so that another arm with positive rewards is never left for it:
#        the best arm is not played at all. `BayesUCB` counts any reward but 0 as a success, also 0.2 and -1, and plays one arm.
#        `BayesUCB(burn_in=20)` is an AttributeError at the first update.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet river==0.26.1
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import collections
import random

from river import bandit, proba

MEANS = (0.2, 0.5, 0.9)


def played(policy, reward):
    """Return how often each arm is played in 1,000 steps."""
    counts = collections.Counter()
    generator = random.Random(0)
    for _ in range(1000):
        arm = policy.pull(range(3))
        counts[arm] += 1
        policy.update(arm, reward(arm, generator))
    return [counts[arm] for arm in range(3)]


def noisy(arm, generator):
    return generator.uniform(MEANS[arm] - 0.1, MEANS[arm] + 0.1)


def binary(arm, generator):
    return generator.random() < MEANS[arm]


def signed(arm, generator):
    return 1 if generator.random() < MEANS[arm] else -1


def only_best(policy, reward):
    """Return the mean share of the best arm, for ten seeds."""
    return sum(played(policy(seed), reward)[2] for seed in range(10)) / 10_000


SAMPLING = lambda seed: bandit.ThompsonSampling(reward_obj=proba.Gaussian(), seed=seed)  # noqa: E731
BURNED_IN = lambda seed: bandit.ThompsonSampling(reward_obj=proba.Gaussian(), burn_in=5, seed=seed)  # noqa: E731
BAYES = lambda seed: bandit.BayesUCB(seed=seed)  # noqa: E731
UCB = lambda seed: bandit.UCB(delta=1, seed=seed)  # noqa: E731
for name, policy, reward, low, high in (
    ("UCB, rewards around the means", UCB, noisy, 0.8, 1),
    ("Thompson sampling, rewards around the means", SAMPLING, noisy, 0, 0.6),
    ("Thompson sampling with burn_in=5", BURNED_IN, noisy, 0.9, 1),
    ("BayesUCB, rewards 0 and 1", BAYES, binary, 0.9, 1),
    ("BayesUCB, rewards around the means", BAYES, noisy, 0, 0.6),
    ("BayesUCB, rewards -1 and 1", BAYES, signed, 0, 0.6),
):
    share = only_best(policy, reward)
    print(f"{name}: the best arm is played in {share:.0%} of the steps")
    assert low <= share <= high, "the behaviour has changed"
print("one run of Thompson sampling:", played(SAMPLING(1), noisy))
print("one run of BayesUCB:", played(BAYES(0), noisy))
posterior = proba.Beta()
for value in (0.2, -1):
    posterior.update(value)
print("Beta after 0.2 and -1: alpha", posterior.alpha, "beta", posterior.beta)
assert (posterior.alpha, posterior.beta) == (3, 1), "the behaviour has changed"
try:
    bandit.BayesUCB(burn_in=20, seed=0).update(0, 1)
except AttributeError as error:
    print("BayesUCB(burn_in=20):", error)
else:
    raise AssertionError("the behaviour has changed")
PYTHON
