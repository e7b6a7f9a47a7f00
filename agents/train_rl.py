"""Improve a model by multi-turn reinforcement: `python -m agents.train_rl --method grpo --help`.

`--method` chooses among `agents.methods.METHODS`; each has options of its own, and no others. To compare methods, look at equal
`env_steps` or `cpu_minutes` of their metrics. `agents.grpo` has the training loop.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, make_dataclass
from functools import cache, partial
from inspect import cleandoc
from pathlib import Path
from typing import Annotated, Any

import tyro

from agents import grpo
from agents.cluster import StreamSettings
from agents.methods import METHODS
from agents.models.checkpoints import agent_record, checkpoints
from agents.models.pointer.network import is_pointer
from agents.settings import build, collect_rarely, given, option_names, parse_settings
from agents.training.settings import OF_LANGUAGE_MODELS, LanguageModelSettings, TrainSettings
from webarena_gym import console
from webarena_gym.arguments import shown, suggestion
from webarena_gym.tasks import Task

_HIDDEN = ("language", Annotated[LanguageModelSettings, tyro.conf.Suppress], field(default_factory=LanguageModelSettings))


def make_settings(method: str = "grpo", /, **options: Any) -> Any:
    """Return settings of a method from options by name; how a pointing network was used in training comes before the defaults.

    Raises ValueError for a method or an option that there is not.
    """
    if method not in METHODS:
        raise ValueError(f"there is no method {method!r}; expected one of {', '.join(METHODS)}")
    return build(settings_of(method, options), **{**_defaults(method, options.get("model")), **options})


def settings_of(method: str, options: Iterable[str] = ()) -> type[Any]:
    """Return the settings of a method; with some option of `StreamSettings` among these, they have all of those."""
    kind: Any = METHODS[method].settings
    return _streamed(kind) if set(option_names(StreamSettings)) & set(options) else kind


@cache
def _streamed(kind: Any) -> type[Any]:
    own = {"__doc__": kind.__doc__, "__module__": __name__}
    return make_dataclass(
        f"Streamed{kind.__name__}", [], bases=(kind, StreamSettings), frozen=True, kw_only=True, namespace=own
    )


def train(settings: Any, tasks: Sequence[Task] | None = None) -> Path:
    """Train by the method of the settings, and return the folder of the last checkpoint."""
    methods = {item.settings: item for item in METHODS.values()}
    create = next(methods[kind].create for kind in type(settings).__mro__ if kind in methods)
    if not isinstance(settings, StreamSettings):
        return grpo.train(settings, tasks, create)
    from agents.cluster import training  # noqa: PLC0415 - what most runs do without

    return training.train(settings, tasks, create)


def _defaults(method: str, model: str | None) -> Mapping[str, Any]:
    """Return the defaults of a method's options for a model, where they are not those of its dataclass."""
    kind = METHODS[method].settings
    if model and is_pointer(model):
        return {name: value for name, value in agent_record(model).items() if name in option_names(kind)}
    if model is None:
        return {}
    # Sizes that a method has of its own come before those of language models.
    own = {name for base in kind.__mro__[: kind.__mro__.index(TrainSettings)] for name in vars(base).get("__annotations__", ())}
    common = set(option_names(TrainSettings))
    return {name: value for name, value in OF_LANGUAGE_MODELS.items() if (name in common) != (name in own)}


def main(arguments: Sequence[str], program: str = "agents.train_rl") -> None:
    """Train as the command line says; the model's own env settings are the defaults."""
    name, model = (given(arguments, option) for option in ("--method", "--model"))
    if name is not None and name not in METHODS:
        console.complain(f"python -m {program}", f"there is no method {shown(name)}; {suggestion(name, METHODS)}")
        sys.exit(console.BAD_INPUT)
    method = name or "grpo"
    words = (argument.partition("=")[0].removeprefix("--no-").removeprefix("--").replace("-", "_") for argument in arguments)
    kind = settings_of(method, words)
    defaults = {"processes": 0, **_defaults(method, model), **(agent_record(model) if model else {})}
    hidden = () if model is not None and not is_pointer(model) else (_HIDDEN,)  # options of language models
    choice = f"\n\n--method NAME trains by another method, with options of its own: {', '.join(METHODS)}."
    told = {"__doc__": f"{cleandoc(kind.__doc__ or '')}{choice if program == 'agents.train_rl' else ''}"}
    described = make_dataclass(kind.__name__, hidden, bases=(kind,), frozen=True, kw_only=True, namespace=told)
    settings: Any = parse_settings(described, _without(arguments, "--method"), defaults, program=program)
    settings = kind(**vars(settings))
    if getattr(settings, "cluster", ""):
        from agents.cluster.learners import fit  # noqa: PLC0415 - what most runs do without

        fit(partial(train, settings), settings, settings.out)
        print(checkpoints(settings.out)[-1].path)
    else:
        print(train(settings))


def _without(arguments: Sequence[str], option: str) -> list[str]:
    """Return a command line without an option and its value."""
    kept, skip = [], False
    for argument in arguments:
        if not skip and argument != option and not argument.startswith(f"{option}="):
            kept.append(argument)
        skip = argument == option
    return kept


if __name__ == "__main__":
    collect_rarely()
    console.run("python -m agents.train_rl", main)
