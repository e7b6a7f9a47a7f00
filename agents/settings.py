"""Settings: nested dataclasses, whose options are declared once, and the command lines that tyro makes of them.

The parts of a command's settings are dataclasses of their own, and go to the code that needs them. On the command line, in
`build` and on disk the options of all parts stand side by side, so no two parts share a name.
"""

import gc
import io
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import MISSING, dataclass, fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import tyro

from webarena_gym import tasks as task_suite
from webarena_gym.console import complain

S = TypeVar("S")
T = TypeVar("T")

ENV_ID = "WebArenaLite-v0"

_MAY_CHANGE = "may change when a run is resumed"
MayChange = Annotated[T, _MAY_CHANGE]
"""The type of an option that says how long, where or how fast a run trains, not what is learned: a resumed run may change it."""


OptimizerName = Literal["adamw", "muon"]
Templates = Annotated[tuple[str, ...], tyro.conf.arg(aliases=("--template",))]
"""The type of an option that names templates, which `webarena-gym` calls --template."""
Processes = Annotated[int, tyro.conf.arg(aliases=("--jobs",))]
"""The type of an option that is a number of processes which play, which `webarena-gym` calls --jobs."""


@dataclass(frozen=True, kw_only=True)
class EnvSettings:
    """Observations and actions of the env. An agent must be used as it was trained."""

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
    """Tasks of the training."""

    worlds: tuple[int, ...] = tuple(range(11, 31))
    """seeds of the worlds that tasks come from"""
    per_template: int = 3
    """tasks of each template in each world"""
    templates: Templates = ()
    """only these templates; by default those of the training split"""

    def __post_init__(self) -> None:
        if self.per_template < 1:
            raise ValueError(f"per_template is {self.per_template}; expected at least 1")
        if self.templates:
            task_suite.named(self.templates)


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """Folder, length and checkpoints of a run."""

    out: MayChange[Path]
    """folder of the run: checkpoints, metrics, TensorBoard"""
    minutes: MayChange[float] = 0.0
    """train for so long, schedules following the clock; 0: for `updates`"""
    updates: MayChange[int] = 100
    """train for so many updates, unless `minutes` is given; 0 saves what there is untrained"""
    save_every: MayChange[int] = 10
    """updates between checkpoints"""
    threads: MayChange[int] = 0
    """CPU threads that train; 0: torch's default, and one for a pointing network"""
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


def defaults(kind: type[Any]) -> dict[str, Any]:
    """Return the default values of all options that have one, those of nested settings as well."""
    options: dict[str, Any] = {}
    hints = get_type_hints(kind)
    for item in fields(kind):
        if is_dataclass(hints[item.name]):
            options |= defaults(hints[item.name])
        elif item.default is not MISSING:
            options[item.name] = item.default
        elif item.default_factory is not MISSING:
            options[item.name] = item.default_factory()
    return options


def parse_settings(kind: type[S], arguments: Sequence[str], defaults: Mapping[str, Any] | None = None, *, program: str) -> S:
    """Return settings read from the command line of `python -m PROGRAM`.

    `defaults`, by name, come before the dataclasses' own; names that the settings do not have are passed over. The program ends
    with a message on a wrong option, and with the help on --help.
    """
    known = {name: tyro.MISSING for name, is_required in _options(kind) if is_required}
    known |= {name: value for name, value in (defaults or {}).items() if name in dict(_options(kind))}
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            settings: S = tyro.cli(
                kind,
                args=list(arguments),
                default=_build(kind, known),
                prog=f"python -m {program}",
                config=(tyro.conf.OmitArgPrefixes,),
            )
    except SystemExit as end:
        if end.code:
            complain(f"python -m {program}", _in_one_line(said.getvalue()))
        raise
    return settings


def _in_one_line(box: str) -> str:
    r"""Return what tyro says of a wrong option, without its frame and the help of the option, but with what may have been meant.

    >>> _in_one_line("╭─ Error ──╮\n│ No --a   │\n│ ──────── │\n│ See help │\n╰──────────╯")
    'No --a'
    """
    has_frame = "╭" in box  # else there is no Unicode, and the title is a part of its own
    lines = [line.strip("│ ") for line in box.splitlines() if line[:1] not in ("╭", "╰")]
    parts = " ".join(line if line.strip("─-") else "\n" * bool(line) for line in lines).split("\n")[0 if has_frame else 1 :]
    return "; ".join(part.strip() for number, part in enumerate(parts) if not number or "you meant" in part)


def given(arguments: Sequence[str], option: str) -> str | None:
    """Return what a command line says of an option before all of it is parsed, as what it says may set defaults of others.

    >>> given(["--seed", "1", "--model=runs/bc"], "--model")
    'runs/bc'
    """
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument(option, dest="value")
    value: str | None = parser.parse_known_args(arguments)[0].value
    return value


def collect_rarely() -> None:
    """Let Python look for garbage rarely in this process, and not in what there is now. For processes, not for libraries.

    What is kept of pages are some millions of small objects, which are no garbage and would be looked through again and again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


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
