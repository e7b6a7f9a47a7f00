"""Weight averaging: one model whose weights are the mean of several models' weights."""

from pathlib import Path
from typing import Any

import torch

from agents.models.adapters import merged
from agents.models.checkpoints import agent_record, load_model, save_agent
from agents.models.pointer.network import is_pointer, load_pointer
from agents.training.settings import AverageSettings

_VARIATION = "variation"  # of the worlds that a model was trained in


@torch.no_grad()
def average(settings: AverageSettings) -> Path:
    """Write the model whose weights are the mean of the models' (Wortsman et al., arXiv 2203.05482), and return its folder.

    Tokenizer and agent record are the first model's. Adapters are merged into the weights. Raises ValueError for models of different
    shapes or with different agent records; they may have been trained in worlds of different variation.
    """
    first, *others = settings.models
    load: Any = load_pointer if is_pointer(first) else load_model
    model, tokenizer = load(first)
    model = merged(model)  # the mean of adapters is not the adapter of the mean
    record = agent_record(first)
    total = {name: weights.clone() for name, weights in model.state_dict().items()}
    for other in others:
        weights = merged(load(other)[0]).state_dict()
        shapes, expected = ({name: tuple(value.shape) for name, value in each.items()} for each in (weights, total))
        if shapes != expected:
            raise ValueError(f"{other} has other weights than {first}; expected models that were trained on from the same one")
        if {**agent_record(other), _VARIATION: None} != {**record, _VARIATION: None}:
            raise ValueError(f"{other} was trained as {agent_record(other)}; expected {record}, as {first}")
        for name, value in weights.items():
            total[name] += value
    model.load_state_dict({name: value / len(settings.models) for name, value in total.items()})
    save_agent(settings.out, model, tokenizer, record)
    return settings.out
