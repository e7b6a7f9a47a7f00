"""Improve a model by multi-turn reinforcement learning: `python -m agents.train_rl --method grpo --help`.

`--method` selects one of `agents.training.settings.METHODS`, each with its own options. To compare methods, compare their metrics at equal
`env_steps` or `cpu_minutes`. The training loop is in `agents.grpo`.
"""

import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from agents.command_lines import (
    collect_rarely,
    errors_name_options,
    format_default,
    option_value,
    parse_settings,
    trains_adapters,
)
from agents.models.checkpoints import (
    UNTRAINED_RECORD,
    CheckpointError,
    checkpoints,
    expect_model,
    is_pointer,
    is_pretrained,
    recorded_settings,
    usage_record,
)
from agents.settings import ENV_FIELDS, recorded_tools
from agents.training.metrics import read_metrics
from agents.training.settings import (
    LANGUAGE_MODEL_GROUPS,
    METHODS,
    MODEL_RECORD_FIELDS,
    OF_LANGUAGE_MODELS,
    POINTER,
    PRETRAINED_RL_LEARNING_RATE,
    SMALL,
    STREAM_OPTIONS,
    TrainSettings,
    hidden_from_pointing_networks,
    trl_errors,
)
from webarena_gym import console
from webarena_gym.arguments import quote_value, suggestion
from webarena_gym.tasks import Task

_ANY_MODEL = """

Most options apply to language models and to pointer networks, the kind of most bundled agents. Options in the groups "language model
..." are not for pointer networks, which reject some of them. `--model MODEL --help` shows the options of one model, with its defaults."""


def make_settings(method: str = "grpo", /, **options: Any) -> TrainSettings:
    """Create the settings of a method from options by name. The model's agent record takes precedence over defaults.

    Raises ValueError for an unknown method or option.
    """
    kind = settings_class(method)
    names = [item.name for item in fields(kind)]
    for name in options:
        if name not in names:
            raise ValueError(f"there is no option {name!r}; {suggestion(name, names)}")
    model, record = options.get("model"), dict[str, Any]()
    with suppress(CheckpointError):  # `train` refuses a missing model
        record = usage_record(model) if model else {}
    defaults = _defaults(method, model, options.get("out"), record, has_adapters=bool(options.get("lora_rank")))
    return kind(**{**defaults, **options})


def settings_class(method: str) -> type[TrainSettings]:
    """Return the settings class of a method. Raises ValueError for an unknown method."""
    if method not in METHODS:
        raise ValueError(f"there is no method {quote_value(method)}; {suggestion(method, METHODS)}")
    return METHODS[method]


def _defaults(
    method: str, model: str | None, out: str | Path | None, record: Mapping[str, Any], *, has_adapters: bool
) -> Mapping[str, Any]:
    """Return the defaults of a method's options for a model that differ from those of the dataclass. `record` is the model's own.

    A resumed run in the folder `out` keeps the learning rate that it was started with.
    """
    if model is None:
        return {}
    names = {item.name for item in fields(METHODS[method])}
    stored = {name: value for name, value in {**record, **recorded_tools(record)}.items() if name in names}
    if is_pointer(model):
        return stored
    defaults = dict(language_model_defaults(method))
    if is_pretrained(model) and not has_adapters:
        recorded = recorded_settings(Path(out)) if out else {}
        defaults["learning_rate"] = recorded.get("learning_rate", PRETRAINED_RL_LEARNING_RATE)
    return defaults | stored


def language_model_defaults(method: str) -> Mapping[str, Any]:
    """Return the defaults of a method's options for language models that differ from those for pointer networks."""
    kind = METHODS[method]
    # Defaults that the method's class overrides take precedence over those of language models.
    method_names = {
        name for base in kind.__mro__[: kind.__mro__.index(TrainSettings)] for name in vars(base).get("__annotations__", ())
    }
    common_names = {item.name for item in fields(TrainSettings)}
    return {name: value for name, value in OF_LANGUAGE_MODELS.items() if (name in common_names) != (name in method_names)}


def _default_hints(method: str, model: str | None) -> Mapping[str, str]:
    """Return the texts of the help for defaults that depend on a model, if there is none, or on --lora-rank."""
    kind = METHODS[method]
    values = {item.name: item.default for item in fields(kind)}
    language_model_values = language_model_defaults(method)
    rate = language_model_values.get("learning_rate", values["learning_rate"])
    adapters = f"{PRETRAINED_RL_LEARNING_RATE:g}, or {rate:g} with --lora-rank"
    if model is not None:
        return {} if is_pointer(model) or not is_pretrained(model) else {"learning_rate": adapters}
    recorded = (*ENV_FIELDS, *MODEL_RECORD_FIELDS)
    without_record = {**values, **UNTRAINED_RECORD}
    hints = {
        name: f"as stored with the model, or {without_record[name]}" for name in recorded if values[name] not in (None, "")
    }
    hints |= {
        name: f"{format_default(value)}; {format_default(values[name])} for a pointer network"
        for name, value in language_model_values.items()
    }
    return hints | {"learning_rate": f"{adapters}; {values['learning_rate']:g} for a pointer network"}


def train(settings: TrainSettings, tasks: Sequence[Task] | None = None) -> Path:
    """Train with the method of the settings, and return the folder of the last checkpoint."""
    expect_model(settings.model)  # before tasks are drawn, which takes minutes
    loop = "agents.cluster.training" if settings.is_streamed else settings.loop
    checkpoint: Path = resolve_name(f"{loop}:train")(settings, tasks, resolve_name(settings.trainer))
    return checkpoint


def main(arguments: Sequence[str], program: str = "agents.train_rl") -> None:
    """Train with the options of the command line. The model's agent record sets the defaults of the env options."""
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--method", default="grpo")
    namespace, arguments = parser.parse_known_args(arguments)
    method, model = namespace.method, option_value(arguments, "--model")
    words = (argument.partition("=")[0].removeprefix("--no-").removeprefix("--").replace("-", "_") for argument in arguments)
    kind = settings_class(method)
    hidden = hidden_from_pointing_networks() if model is not None and is_pointer(model) else set[str]()
    if STREAM_OPTIONS.isdisjoint(words):
        hidden |= STREAM_OPTIONS
    note = _ANY_MODEL if model is None else ""
    usage = ""
    if program == "agents.train_rl":
        usage = f"[--method {{{','.join(METHODS)}}}]"
        note = f"\n\n--method NAME selects the method, by default grpo. `--method NAME --help` shows its options.{note}"
    if model in (SMALL, POINTER) and not Path(model).exists():
        raise ValueError(
            f"--model is {model!r}, a new model; expected a trained one: python -m agents.train_bc --model {model} --out FOLDER"
        )
    record = usage_record(model) if model else {}
    model_defaults = _defaults(method, model, option_value(arguments, "--out"), record, has_adapters=trains_adapters(arguments))
    settings = parse_settings(
        kind, arguments, {"processes": 0, **model_defaults}, program=program, hidden=hidden,
        note=note, default_hints=_default_hints(method, model), special_groups={} if model else LANGUAGE_MODEL_GROUPS, usage=usage,
        refused=trl_errors({item.name: item for item in fields(kind)}),
    )  # fmt: skip
    with errors_name_options(kind):
        if settings.cluster:
            from agents.cluster.learners import fit  # noqa: PLC0415 - most runs do not need Ray

            fit(partial(train, settings), settings, settings.out)
            print(checkpoints(settings.out)[-1].path)
        else:
            print(train(settings))
    if warning := untrained_warning(settings.out):
        print(warning, file=sys.stderr)


def untrained_warning(out: Path) -> str:
    """Return a warning if no update of the run in a folder trained on any step; otherwise ""."""
    counts = [record["trained_steps"] for record in read_metrics(out) if "trained_steps" in record]
    if not counts or any(counts):
        return ""
    return (
        f"warning: none of the {len(counts)} updates trained on a step, because no rollouts of a task differed in their success "
        "(metric equal_groups); choose easier tasks, a model after train_bc, or more rollouts (--group-size)"
    )


if __name__ == "__main__":
    collect_rarely()
    console.run("python -m agents.train_rl", main)
