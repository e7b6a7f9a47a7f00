"""Train a model by behaviour cloning of the expert. Run `python -m agents.train_bc --help`.

`--model pointer` trains a pointer network instead of a language model, with other options
(`agents.training.pointer_cloning`).
"""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from agents.command_lines import collect_rarely, errors_name_options, option_value, parse_settings, trains_adapters
from agents.data.demonstrations import recorded_agent
from agents.models.checkpoints import is_pretrained, recorded_settings
from agents.settings import recorded_tools
from agents.training.settings import (
    LORA_LEARNING_RATE,
    POINTER,
    PRETRAINED,
    PRETRAINED_BC_RATES,
    SMALL,
    SMALL_MODEL_GROUPS,
    BCSettings,
    PointerBCSettings,
)
from webarena_gym import console

_ANY_MODEL = """

Defaults depend on the model. `--model MODEL --help` shows those of one model. This help lists the options of language models. The second
example trains a pointer network, which is not a language model: `--model pointer --help` lists its options, such as --one-world-each."""


def main(arguments: Sequence[str]) -> None:
    """Train with the options of the command line. A file of demonstrations sets the defaults of the env and prompt options."""
    model = option_value(arguments, "--model")
    if model == POINTER:
        settings = parse_settings(
            PointerBCSettings, arguments, program="agents.train_bc", refused=_other_options(BCSettings, "language models")
        )
        from agents.training.pointer_cloning import train_pointer  # noqa: PLC0415 - options are refused without torch

        with errors_name_options(PointerBCSettings):
            print(train_pointer(settings))
        return
    file = option_value(arguments, "--demonstrations")
    recorded = recorded_agent(Path(file)) if file else {}
    defaults = model_defaults(model, arguments) | recorded | recorded_tools(recorded)
    has_small_options = model is None or not _is_pretrained(model)
    small_names = SMALL_MODEL_GROUPS["small model"][1].split()
    bc_settings = parse_settings(
        BCSettings, arguments, defaults, program="agents.train_bc", note="" if model else _ANY_MODEL,
        default_hints=_default_hints(model), hidden=[] if has_small_options else small_names, special_groups=SMALL_MODEL_GROUPS,
        refused=_other_options(PointerBCSettings, "pointer networks"),
    )  # fmt: skip
    from agents.training.cloning import train  # noqa: PLC0415 - options are refused without torch

    with errors_name_options(BCSettings):
        print(train(bc_settings))


def _other_options(kind: type[Any], models: str) -> dict[str, str]:
    """Return the ends of error messages for the options of another kind of model. Options of both kinds are never looked up."""
    return {f"--{item.name.replace('_', '-')}": f"is for {models} only; leave it out" for item in fields(kind)}


def _is_pretrained(model: str) -> bool:
    return model != SMALL and is_pretrained(model)


def _default_hints(model: str | None) -> dict[str, str]:
    """Return the texts of the help for defaults that depend on a model, if there is none, or on --lora-rank."""
    if model is not None and not _is_pretrained(model):
        return {}
    values = {**PRETRAINED, "learning_rate": PRETRAINED_BC_RATES}
    small = {item.name: item.default for item in fields(BCSettings) if item.name in PRETRAINED}
    return {name: f"{value}" if model else f"{value}; {small[name]} for a small model" for name, value in values.items()}


def model_defaults(model: str | None, arguments: Sequence[str]) -> dict[str, Any]:
    """Return the defaults for a pretrained language model that differ from those of the dataclass.

    A run that is resumed keeps the values that it was started with.
    """
    if model is None or not _is_pretrained(model):
        return {}
    defaults = {**PRETRAINED, **({"learning_rate": LORA_LEARNING_RATE} if trains_adapters(arguments) else {})}
    out = option_value(arguments, "--out")
    recorded = recorded_settings(Path(out)) if out else {}
    return {name: recorded.get(name, value) for name, value in defaults.items()}


if __name__ == "__main__":
    collect_rarely()
    console.run("python -m agents.train_bc", main)
