"""Settings: nested dataclasses, whose options are declared once, and the command lines that are made of them.

The parts of a command's settings are dataclasses of their own, and go to the code that needs them. On the command line, in
`build` and on disk the options of all parts stand side by side, so no two parts share a name.
"""

import ast
from argparse import SUPPRESS, Action, ArgumentParser, BooleanOptionalAction, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from inspect import getdoc, getsource
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from webarena_gym.console import Parser, decimal, whole
from webarena_gym.sites.world import LARGEST_SEED

S = TypeVar("S")
T = TypeVar("T")

ENV_ID = "WebArenaLite-v0"

_MAY_CHANGE = "may change when a run is resumed"
MayChange = Annotated[T, _MAY_CHANGE]
"""The type of an option that says how long, where or how fast a run trains, not what is learned: a resumed run may change it."""


@dataclass(frozen=True, kw_only=True)
class EnvSettings:
    """How the environment shows its pages. An agent must be used as it was trained."""

    variation: Literal["content", "layout"] = "content"
    """how worlds differ: in what is on the sites, or also in how the sites are built"""
    elements: Literal["label", "id"] = "label"
    """how actions name elements: by visible label, or by the numbers in the page"""
    history: Literal["compressed", "none", "full"] = "compressed"
    """what becomes of earlier pages: a placeholder each, nothing, or kept whole"""
    thoughts: bool = False
    """keep the thoughts of earlier replies in the history"""
    window: int = 12_000
    """characters of a page shown at once"""
    max_steps: int = 15
    """steps after which an episode is cut off"""

    def env_arguments(self) -> dict[str, Any]:
        """Return the keywords for `gymnasium.make`."""
        return {name: getattr(self, name) for name in ENV_FIELDS}


ENV_FIELDS = tuple(item.name for item in fields(EnvSettings))


@dataclass(frozen=True, kw_only=True)
class TaskSettings:
    """Which tasks are trained on."""

    worlds: tuple[int, ...] = tuple(range(11, 31))
    """seeds of the worlds that tasks come from"""
    per_template: int = 3
    """tasks of each template in each world"""
    templates: tuple[str, ...] = ()
    """only these templates; by default those of the training split"""


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """Where a run is kept, how long it is, and how often it is saved."""

    out: MayChange[Path]
    """folder of the run: checkpoints, metrics, TensorBoard"""
    minutes: MayChange[float] = 0.0
    """train for so long, schedules following the clock; 0: for `updates`"""
    updates: MayChange[int] = 100
    """train for so many updates, unless `minutes` is given; 0 saves what there is untrained"""
    save_every: MayChange[int] = 10
    """updates between checkpoints"""
    threads: MayChange[int] = 0
    """CPU threads that train; 0: torch's default"""
    seed: int = 0
    """of all that is drawn at random: weights, tasks, sampling, order"""

    def __post_init__(self) -> None:
        if self.minutes < 0 or self.updates < 0 or self.save_every < 1:
            raise ValueError(
                f"minutes={self.minutes}, updates={self.updates}, save_every={self.save_every}; expected at least 0, 0 and 1"
            )

    def progress(self, update: int, elapsed_s: float) -> float:
        """Return the part of the training that is done after so many updates and seconds; 1 or more at its end."""
        if self.minutes:
            return elapsed_s / (60 * self.minutes)
        return update / self.updates if self.updates else 1.0


def build(kind: type[S], /, **options: Any) -> S:
    """Return settings of this kind from options by name, whichever part they belong to; the others have their defaults.

    Raises ValueError for an option that is unknown or missing.
    """
    known = dict(_options(kind))
    for name in options:
        if name not in known:
            close = get_close_matches(name, known, 1)
            raise ValueError(f"there is no option {name!r}{f'; did you mean {close[0]!r}?' if close else ''}")
    if missing := [name for name, is_required in known.items() if is_required and name not in options]:
        raise ValueError(f"the options {', '.join(missing)} are missing")
    settings: S = _build(kind, options)
    return settings


def option_names(kind: Any) -> list[str]:
    """Return the names of the options of all parts of a kind of settings.

    >>> option_names(TaskSettings)
    ['worlds', 'per_template', 'templates']
    """
    return [name for name, _ in _options(kind)]


def flatten(settings: Any) -> dict[str, Any]:
    """Return the options of all parts by name.

    >>> flatten(TaskSettings(worlds=(3,)))
    {'worlds': (3,), 'per_template': 3, 'templates': ()}
    """
    options: dict[str, Any] = {}
    for item in fields(settings):
        value = getattr(settings, item.name)
        options |= flatten(value) if is_dataclass(value) else {item.name: value}
    return options


def lasting(settings: Any) -> dict[str, Any]:
    """Return the options that must not change when a run is resumed: all but those of type `MayChange`."""
    options: dict[str, Any] = {}
    hints = get_type_hints(type(settings), include_extras=True)
    for item in fields(settings):
        value = getattr(settings, item.name)
        if is_dataclass(value):
            options |= lasting(value)
        elif _MAY_CHANGE not in getattr(hints[item.name], "__metadata__", ()):
            options[item.name] = value
    return options


def parse_settings(kind: type[S], arguments: Sequence[str], defaults: Mapping[str, Any] | None = None, *, program: str) -> S:
    """Return settings read from the command line of `python -m PROGRAM`.

    `defaults`, by name, come before the dataclasses' own; names that the settings do not have are passed over. The program ends
    with a message on a wrong option, and with the help on --help.
    """
    known = dict(_options(kind))
    preset = {name: value for name, value in (defaults or {}).items() if name in known}
    parser = make_parser(kind, preset, program=program)
    options = parser.parse_args([_dashed(argument) for argument in arguments])
    try:
        settings: S = _build(kind, preset | vars(options))
    except ValueError as error:  # options that do not go together
        parser.error(str(error))
    return settings


def _dashed(argument: str) -> str:
    """Return an argument with dashes in the name of an option, which may also be written as in Python."""
    name, is_assigned, value = argument.partition("=")
    return name.replace("_", "-") + is_assigned + value if name.startswith("--") else argument


def make_parser(kind: Any, defaults: Mapping[str, Any], *, program: str) -> Parser:
    """Return the parser of the options of all parts; only what a command line names is in what it parses."""
    parser = Parser(prog=f"python -m {program}", description=getdoc(get_origin(kind) or kind), allow_abbrev=False)
    names = option_names(kind)
    for item, hint, help_text in _described(kind):
        has_default = item.name in defaults or item.default is not MISSING or item.default_factory is not MISSING
        own = item.default if item.default_factory is MISSING else item.default_factory()
        option = _option(item.name, hint)
        if has_default:
            option["help"] = _with_default(help_text, defaults.get(item.name, own))
        else:
            option["help"] = help_text
        spellings = [_SPELLINGS.get(item.name, item.name), item.name] if _SPELLINGS.get(item.name) not in names else [item.name]
        flags = dict.fromkeys(f"--{spelling.replace('_', '-')}" for spelling in spellings)
        parser.add_argument(*flags, dest=item.name, default=SUPPRESS, required=not has_default, **option)
    return parser


_SPELLINGS = {"templates": "template", "worlds": "world_seed", "processes": "jobs"}
"""What an option is called in all commands, by the name that it has here; the name itself is understood, too."""


def _option(name: str, hint: Any) -> dict[str, Any]:
    """Return the keywords of `add_argument` for a type: a text, number, path, flag or choice, several of them, or one or None."""
    inner, *others = [each for each in get_args(hint) if each not in (type(None), Ellipsis)] or [hint]
    origin = get_origin(hint)
    if origin is Literal:
        return {"choices": get_args(hint), "metavar": "{" + ",".join(map(str, get_args(hint))) + "}"}
    if origin is tuple:
        return _option(name, inner) | {"nargs": "*", "action": _Several}
    if origin in (Union, UnionType) and not others:
        option = _option(name, inner)
        return option | {"type": _or_none(option["type"])}
    if hint is bool:
        return {"action": BooleanOptionalAction}
    reader, metavar = _READERS[hint] if hint is not int else (_whole(name), "N")
    return {"type": reader, "metavar": metavar}


def _whole(name: str) -> Callable[[str], int]:
    """Return what reads a whole number: the seed of a world may be negative, all others count something or begin at 0."""
    return whole(-LARGEST_SEED, LARGEST_SEED) if "world" in name and not name.startswith("fresh") else whole(0)


_READERS: Mapping[Any, tuple[Callable[[str], Any], str]] = {
    str: (str, "TEXT"),
    float: (decimal(), "NUMBER"),
    Path: (Path, "PATH"),
}


def _or_none(read: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda text: None if text == "None" else read(text)


class _Several(Action):
    """Collects values, those of an option that is repeated as well."""

    def __call__(self, _: Any, namespace: Namespace, values: Any, __: str | None = None) -> None:
        setattr(namespace, self.dest, (*getattr(namespace, self.dest, ()), *values))


def _with_default(text: str, default: Any) -> str:
    """Return the help of an option with its default, where that is more than nothing."""
    if default is None or default is False or default in ((), ""):
        return text
    values = default if isinstance(default, tuple) else (default,)
    shown = " ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)
    return f"{text} (default: {shown})".replace("%", "%%").replace("%%%%", "%%")


def _described(kind: Any) -> Iterator[tuple[Any, Any, str]]:
    """Yield the fields of all parts, each with its type and the text that stands below it in the source."""
    owner = get_origin(kind) or kind
    hints = get_type_hints(owner)
    texts = _field_texts(owner)
    for item, part in _parts(kind):
        if part is None:
            yield item, hints[item.name], texts.get(item.name, "").replace("%", "%%")
        else:
            yield from _described(part)


@cache
def _field_texts(owner: type[Any]) -> dict[str, str]:
    """Return the texts below the fields of a dataclass and of its bases, in one line each."""
    texts: dict[str, str] = {}
    for base in reversed([each for each in owner.__mro__ if is_dataclass(each)]):
        tree = ast.parse(dedent(getsource(base))).body[0]
        assert isinstance(tree, ast.ClassDef)
        for field, below in pairwise(tree.body):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
                texts[field.target.id] = " ".join(str(ast.literal_eval(below.value)).split())
    return texts


def given(arguments: Sequence[str], option: str) -> str | None:
    """Return what a command line says of an option before all of it is parsed, as what it says may set defaults of others.

    >>> given(["--seed", "1", "--model=runs/bc"], "--model")
    'runs/bc'
    """
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument(option, dest="value")
    value: str | None = parser.parse_known_args(arguments)[0].value
    return value


def _parts(kind: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the fields of a dataclass, which may be generic, each with its type, or None where that is no dataclass."""
    origin = get_origin(kind) or kind
    variables = dict(zip(getattr(origin, "__parameters__", ()), get_args(kind), strict=False))
    hints = get_type_hints(origin)
    for item in fields(origin):
        hint = variables.get(hints[item.name], hints[item.name])
        yield item, hint if is_dataclass(get_origin(hint) or hint) else None


def _options(kind: Any) -> Iterator[tuple[str, bool]]:
    """Yield the name of each option of all parts, and whether it has no default."""
    for item, part in _parts(kind):
        if part is None:
            yield item.name, item.default is MISSING and item.default_factory is MISSING
        else:
            yield from _options(part)


def _build(kind: Any, options: Mapping[str, Any]) -> Any:
    values = {item.name: _build(part, options) for item, part in _parts(kind) if part is not None}
    values |= {item.name: options[item.name] for item, part in _parts(kind) if part is None and item.name in options}
    return kind(**values)
