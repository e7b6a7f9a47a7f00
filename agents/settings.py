"""Settings: a dataclass for each command, whose fields are its options, and the command lines that tyro makes of them."""

import gc
import io
from argparse import ArgumentParser
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

import tyro

from webarena_gym import tasks as task_suite
from webarena_gym.applications.application import read_application
from webarena_gym.arguments import read_pairs
from webarena_gym.console import complain
from webarena_gym.observation import Elements
from webarena_gym.observation.history import History
from webarena_gym.options import MAX_STEPS, EnvOptions, option_meanings
from webarena_gym.sites.layout import Variation

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
    """The keywords of the env that training varies, as `EnvOptions` tells them. An agent must be used as it was trained."""

    variation: Variation = EnvOptions.variation
    elements: Elements = "label"
    history: History = EnvOptions.history
    thoughts: bool = False
    application: str | None = None
    window: int = EnvOptions.window
    max_steps: int = MAX_STEPS
    keywords: Annotated[tuple[str, ...], tyro.conf.Suppress, _MAY_CHANGE] = ()
    """further keywords of the env, as NAME=JSON; commands that train have none"""

    def env_arguments(self) -> dict[str, Any]:
        """Return the keywords for `gymnasium.make`."""
        return {name: getattr(self, name) for name in ENV_FIELDS} | read_pairs(self.keywords, "--env")

    def env(self) -> "EnvSettings":
        """Return these settings without those of a subclass."""
        return EnvSettings(**{name: getattr(self, name) for name in (*ENV_FIELDS, "keywords")})


ENV_FIELDS = tuple(item.name for item in fields(EnvSettings) if item.name != "keywords")
# In the docstring, the meanings become help texts of the options of every command whose settings are derived from these.
EnvSettings.__doc__ = f"{EnvSettings.__doc__}\n\nArgs:\n" + "".join(
    f"    {name}: {option_meanings()[name].partition('. ')[0].partition('; ')[0]}\n" for name in ENV_FIELDS
)


@dataclass(frozen=True, kw_only=True)
class TrainingWorlds:
    """Check of the worlds that a training uses: those of held-out splits are rejected unless they are allowed."""

    allow_held_out_worlds: MayChange[bool] = False
    """accept worlds of the splits that agents are evaluated on, whose scores then measure memory instead of skill"""

    def expect_training_worlds(self, name: str, worlds: Iterable[int | None], *, allowed_split: str = "") -> None:
        """Raise ValueError if `name`, an argument, holds the seed of a held-out world; those of `allowed_split` are accepted."""
        found = [(world, task_suite.HELD_OUT[world]) for world in worlds if world is not None and world in task_suite.HELD_OUT]
        for world, split in found:
            if split != allowed_split and not self.allow_held_out_worlds:
                raise ValueError(
                    f"{name} includes {world}, the held-out world of the {split} split; expected worlds for training, such as "
                    f"11 to 999, or allow_held_out_worlds (--allow-held-out-worlds), after which scores on that split mean nothing"
                )


@dataclass(frozen=True, kw_only=True)
class TaskSettings(TrainingWorlds, EnvSettings):
    """Tasks of the training, and their env."""

    worlds: tuple[int, ...] = tuple(range(11, 31))
    """seeds of the worlds that tasks come from"""
    per_template: int = 3
    """tasks of each template in each world"""
    templates: Templates = ()
    """only these templates; by default those of the training split"""

    def __post_init__(self) -> None:
        expect_least(self, per_template=1)
        self.expect_training_worlds("worlds", self.worlds)
        if self.templates:
            task_suite.named(self.templates, read_application(self.application) if self.application else None)

    def expect_training_worlds(self, name: str, worlds: Iterable[int | None], *, allowed_split: str = "") -> None:
        if not self.application:  # an application has no held-out worlds: seeds of its own draws take their place
            super().expect_training_worlds(name, worlds, allowed_split=allowed_split)


@dataclass(frozen=True, kw_only=True)
class RunSettings(TaskSettings):
    """Tasks of a run, its folder, length and checkpoints."""

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
        super().__post_init__()
        expect_least(self, minutes=0, updates=0, save_every=1)

    def progress(self, update: int, elapsed_s: float) -> float:
        """Return the part of the training that is done after so many updates and seconds; 1 or more at its end."""
        if self.minutes:
            return elapsed_s / (60 * self.minutes)
        return update / self.updates if self.updates else 1.0


def expect_least(settings: Any, **least: float) -> None:
    """Raise ValueError for a setting below the least value of its name."""
    for name, value in least.items():
        if getattr(settings, name) < value:
            raise ValueError(f"{name} is {getattr(settings, name)}; expected at least {value}")


def lasting(settings: Any) -> dict[str, Any]:
    """Return the options that must not change when a run is resumed: all but those of type `MayChange`."""
    hints = get_type_hints(type(settings), include_extras=True)
    kept = [name for name, hint in hints.items() if _MAY_CHANGE not in getattr(hint, "__metadata__", ())]
    return {item.name: getattr(settings, item.name) for item in fields(settings) if item.name in kept}


def parse_settings(kind: type[S], arguments: Sequence[str], defaults: Mapping[str, Any] | None = None, *, program: str) -> S:
    """Return settings read from the command line of `python -m PROGRAM`.

    `defaults`, by name, come before the dataclass's own; names that the settings do not have are passed over. The program ends
    with a message on a wrong option, and with the help on --help.
    """
    own: Any = fields(kind)  # type: ignore[arg-type]
    known = {item.name: tyro.MISSING for item in own if item.default is MISSING}
    known |= {item.name: defaults[item.name] for item in own if defaults and item.name in defaults}
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            return tyro.cli(kind, args=list(arguments), default=kind(**known), prog=f"python -m {program}")
    except SystemExit as end:
        if end.code:
            complain(f"python -m {program}", _in_one_line(said.getvalue()))
        raise


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
