"""Write the mean of several models' weights as one model: `python -m agents.average --help`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.models.checkpoints import agent_record, is_pointer, load_model, save_agent
from agents.settings import NewFolder, parse_settings
from webarena_gym import console

_VARIATION = "variation"  # of the worlds that a model was trained in


@dataclass(frozen=True, kw_only=True)
class AverageSettings:
    """Write the mean of models that were trained from the same one, such as runs of M-GRPO with several seeds.

    Changes that all runs share are kept; changes of a single run are divided by the number of runs. The result has the size of one model.
    """

    models: tuple[str, ...]
    """model folders or runs, whose newest checkpoints count"""
    out: NewFolder
    """folder of the new model"""


def average(settings: AverageSettings) -> Path:
    """Write the model whose weights are the mean of the models' (Wortsman et al., arXiv 2203.05482), and return its folder.

    Tokenizer and agent record are the first model's. Adapters are merged into the weights. Raises ValueError for models of different
    shapes or with different agent records; they may have been trained in worlds of different variation.
    """
    from agents.models.parameters import merge_adapters  # noqa: PLC0415 - options are refused without torch
    from agents.models.pointer.network import load_pointer  # noqa: PLC0415

    first, *others = settings.models
    load: Any = load_pointer if is_pointer(first) else load_model
    model, tokenizer = load(first)
    model = merge_adapters(model)  # the mean of adapters is not the adapter of the mean
    record = agent_record(first)
    total = {name: weights.clone() for name, weights in model.state_dict().items()}
    for other in others:
        weights = merge_adapters(load(other)[0]).state_dict()
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


def main(arguments: Sequence[str]) -> None:
    """Average with the options of the command line."""
    print(average(parse_settings(AverageSettings, arguments, program="agents.average")))


if __name__ == "__main__":
    console.run("python -m agents.average", main)
