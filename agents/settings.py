"""Settings of the commands: dataclasses of the env, of tasks and of runs, which command lines fill."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar, get_type_hints

from agents.command_lines import NewFolder, Option, Templates
from webarena_gym import suite as task_suite
from webarena_gym.arguments import read_pairs
from webarena_gym.observation import Elements
from webarena_gym.observation.history import History
from webarena_gym.options import MAX_STEPS, EnvOptions, read_source
from webarena_gym.sites.layout import Variation

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")

ENV_ID = "WebArenaLite-v0"

_MAY_CHANGE = "may change when a run is resumed"
MayChange = Annotated[T, _MAY_CHANGE]
"""Type of an option that affects the length, place or speed of training, but not what is learned. A resumed run may change it."""
OptimizerName = Literal["adamw", "muon"]


@dataclass(frozen=True, kw_only=True)
class EnvSettings:
    """The keywords of the env that training varies, as in `EnvOptions`. Use an agent with the settings it was trained with.

    Attributes:
        variation: differences between worlds: the content of the sites, or also their layout.
        elements: names of elements in actions: their number in the page, or their visible label.
        history: earlier pages: a placeholder, omitted or complete.
        thoughts: True to keep the complete replies of earlier steps, including thoughts.
        application: path of your application; None for the embedded sites.
        suite: name or path of a suite of another project; None for the bundled one.
        window: number of visible characters of a page.
        max_steps: number of steps after which an episode is truncated.

    """

    variation: Variation = EnvOptions.variation
    elements: Elements = "label"
    history: History = EnvOptions.history
    thoughts: bool = False
    application: str | None = None
    suite: str | None = None
    window: int = EnvOptions.window
    max_steps: int = MAX_STEPS
    keywords: Annotated[tuple[str, ...], Option(name=""), _MAY_CHANGE] = ()
    """further keywords of the env, as NAME=JSON; commands that train have none"""

    def env_arguments(self) -> dict[str, Any]:
        """Return the keywords for `gymnasium.make`."""
        return {name: getattr(self, name) for name in ENV_FIELDS} | read_pairs(self.keywords, "--env")

    def env(self) -> "EnvSettings":
        """Return these settings without the fields of subclasses."""
        return EnvSettings(**{name: getattr(self, name) for name in (*ENV_FIELDS, "keywords")})

    def env_record(self) -> dict[str, Any]:
        """Return the env arguments for an agent record, with those that are not fields of `EnvSettings` as `keywords`."""
        arguments = self.env_arguments()
        record = {name: arguments.pop(name) for name in ENV_FIELDS}
        keywords = [f"{name}={json.dumps(value)}" for name, value in arguments.items()]
        return record | ({"keywords": keywords} if keywords else {})


ENV_FIELDS = tuple(item.name for item in fields(EnvSettings) if item.name != "keywords")


@dataclass(frozen=True, kw_only=True)
class ToolSettings(EnvSettings):
    """Tools that replies may call."""

    tools: tuple[Literal["lookup", "table_sql"], ...] = ()
    """tools that replies may call"""
    tool_budget: int = 4
    """maximum number of calls of tools in an episode"""

    def __post_init__(self) -> None:
        expect_least(self, tool_budget=1)

    def env_arguments(self) -> dict[str, Any]:
        tools = {"tools": list(self.tools), "tool_budget": self.tool_budget} if self.tools else {}
        return super().env_arguments() | tools


def recorded_tools(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `ToolSettings` in an agent record; empty without tools.

    >>> recorded_tools({"window": 600, "keywords": ['tools=["lookup"]', "tool_budget=4"]})
    {'tools': ('lookup',), 'tool_budget': 4}
    """
    keywords = read_pairs(record.get("keywords", ()), "keywords")
    values = {name: keywords[name] for name in ("tools", "tool_budget") if name in keywords}
    return values | ({"tools": tuple(values["tools"])} if "tools" in values else {})


@dataclass(frozen=True, kw_only=True)
class TrainingWorlds:
    """Check of the training worlds: worlds of held-out splits are rejected unless they are allowed."""

    allow_held_out_worlds: MayChange[bool] = False
    """accept worlds of the evaluation splits; scores on these splits then measure memory instead of skill"""

    def expect_training_worlds(self, name: str, worlds: Iterable[int | None], *, allowed_split: str = "") -> None:
        """Raise ValueError if the worlds of the argument `name` include a held-out world.

        Args:
            name: Name of the argument, for the error message.
            worlds: Seeds of the worlds; None is ignored.
            allowed_split: Split whose held-out worlds are accepted.

        """
        held_out = [
            (world, task_suite.HELD_OUT[world]) for world in worlds if world is not None and world in task_suite.HELD_OUT
        ]
        for world, split in held_out:
            if split != allowed_split and not self.allow_held_out_worlds:
                raise ValueError(
                    f"{name} includes {world}, the held-out world of the {split} split; expected worlds for training, such as "
                    f"11 to 999, or allow_held_out_worlds, after which scores on that split mean nothing"
                )


@dataclass(frozen=True, kw_only=True)
class TaskSettings(TrainingWorlds, EnvSettings):
    """Training tasks and their env."""

    worlds: tuple[int, ...] = tuple(range(11, 31))
    """seeds of the worlds of the training tasks; 0 to 999 are for training. With --application, any seeds, with which its templates draw tasks"""
    per_template: int = 3
    """number of tasks of each template in each world; with --application, of each of its templates for each seed in `worlds`. An application
    without templates has the tasks of its file"""
    templates: Templates = ()
    """only these templates; by default those of the training split"""
    split: str | None = None
    """with --suite: only the tasks of this split; by default all tasks of the suite"""

    def __post_init__(self) -> None:
        expect_least(self, per_template=1)
        self.expect_training_worlds("worlds", self.worlds)
        if self.split and not self.suite:
            raise ValueError(f"split is {self.split!r}, but there is no suite; expected no split, or --suite")
        if self.templates:
            task_suite.select_templates(self.templates, **read_source(self.application, self.suite))

    def expect_training_worlds(self, name: str, worlds: Iterable[int | None], *, allowed_split: str = "") -> None:
        if not (self.application or self.suite):  # these have no held-out worlds; their seeds are not seeds of worlds
            super().expect_training_worlds(name, worlds, allowed_split=allowed_split)


@dataclass(frozen=True, kw_only=True)
class RunFolderSettings(TaskSettings):
    """Tasks, folder, threads and seed of a run."""

    out: MayChange[NewFolder]
    """folder of the run: checkpoints, metrics, TensorBoard"""
    threads: MayChange[int] = 0
    """CPU threads for training; 0: torch's default, or one for a pointer network"""
    seed: int = 0
    """random seed of weights, tasks, sampling and order"""


@dataclass(frozen=True, kw_only=True)
class RunSettings(RunFolderSettings):
    """Tasks, folder, length and checkpoints of a run."""

    budgets: ClassVar[tuple[str, ...]] = ("cpu_minutes", "minutes")
    """settings that limit the training instead of `updates`"""
    minutes: MayChange[float] = 0.0
    """train for this many minutes instead of `updates`; 0: not used"""
    cpu_minutes: MayChange[float] = 0.0
    """train for this many minutes of CPU time of all processes instead of `updates`; 0: not used"""
    updates: MayChange[int] = 100
    """number of updates of the training; 0 saves the untrained model"""
    save_every: MayChange[int] = 10
    """updates between checkpoints"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_least(self, updates=0, save_every=1)
        budgets = {name: getattr(self, name) for name in self.budgets}
        if min(budgets.values()) < 0 or sum(map(bool, budgets.values())) > 1:
            values = ", ".join(f"{name}={value}" for name, value in budgets.items())
            raise ValueError(f"{values}; expected at least 0, and at most one above 0")

    @property
    def planned_updates(self) -> int:
        """The number of updates of the training; 0 if its length is given in other units."""
        return 0 if any(getattr(self, name) for name in self.budgets) else self.updates

    def progress(self, update: int, elapsed_s: float, usage: Mapping[str, float]) -> float:
        """Return the completed fraction of the training after `update` updates and `elapsed_s` seconds; 1 or more at the end.

        `usage` contains the env steps and CPU minutes so far.
        """
        usage = {**usage, "minutes": elapsed_s / 60}
        for name in self.budgets:
            if budget := getattr(self, name):
                return usage.get(name, 0.0) / float(budget)
        return update / self.updates if self.updates else 1.0


@dataclass(frozen=True, kw_only=True)
class PassSettings:
    """Computation of a language model's passes in training."""

    tokens_per_pass: MayChange[int] = 16_384
    """tokens in one forward pass, including padding; larger updates accumulate gradients"""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """precision of forward and backward passes; weights, gradients, optimizer state and decoding stay float32"""
    gradient_checkpointing: MayChange[bool] = False
    """recompute layers in the backward pass instead of storing activations: slower, less memory"""
    lora_rank: int = 0
    """language models: train low-rank adapters (LoRA) of this rank instead of the weights; 0: the weights"""
    lora_layers: int = 0
    """number of last layers that get adapters; fewer train faster, since the layers before them need no backward pass; 0: all layers"""


def expect_least(settings: object, **least: float) -> None:
    """Raise ValueError if a setting is below its minimum. `least` contains the minima by name."""
    for name, value in least.items():
        if getattr(settings, name) < value:
            raise ValueError(f"{name} is {getattr(settings, name)}; expected at least {value}")


def fixed_options(settings: "DataclassInstance") -> dict[str, Any]:
    """Return the options that must not change when a run is resumed: all options except those of type `MayChange`."""
    hints = get_type_hints(type(settings), include_extras=True)
    names = [name for name, hint in hints.items() if _MAY_CHANGE not in getattr(hint, "__metadata__", ())]
    return {item.name: getattr(settings, item.name) for item in fields(settings) if item.name in names}


def option_defaults(settings: "DataclassInstance") -> dict[str, Any]:
    """Return the defaults of the options of `fixed_options` that have one."""
    options = fixed_options(settings)
    return {item.name: item.default for item in fields(settings) if item.name in options and item.default is not MISSING}
