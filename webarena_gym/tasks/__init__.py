"""The tasks: a suite that ships as data, and any number more, drawn from the templates in any world.

A task's id says where it comes from: `shopping.product_price/1000/0` is draw 0 of that template in world 1000, the same in
every process. The suite's two splits are such draws, in worlds of their own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from random import Random
from typing import NamedTuple

from webarena_gym.errors import TaskError
from webarena_gym.sites.world import load_world
from webarena_gym.tasks.expert import Expert as Expert
from webarena_gym.tasks.task import Step as Step
from webarena_gym.tasks.task import Task as Task
from webarena_gym.tasks.task import parse_task as parse_task
from webarena_gym.tasks.task import read_tasks as read_tasks
from webarena_gym.tasks.template import NothingToDraw, Sampler, Template

DATA = Path(__file__).parent / "data"
_MODULES = ("shopping", "shopping_admin", "reddit", "gitlab", "map", "wikipedia", "several")
_TRIES = 30  # draws without a new task before a template is given up in a world


class Split(NamedTuple):
    """How a split of the suite is drawn: the worlds, and the tasks of each template in each world."""

    worlds: tuple[int, ...]
    per_template: int


SPLITS: Mapping[str, Split] = {"train": Split((1, 2, 3, 4), 1), "test": Split((1000,), 1)}


@cache
def templates() -> dict[str, Template]:
    """Return all templates by name, in a fixed order."""
    known: dict[str, Template] = {}
    for name in _MODULES:  # imported here, because they are built on this package
        known.update(import_module(f"webarena_gym.tasks.{name}").TEMPLATES)
    return known


def draw(names: Iterable[str] | None = None, *, world_seed: int, count: int) -> list[Task]:
    """Draw `count` different tasks from each of the named templates (all by default) in one world.

    A template that has fewer gives what it has. Raises TaskError for an unknown name.
    """
    known = templates()
    wanted = list(known) if names is None else list(names)
    for name in wanted:
        if name not in known:
            raise TaskError(f"there is no template {name!r}; expected one of {', '.join(known)}")
    with _Sampling(world_seed) as sampling:
        return [task for name in wanted for task in sampling.several(known[name], count)]


def load(split: str, world_seed: int | None = None) -> tuple[Task, ...]:
    """Return a split of the suite, or the same templates drawn in another world. Raises TaskError for an unknown split."""
    if split not in SPLITS:
        raise TaskError(f"there is no split {split!r}; expected one of {', '.join(SPLITS)}")
    if world_seed is None:
        return _shipped(split)
    plan = SPLITS[split]
    return tuple(draw(world_seed=world_seed, count=plan.per_template * len(plan.worlds)))


def generate(split: str) -> list[Task]:
    """Draw a split of the suite anew, as it was drawn for the shipped file."""
    plan = SPLITS[split]
    return [task for world_seed in plan.worlds for task in draw(world_seed=world_seed, count=plan.per_template)]


def find(task_id: str) -> Task:
    """Return the task with that id, from the suite or drawn again. Raises TaskError."""
    name, _, place = task_id.partition("/")
    world, _, index = place.partition("/")
    try:
        template, world_seed, number = templates()[name], int(world), int(index)
        with _Sampling(world_seed) as sampling:
            return sampling.one(template, number)
    except (KeyError, ValueError, NothingToDraw) as error:
        raise TaskError(
            f"there is no task {task_id!r}; expected <template>/<world seed>/<draw>, such as {next(iter(templates()))}/1000/0"
        ) from error


def select(tasks: str | Path | Sequence[str | Task]) -> tuple[Task, ...]:
    """Return the tasks of a file in WebArena's schema, or of a list of ids and tasks. Raises TaskError."""
    if isinstance(tasks, str | Path):
        return read_tasks(tasks)
    chosen = tuple(task if isinstance(task, Task) else find(str(task)) for task in tasks)
    if not chosen:
        raise TaskError("tasks is empty; expected at least one task or id")
    return chosen


@cache
def _shipped(split: str) -> tuple[Task, ...]:
    return read_tasks(DATA / f"{split}.json")


class _Sampling:
    """Draws from one world; holds its databases open as a context manager."""

    def __init__(self, world_seed: int) -> None:
        self._world_seed = world_seed

    def __enter__(self) -> "_Sampling":
        self._databases = load_world(self._world_seed).open()
        return self

    def __exit__(self, *_: object) -> None:
        self._databases.close()

    def one(self, template: Template, index: int) -> Task:
        """Return draw `index` of a template. Raises NothingToDraw."""
        rng = Random(f"{template.name}/{self._world_seed}/{index}")
        sampler = Sampler(self._databases, rng, template.sites[0])
        template_id = list(templates()).index(template.name)
        return template.instantiate(sampler, f"{template.name}/{self._world_seed}/{index}", self._world_seed, template_id)

    def several(self, template: Template, count: int) -> Iterator[Task]:
        """Yield up to `count` draws with different intents."""
        intents: set[str] = set()
        index = failures = 0
        while len(intents) < count and failures < _TRIES:
            try:
                task = self.one(template, index)
            except NothingToDraw:
                task = None
            index += 1
            if task is None or task.intent in intents:
                failures += 1
                continue
            intents.add(task.intent)
            yield task
