#!/usr/bin/env bash
# llama-index-core 0.14.25: the retrieval metrics of `llama_index.core.evaluation`.
#
# Guess: a metric is between 0 and 1, a repeated document counts once, and the expected documents in their order score 1.
# Seen:  a document that is retrieved three times counts three times: average precision 3.0, NDCG 2.13 and granular hit rate 3.0.
#        Two expected documents in the expected order have a granular MRR of 0.75, which one of them alone would have as 1.0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet llama-index-core==0.14.25
"$folder/venv/bin/python" - <<'PYTHON'
from llama_index.core.evaluation.retrieval.metrics import MRR, NDCG, AveragePrecision, HitRate, Recall

granular_hits, granular_mrr = HitRate(use_granular_hit_rate=True), MRR(use_granular_mrr=True)
for name, metric, expected_ids, retrieved_ids, expected in (
    ("recall", Recall(), ["a"], ["a", "a", "a"], 1.0),
    ("average precision", AveragePrecision(), ["a", "b"], ["a", "b"], 1.0),
    ("average precision", AveragePrecision(), ["a"], ["a", "a", "a"], 3.0),
    ("NDCG", NDCG(), ["a", "b"], ["a", "b"], 1.0),
    ("NDCG", NDCG(), ["a"], ["a", "a", "a"], 2.131),
    ("granular hit rate", granular_hits, ["a"], ["a", "a", "a"], 3.0),
    ("granular MRR", granular_mrr, ["a", "b"], ["a", "b"], 0.75),
    ("granular MRR", granular_mrr, ["a", "b"], ["a"], 1.0),
):
    seen = round(metric.compute(expected_ids=expected_ids, retrieved_ids=retrieved_ids).score, 3)
    print(f"{name} of {retrieved_ids} for {expected_ids}: {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
