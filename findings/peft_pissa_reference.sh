#!/usr/bin/env bash
# peft 0.21.2: `disable_adapter()` with adapters that are initialized by PiSSA or OLoRA.
#
# Guess: without the adapter, the model is the base model, as with the default initialization. Trainers use this as their
#        reference model.
# Seen:  PiSSA and OLoRA move a part of the base weights into the adapter. The model with the adapter equals the base model at
#        first; with the adapter disabled its outputs differ, and `unload()` returns that other model.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 peft==0.21.2
"$folder/venv/bin/python" - <<'PYTHON'
import torch
from peft import LoraConfig, get_peft_model

inputs = torch.eye(8)
for initialization, is_base in [(True, True), ("pissa", False), ("olora", False)]:
    torch.manual_seed(0)
    base = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    outputs = base(inputs).detach()
    model = get_peft_model(base, LoraConfig(target_modules=["0"], r=4, init_lora_weights=initialization))
    assert torch.allclose(model(inputs), outputs, atol=1e-5)
    with model.disable_adapter():
        difference = (model(inputs) - outputs).abs().max().item()
    unloaded = (model.unload()(inputs) - outputs).abs().max().item()
    print(f"{initialization}: largest difference without the adapter {difference:.4f}, after unload {unloaded:.4f}")
    assert (max(difference, unloaded) < 1e-5) == is_base, "the behaviour has changed"
    assert (min(difference, unloaded) < 1e-5) == is_base, "the behaviour has changed"
PYTHON
