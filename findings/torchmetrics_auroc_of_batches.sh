#!/usr/bin/env bash
# torchmetrics 1.9.0: the area under the ROC curve of unnormalized scores, such as logits and log-probabilities.
#
# Guess: it depends on the order of all scores, and the division into batches does not matter.
# Seen:  the sigmoid is applied to those batches that have a value outside of 0 to 1, and not to the others, before they are
#        ordered together: a logit of 0.9 is above one of 2.0, and an AUROC of 1 becomes 0.67. Log-probabilities below -104 and
#        scores above 17 are equal after the sigmoid in float32: the AUROC is 0.5. Average precision and the ROC have both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 torchmetrics==1.9.0
"$folder/venv/bin/python" - <<'PYTHON'
from torch import tensor
from torchmetrics.classification import BinaryAUROC, BinaryAveragePrecision


def score(metric, *batches):
    metric = metric()
    for logits, labels in batches:
        metric.update(tensor(logits), tensor(labels))
    return round(metric.compute().item(), 3)


one_batch = [([0.9, 0.1, 2.0, -1.0], [0, 0, 1, 0])]
two_batches = [([0.9, 0.1], [0, 0]), ([2.0, -1.0], [1, 0])]
log_probabilities = [([-200.0, -150.0, -130.0, -110.0], [0, 0, 1, 1])]
large_scores = [([20.0, 30.0, 40.0, 50.0], [0, 0, 1, 1])]
for metric, name, batches, expected in (
    (BinaryAUROC, "four logits in one batch", one_batch, 1.0),
    (BinaryAUROC, "the same in two batches", two_batches, 0.667),
    (BinaryAveragePrecision, "four logits in one batch", one_batch, 1.0),
    (BinaryAveragePrecision, "the same in two batches", two_batches, 0.5),
    (BinaryAUROC, "log-probabilities, positives above negatives", log_probabilities, 0.5),
    (BinaryAUROC, "scores from 20 to 50, positives above negatives", large_scores, 0.5),
):
    seen = score(metric, *batches)
    print(f"{metric.__name__}, {name}: {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
