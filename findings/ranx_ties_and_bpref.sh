#!/usr/bin/env bash
# ranx 0.3.21 and pytrec-eval-terrier 0.5.11: metrics of one run in two libraries of which the first is tested against TREC Eval.
#
# Guess: both return the same metrics.
# Seen:  documents with equal scores are in the order of the run in ranx and in the reverse order of their names in pytrec_eval: the
#        reciprocal rank of the right document is 1 and 1/3. bpref is NaN in ranx as soon as one query has no document that was judged
#        not relevant, also in the average of all queries.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet ranx==0.3.21 pytrec-eval-terrier==0.5.11
"$folder/venv/bin/python" - <<'PYTHON'
import math

import pytrec_eval
from ranx import Qrels, Run, evaluate


def metrics(judged, run):
    """Return the averages of the reciprocal rank and of bpref, in ranx and in pytrec_eval."""
    in_ranx = evaluate(Qrels(judged), Run(run), ["mrr", "bpref"])
    of_queries = pytrec_eval.RelevanceEvaluator(judged, {"recip_rank", "bpref"}).evaluate(run).values()
    ranks = [query["recip_rank"] for query in of_queries]
    preferences = [query["bpref"] for query in of_queries]
    return float(in_ranx["mrr"]), float(in_ranx["bpref"]), sum(ranks) / len(ranks), sum(preferences) / len(preferences)


different = {"a": 0.9, "b": 0.5, "c": 0.1}
equal = {"a": 0.5, "b": 0.5, "c": 0.5}
for name, judged, run, expected in (
    ("different scores", {"1": {"a": 1, "b": 0}}, {"1": different}, (1, 1, 1, 1)),
    ("equal scores, the first is right", {"1": {"a": 1, "b": 0}}, {"1": equal}, (1, 1, 1 / 3, 0)),
    ("equal scores, the last is right", {"1": {"c": 1, "b": 0}}, {"1": equal}, (1 / 3, 0, 1, 1)),
    ("one of two queries without a wrong document", {"1": {"a": 1, "b": 0}, "2": {"a": 1}}, {"1": different, "2": different}, (1, None, 1, 1)),
):
    seen = metrics(judged, run)
    print(f"{name}: reciprocal rank {seen[0]:.3f} in ranx and {seen[2]:.3f} in pytrec_eval, bpref {seen[1]:.3f} and {seen[3]:.3f}")
    for value, wanted in zip(seen, expected, strict=True):
        right = math.isnan(value) if wanted is None else math.isclose(value, wanted)
        assert right, f"the behaviour has changed; expected {expected}"
PYTHON
