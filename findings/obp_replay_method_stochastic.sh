#!/usr/bin/env bash
# obp 0.4.1: off-policy estimates of a policy that draws its actions.
#
# Guess: in the summary of `OffPolicyEvaluation` each estimator estimates the value of the policy, as the argument `action_dist` has its
#        probabilities for each of them, or the replay method refuses probabilities other than 0 and 1.
# Seen:  the replay method estimates 0.0, with a confidence interval from 0 to 0, where the others estimate the value: only actions with a
#        probability of 1 count. Of a policy that is deterministic in one half of the contexts, that half is the estimate.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet obp==0.4.1 numpy==2.4.6 pandas==2.3.3 scikit-learn==1.7.2
"$folder/venv/bin/python" - <<'PYTHON'
import numpy
from obp.ope import InverseProbabilityWeighting, OffPolicyEvaluation, ReplayMethod

ROUNDS = 20_000
REWARDS = numpy.array([0.1, 0.5, 0.8])  # the mean reward of each action
BEHAVIOR = numpy.array([0.5, 0.3, 0.2])
generator = numpy.random.default_rng(0)
actions = generator.choice(3, ROUNDS, p=BEHAVIOR)
feedback = {
    "n_rounds": ROUNDS,
    "n_actions": 3,
    "action": actions,
    "reward": (generator.random(ROUNDS) < REWARDS[actions]).astype(float),
    "pscore": BEHAVIOR[actions],
    "position": numpy.zeros(ROUNDS, dtype=int),
    "context": numpy.zeros((ROUNDS, 1)),
}
evaluation = OffPolicyEvaluation(feedback, [InverseProbabilityWeighting(), ReplayMethod()])


def estimates(policy):
    """Return the estimates of a policy, which are the probabilities of the actions in each round."""
    values = evaluation.estimate_policy_values(action_dist=policy[:, :, None])
    return float(values["ipw"]), float(values["rm"])


best = numpy.tile([0.0, 0.0, 1.0], (ROUNDS, 1))
drawn = numpy.tile([0.2, 0.3, 0.5], (ROUNDS, 1))
mixed = numpy.where(numpy.arange(ROUNDS)[:, None] % 2 == 0, [1.0, 0.0, 0.0], [0.0, 0.1, 0.9])
for name, policy in (("the best action", best), ("probabilities 0.2, 0.3 and 0.5", drawn), ("half of each", mixed)):
    value = float((policy @ REWARDS).mean())
    weighted, replayed = estimates(policy)
    print(f"{name}: the value is {value:.3f}, estimated as {weighted:.3f} by weighting and {replayed:.3f} by replay")
    assert abs(weighted - value) < 0.02, "the estimate by weighting has changed"
    expected = {"the best action": 0.8, "probabilities 0.2, 0.3 and 0.5": 0.0, "half of each": 0.1}[name]
    assert abs(replayed - expected) < 0.02, "the behaviour has changed"
interval = evaluation.estimate_intervals(action_dist=drawn[:, :, None], n_bootstrap_samples=100, random_state=0)["rm"]
print("interval by replay:", {key: float(value) for key, value in interval.items()})
assert set(interval.values()) == {0.0}, "the behaviour has changed"
PYTHON
