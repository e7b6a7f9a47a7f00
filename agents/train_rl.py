"""Improve a model by multi-turn reinforcement learning: `python -m agents.train_rl --method grpo --help`.

`--method` selects one of `agents.training.settings.METHODS`, each with its own options. To compare methods, compare their metrics at equal
`env_steps` or `cpu_minutes`. The training loop is in `agents.grpo`.
"""

from argparse import ArgumentParser
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, fields, make_dataclass
from functools import cache, partial
from inspect import cleandoc
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, get_type_hints

import tyro

from agents.cluster import StreamSettings
from agents.models.checkpoints import agent_record, checkpoints, expect_model, is_pointer
from agents.settings import collect_rarely, option_value, parse_settings
from agents.training.settings import METHODS, OF_LANGUAGE_MODELS, TrainSettings, hidden_from_pointing_networks
from webarena_gym import console
from webarena_gym.arguments import quote_value, suggestion
from webarena_gym.tasks import Task


def make_settings(method: str = "grpo", /, **options: Any) -> Any:
    """Create the settings of a method from options by name. A pointer network's agent record takes precedence over defaults.

    Raises ValueError for an unknown method or option.
    """
    kind = settings_of(method, options)
    names = [item.name for item in fields(kind)]
    for name in options:
        if name not in names:
            raise ValueError(f"there is no option {name!r}; {suggestion(name, names)}")
    return kind(**{**_defaults(method, options.get("model")), **options})


def settings_of(method: str, options: Iterable[str] = ()) -> type[Any]:
    """Return the settings class of a method. If `options` has an option of `StreamSettings`, the class includes all of them."""
    if method not in METHODS:
        raise ValueError(f"there is no method {quote_value(method)}; {suggestion(method, METHODS)}")
    kind: Any = METHODS[method]
    return _add_stream_settings(kind) if {item.name for item in fields(StreamSettings)} & {*options} else kind


@cache
def _add_stream_settings(kind: Any) -> type[Any]:
    namespace = {"__doc__": kind.__doc__, "__module__": __name__}
    return make_dataclass(
        f"Streamed{kind.__name__}", [], bases=(kind, StreamSettings), frozen=True, kw_only=True, namespace=namespace
    )


def _defaults(method: str, model: str | None) -> Mapping[str, Any]:
    """Return the defaults of a method's options for a model that differ from those of the dataclass."""
    kind = METHODS[method]
    if model is None:
        return {}
    if is_pointer(model):
        names = {item.name for item in fields(kind)}
        return {name: value for name, value in agent_record(model).items() if name in names}
    # Defaults that the method's class overrides take precedence over those of language models.
    method_names = {
        name for base in kind.__mro__[: kind.__mro__.index(TrainSettings)] for name in vars(base).get("__annotations__", ())
    }
    common_names = {item.name for item in fields(TrainSettings)}
    return {name: value for name, value in OF_LANGUAGE_MODELS.items() if (name in common_names) != (name in method_names)}


def train(settings: Any, tasks: Sequence[Task] | None = None) -> Path:
    """Train with the method of the settings, and return the folder of the last checkpoint."""
    expect_model(settings.model)  # before tasks are drawn, which takes minutes
    loop = "agents.cluster.training" if isinstance(settings, StreamSettings) else "agents.grpo"
    checkpoint: Path = resolve_name(f"{loop}:train")(settings, tasks, resolve_name(settings.trainer))
    return checkpoint


def main(arguments: Sequence[str], program: str = "agents.train_rl") -> None:
    """Train with the options of the command line. The model's agent record sets the defaults of the env options."""
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--method", default="grpo")
    namespace, arguments = parser.parse_known_args(arguments)
    method, model = namespace.method, option_value(arguments, "--model")
    words = (argument.partition("=")[0].removeprefix("--no-").removeprefix("--").replace("-", "_") for argument in arguments)
    kind = settings_of(method, words)
    hidden_fields, hints = [], get_type_hints(kind, include_extras=True)
    if model is None or is_pointer(model):
        names = hidden_from_pointing_networks()
        hidden_fields = [
            (item.name, Annotated[hints[item.name], tyro.conf.Suppress], field(default=item.default))
            for item in fields(kind)
            if item.name in names
        ]
    methods = f"\n\n--method NAME trains with another method, which has its own options: {', '.join(METHODS)}."
    attributes = {"__doc__": f"{cleandoc(kind.__doc__ or '')}{methods if program == 'agents.train_rl' else ''}"}
    command_type = make_dataclass(kind.__name__, hidden_fields, bases=(kind,), frozen=True, kw_only=True, namespace=attributes)
    defaults = {"processes": 0, **_defaults(method, model), **(agent_record(model) if model else {})}
    settings: Any = kind(**vars(parse_settings(command_type, arguments, defaults, program=program)))
    if getattr(settings, "cluster", ""):
        from agents.cluster.learners import fit  # noqa: PLC0415 - most runs do not need Ray

        fit(partial(train, settings), settings, settings.out)
        print(checkpoints(settings.out)[-1].path)
    else:
        print(train(settings))


if __name__ == "__main__":
    collect_rarely()
    console.run("python -m agents.train_rl", main)
