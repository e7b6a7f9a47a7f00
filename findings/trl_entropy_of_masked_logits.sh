#!/usr/bin/env bash
# trl 1.16.0: the entropy of tokens whose logits were masked.
#
# Guess: a token that is excluded with the logit minus infinity, as grammars and padded vocabularies do, adds nothing to the entropy,
#        as in `torch.distributions.Categorical`.
# Seen:  `entropy_from_logits`, which the trainers use, returns NaN for the position.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 trl==1.16.0
"$folder/venv/bin/python" - <<'PYTHON'
import torch
from trl.trainer.utils import entropy_from_logits

logits = torch.tensor([[[0.0, 0.0, 0.0]], [[0.0, 0.0, float("-inf")]]])
seen = entropy_from_logits(logits).flatten().tolist()
reference = torch.distributions.Categorical(logits=logits).entropy().flatten().tolist()
print("trl:", seen)
print("torch.distributions:", reference)
assert abs(seen[0] - reference[0]) < 1e-5 and abs(reference[1] - 0.6931) < 1e-3
assert seen[1] != seen[1], "the behaviour has changed: no NaN"
PYTHON
