#!/usr/bin/env bash
# torcheval 0.0.7: HitRate, ReciprocalRank and MulticlassAccuracy with scores that are equal or NaN.
#
# Guess: of ten classes with equal scores a hit at 1 is found in one of ten samples, and scores of NaN, of a model that diverged, never hit.
# Seen:  a class is in the first place if no other one has a higher score: equal scores and NaN have the hit rate 1 and the reciprocal
#        rank 1 for each target. `MulticlassAccuracy` is 0.1 with k=1 and 1 with k=2 for both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 torcheval==0.0.7 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import torch
from torcheval.metrics import HitRate, MulticlassAccuracy, ReciprocalRank

targets = torch.arange(10)
for name, scores, expected in (
    ("right scores", torch.eye(10), (1, 1, 1, 1)),
    ("wrong scores", torch.eye(10).roll(1, 0), (0, 0.5, 0, 1)),
    ("equal scores", torch.zeros(10, 10), (1, 1, 0.1, 1)),
    ("scores of NaN", torch.full((10, 10), torch.nan), (1, 1, 0.1, 1)),
):
    seen = [
        metric.update(scores, targets).compute().mean().item()
        for metric in (HitRate(k=1), ReciprocalRank(), MulticlassAccuracy(k=1), MulticlassAccuracy(k=2))
    ]
    seen = [round(value, 6) for value in seen]
    print(f"{name}: hit rate {seen[0]}, reciprocal rank {seen[1]}, accuracy {seen[2]} with k=1 and {seen[3]} with k=2")
    assert tuple(seen) == expected, f"the behaviour has changed; expected {expected}"
PYTHON
