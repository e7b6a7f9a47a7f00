#!/usr/bin/env bash
# distrax 0.1.9 and rlax 0.1.9: actions that are masked by a preference or logit of minus infinity.
#
# Guess: an epsilon-greedy policy never draws them, as a softmax policy does not, and a state without a valid action is an error.
# Seen:  the exploring part is uniform over all actions: with epsilon 0.3 each of two masked actions has the probability 0.075. Without a
#        valid action `Greedy` is uniform, and `Categorical` draws -1, which is the last action when it is used as an index.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet distrax==0.1.9 rlax==0.1.9 jax==0.10.2
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import distrax
import jax
import numpy
import rlax

preferences = numpy.array([1.0, 2.0, -numpy.inf, -numpy.inf], numpy.float32)
nothing = numpy.full(4, -numpy.inf, numpy.float32)
CASES = (
    ("distrax.Softmax", distrax.Softmax(logits=preferences).probs, [0.269, 0.731, 0, 0]),
    ("distrax.EpsilonGreedy", distrax.EpsilonGreedy(preferences=preferences, epsilon=0.3).probs, [0.075, 0.775, 0.075, 0.075]),
    ("rlax.epsilon_greedy", rlax.epsilon_greedy(0.3).probs(preferences), [0.075, 0.775, 0.075, 0.075]),
    ("distrax.Greedy without a valid action", distrax.Greedy(preferences=nothing).probs, [0.25] * 4),
)
for name, probabilities, expected in CASES:
    print(f"{name}: {[round(float(probability), 3) for probability in probabilities]}")
    assert numpy.allclose(probabilities, expected, atol=1e-3), f"the behaviour has changed; expected {expected}"
policy = distrax.EpsilonGreedy(preferences=preferences, epsilon=0.3)
drawn = numpy.bincount(policy.sample(seed=jax.random.PRNGKey(0), sample_shape=(1000,)), minlength=4)
print("1,000 draws of distrax.EpsilonGreedy:", drawn.tolist())
assert drawn[2] > 0 and drawn[3] > 0, "the behaviour has changed"
action = int(distrax.Categorical(logits=nothing).sample(seed=jax.random.PRNGKey(0)))
print("distrax.Categorical without a valid action draws", action)
assert action == -1, "the behaviour has changed"
PYTHON
