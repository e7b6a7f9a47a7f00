"""Improve a model by multi-turn reinforcement: `python -m agents.train_rl --method grpo --help`.

`--method` chooses among `agents.training.settings.METHODS`; each has options of its own, and no others. To compare methods, look at equal
`env_steps` or `cpu_minutes` of their metrics. `agents.grpo` has the training loop.
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
    """Return settings of a method from options by name; how a pointing network was used in training comes before the defaults.

    Raises ValueError for an unknown method or option.
    """
    kind = settings_of(method, options)
    names = [item.name for item in fields(kind)]
    for name in options:
        if name not in names:
            raise ValueError(f"there is no option {name!r}; {suggestion(name, names)}")
    return kind(**{**_defaults(method, options.get("model")), **options})


def settings_of(method: str, options: Iterable[str] = ()) -> type[Any]:
    """Return the settings of a method; with some option of `StreamSettings` among these, they have all of those."""
    if method not in METHODS:
        raise ValueError(f"there is no method {quote_value(method)}; {suggestion(method, METHODS)}")
    kind: Any = METHODS[method]
    return _streamed(kind) if {item.name for item in fields(StreamSettings)} & {*options} else kind


@cache
def _streamed(kind: Any) -> type[Any]:
    own = {"__doc__": kind.__doc__, "__module__": __name__}
    return make_dataclass(
        f"Streamed{kind.__name__}", [], bases=(kind, StreamSettings), frozen=True, kw_only=True, namespace=own
    )


def _defaults(method: str, model: str | None) -> Mapping[str, Any]:
    """Return the defaults of a method's options for a model, where they are not those of its dataclass."""
    kind = METHODS[method]
    if model is None:
        return {}
    if is_pointer(model):
        names = {item.name for item in fields(kind)}
        return {name: value for name, value in agent_record(model).items() if name in names}
    # Sizes that a method has of its own come before those of language models.
    own = {name for base in kind.__mro__[: kind.__mro__.index(TrainSettings)] for name in vars(base).get("__annotations__", ())}
    common = {item.name for item in fields(TrainSettings)}
    return {name: value for name, value in OF_LANGUAGE_MODELS.items() if (name in common) != (name in own)}


def train(settings: Any, tasks: Sequence[Task] | None = None) -> Path:
    """Train by the method of the settings, and return the folder of the last checkpoint."""
    expect_model(settings.model)  # before tasks are drawn, which takes minutes
    loop = "agents.cluster.training" if isinstance(settings, StreamSettings) else "agents.grpo"
    trained: Path = resolve_name(f"{loop}:train")(settings, tasks, resolve_name(settings.trainer))
    return trained


def main(arguments: Sequence[str], program: str = "agents.train_rl") -> None:
    """Train with the options of the command line. The model's agent record sets the defaults of the env options."""
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--method", default="grpo")
    chosen, arguments = parser.parse_known_args(arguments)
    method, model = chosen.method, option_value(arguments, "--model")
    words = (argument.partition("=")[0].removeprefix("--no-").removeprefix("--").replace("-", "_") for argument in arguments)
    kind = settings_of(method, words)
    hidden, hints = [], get_type_hints(kind, include_extras=True)
    if model is None or is_pointer(model):
        names = hidden_from_pointing_networks()
        hidden = [
            (each.name, Annotated[hints[each.name], tyro.conf.Suppress], field(default=each.default))
            for each in fields(kind)
            if each.name in names
        ]
    choice = f"\n\n--method NAME trains by another method, with options of its own: {', '.join(METHODS)}."
    namespace = {"__doc__": f"{cleandoc(kind.__doc__ or '')}{choice if program == 'agents.train_rl' else ''}"}
    described = make_dataclass(kind.__name__, hidden, bases=(kind,), frozen=True, kw_only=True, namespace=namespace)
    defaults = {"processes": 0, **_defaults(method, model), **(agent_record(model) if model else {})}
    settings: Any = kind(**vars(parse_settings(described, arguments, defaults, program=program)))
    if getattr(settings, "cluster", ""):
        from agents.cluster.learners import fit  # noqa: PLC0415 - what most runs do without

        fit(partial(train, settings), settings, settings.out)
        print(checkpoints(settings.out)[-1].path)
    else:
        print(train(settings))


if __name__ == "__main__":
    collect_rarely()
    console.run("python -m agents.train_rl", main)
