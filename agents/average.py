"""Average the weights of several models: `python -m agents.average --help`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.command_lines import NewFolder, parse_settings
from agents.models.checkpoints import agent_record, is_pointer, load_model, save_agent
from webarena_gym import console

_VARIATION = "variation"  # entry of the agent record: the variation of the training worlds


@dataclass(frozen=True, kw_only=True)
class AverageSettings:
    """Average the weights of models with the same initial model, such as runs of M-GRPO with several seeds.

    Changes that all runs share are preserved, and changes of a single run are divided by the number of runs. The result has the size of
    one model.
    """

    models: tuple[str, ...]
    """model folders, or runs, of which the newest checkpoint is used"""
    out: NewFolder
    """folder of the new model"""


def average(settings: AverageSettings) -> Path:
    """Write a model with the mean weights of the models (Wortsman et al., arXiv 2203.05482), and return its folder.

    It has the tokenizer and the agent record of the first model. Adapters are merged into the weights.

    Raises:
        ValueError: The models differ in the shapes of their weights, or in their agent records other than by the variation of worlds.

    """
    from agents.models.parameters import merge_adapters  # noqa: PLC0415 - options are refused without torch
    from agents.models.pointer.network import load_pointer  # noqa: PLC0415

    first_source, *sources = settings.models
    load: Callable[[str], tuple[Any, Any]] = load_pointer if is_pointer(first_source) else load_model
    model, tokenizer = load(first_source)
    model = merge_adapters(model)  # the mean of adapters is not the adapter of the mean
    record = agent_record(first_source)
    total = {name: weights.clone() for name, weights in model.state_dict().items()}
    for source in sources:
        weights = merge_adapters(load(source)[0]).state_dict()
        if {name: value.shape for name, value in weights.items()} != {name: value.shape for name, value in total.items()}:
            raise ValueError(f"the weights of {source} and {first_source} have different shapes; expected equal shapes")
        if {**agent_record(source), _VARIATION: None} != {**record, _VARIATION: None}:
            raise ValueError(f"{source} has the agent record {agent_record(source)}; expected {record}, as {first_source} has")
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
