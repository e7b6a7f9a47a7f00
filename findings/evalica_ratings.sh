#!/usr/bin/env bash
# evalica 0.4.2: ratings of agents from pairwise comparisons.
#
# Guess: the agent that beats each other one has the highest score, and one more agent, which won all of its games, is rated above the
#        agent that it beat.
# Seen:  `eigen` has the reverse order: the agent that loses against each other one has the highest score. One undefeated agent makes
#        all scores of `bradley_terry` and `newman` less than 0.001. With two agents and no draw, `newman` and `eigen` rate 30:10 as equal, and so does
#        `pagerank`. There is no error and no warning; `iterations` may be 2, or the limit.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet evalica==0.4.2 numpy==2.4.6 pandas==3.1.1 scipy==1.16.3
"$folder/venv/bin/python" - <<'PYTHON'
import evalica
from evalica import Winner

METHODS = ("bradley_terry", "newman", "eigen", "pagerank", "average_win_rate")


def ratings(*games):
    rows = [(first, second, Winner.X) for first, second, wins, _ in games for _ in range(wins)]
    rows += [(first, second, Winner.Y) for first, second, _, losses in games for _ in range(losses)]
    first, second, winners = (list(column) for column in zip(*rows))
    return {method: getattr(evalica, method)(first, second, winners).scores for method in METHODS}


def order(scores):
    return "".join(scores.sort_values(ascending=False).index)


THREE = (("a", "b", 30, 10), ("b", "c", 30, 10), ("a", "c", 36, 4))
scores = ratings(*THREE)
print("a beats b and c, b beats c:", {method: order(values) for method, values in scores.items()})
for method in METHODS:
    expected = "cba" if method == "eigen" else "abc"
    assert order(scores[method]) == expected, f"the behaviour of {method} has changed; expected {expected}"

scores = ratings(*THREE, ("d", "a", 10, 0))
print("d beats a in ten games:", {method: values.round(3).to_dict() for method, values in scores.items()})
for method in ("bradley_terry", "newman"):
    assert scores[method].max() < 0.001, f"the behaviour of {method} has changed; expected scores near 0"
assert scores["eigen"].idxmin() == "d" and scores["average_win_rate"].idxmax() == "d", "the behaviour has changed"

scores = ratings(("a", "b", 30, 10))
print("a beats b in 30 of 40 games:", {method: values.round(3).to_dict() for method, values in scores.items()})
for method in ("newman", "eigen", "pagerank"):
    assert abs(scores[method]["a"] - scores[method]["b"]) < 1e-6, f"the behaviour of {method} has changed; expected equal scores"
assert scores["bradley_terry"]["a"] > 2 * scores["bradley_terry"]["b"]
PYTHON
