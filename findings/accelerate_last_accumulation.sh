#!/usr/bin/env bash
# accelerate 1.15.0: gradient accumulation when the number of batches is no multiple of the steps.
#
# Guess: the last optimizer step of an epoch uses the mean gradient of the batches that are left.
# Seen:  each loss is divided by `gradient_accumulation_steps`, also there: of ten batches with four steps, the last two make
#        half of a step.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 accelerate==1.15.0
"$folder/venv/bin/python" - <<'PYTHON'
import torch
from accelerate import Accelerator

accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)
model = torch.nn.Linear(1, 1, bias=False)
torch.nn.init.zeros_(model.weight)
batches = torch.utils.data.DataLoader(torch.ones(10, 1), batch_size=1)
model, optimizer, batches = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=1.0), batches)
weights = [0.0]
for batch in batches:
    with accelerator.accumulate(model):
        accelerator.backward(model(batch).mean())  # the gradient is 1 in each batch
        optimizer.step()
        optimizer.zero_grad()
    if accelerator.sync_gradients:
        weights.append(accelerator.unwrap_model(model).weight.item())
steps = [before - after for before, after in zip(weights, weights[1:])]
print("sizes of the optimizer steps (4, 4 and 2 batches):", steps)
assert steps == [1.0, 1.0, 0.5], "the behaviour has changed"
PYTHON
