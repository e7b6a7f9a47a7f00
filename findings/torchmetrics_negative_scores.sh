#!/usr/bin/env bash
# torchmetrics 1.9.0: retrieval metrics of scores that are not positive, such as log-probabilities and logits.
#
# Guess: a ranking counts, so scores minus 10 have the same metrics; the functions accept any floats and check only their type.
# Seen:  in the reciprocal rank, average precision, precision and recall a document with a score of at most 0 is never relevant. The right
#        document in the first place has the reciprocal rank 0 if all scores are log-probabilities; the hit rate, the NDCG and the
#        R-precision of the same ranking are 1.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 torchmetrics==1.9.0
"$folder/venv/bin/python" - <<'PYTHON'
import torch
from torchmetrics.retrieval import (
    RetrievalHitRate,
    RetrievalMAP,
    RetrievalMRR,
    RetrievalNormalizedDCG,
    RetrievalPrecision,
    RetrievalRecall,
    RetrievalRPrecision,
)

probabilities = torch.tensor([0.7, 0.2, 0.1])
relevant = torch.tensor([True, False, False])
query = torch.zeros(3, dtype=torch.long)
for metric, positive, negative in (
    (RetrievalMRR(), 1, 0),
    (RetrievalMAP(), 1, 0),
    (RetrievalPrecision(top_k=1), 1, 0),
    (RetrievalRecall(top_k=1), 1, 0),
    (RetrievalHitRate(top_k=1), 1, 1),
    (RetrievalNormalizedDCG(top_k=1), 1, 1),
    (RetrievalRPrecision(), 1, 1),
):
    of_probabilities = float(metric(probabilities, relevant, indexes=query))
    of_large_scores = float(metric(probabilities.log() + 10, relevant, indexes=query))
    of_logarithms = float(metric(probabilities.log(), relevant, indexes=query))
    name = type(metric).__name__
    print(f"{name}: {of_probabilities} of probabilities, {of_large_scores} of positive scores, {of_logarithms} of log-probabilities")
    assert of_probabilities == of_large_scores == positive, "the behaviour of positive scores has changed"
    assert of_logarithms == negative, f"the behaviour has changed; expected {negative}"
PYTHON
