"""The tasks: a suite that ships as data, and any number more, drawn from the templates in any world.

A task's id says where it comes from: `shopping.product_price/1000/0` is draw 0 of that template in world 1000, the same in
every process. The suite's splits are such draws, in worlds of their own.
"""

import json
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import cache, partial
from importlib import import_module
from itertools import chain, cycle, groupby, islice
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, NamedTuple

from webarena_gym.applications.application import Application
from webarena_gym.applications.state import open_copies
from webarena_gym.arguments import quote_value, suggestion
from webarena_gym.errors import TaskError, WebArenaGymError
from webarena_gym.sites.catalogue import SITES
from webarena_gym.sites.country.dice import Scale
from webarena_gym.sites.layout import Variation, layout_of
from webarena_gym.sites.world import load_world
from webarena_gym.tasks.expert import Expert as Expert
from webarena_gym.tasks.suite import LEFT_OUT, PARTS
from webarena_gym.tasks.task import OnUnreadable as OnUnreadable
from webarena_gym.tasks.task import Step as Step
from webarena_gym.tasks.task import Task as Task
from webarena_gym.tasks.task import leave_out as leave_out
from webarena_gym.tasks.task import parse_task as parse_task
from webarena_gym.tasks.task import read_tasks as read_tasks
from webarena_gym.tasks.template import Dice, NothingToDraw, Sampler, Template

DATA = Path(__file__).parent / "data"
_TRIES = 30  # draws in a row without a new task before a template is given up in a world


class Split(NamedTuple):
    """Draw of a split: its worlds, their scale, and the largest number of steps of a solution."""

    worlds: tuple[int, ...]
    longest: int
    scale: Scale = "standard"


STANDARD: Mapping[str, Split] = {"train": Split((1, 2, 3, 4), 14), "validation": Split((1001,), 14), "test": Split((1000,), 20)}
"""Validation has one task of each training template in a held-out world: what is chosen by it has seen nothing of the test."""

SPLITS: Mapping[str, Split] = {
    **STANDARD,
    "pool": Split((1, 2), 30),
    "hard": Split((1002,), 59, "large"),
    "pictures": Split((1003,), 20),
}
"""The splits of the standard suite; the pool, of all other standard templates, for training beyond the suite; the hard one,
whose templates have kinds of difficulty and belong to no other; and the one of tasks that need eyes.
"""

VERSIONS = (1, 2)
"""The versions of the suite; the last is the one that `load` returns. Version 1 had answers that could be known without the pages."""

HELD_OUT: Mapping[int, str] = {
    world: name for name, split in SPLITS.items() if name not in ("train", "pool") for world in split.worlds
}
"""The splits that agents are evaluated on, by world: training in one of these worlds makes the scores of its split meaningless."""

_DRAWS = {"pool": 2, "hard": 3, "pictures": 3}  # tasks that a template gives to its split
_RARITY = 10  # one draw of so many cannot be done, of templates that have such draws


@cache
def _turns() -> dict[str, int]:
    """Return the numbers of the templates with unachievable draws. The pool's come last, so that new ones change no other split."""
    mixed = (name for name, template in templates().items() if template.unachievable is not None)
    return {name: place for place, name in enumerate(sorted(mixed, key=lambda name: name not in _standard()))}


@cache
def _standard() -> frozenset[str]:
    """Return the names of the templates of the standard splits."""
    return frozenset(name for part in PARTS.values() for split in STANDARD for name in part.names(split))


@cache
def templates() -> dict[str, Template]:
    """Return all templates by name, in a fixed order: site by site, then those over several sites."""
    package = import_module("webarena_gym.templates")  # imported here, because it is built on this package
    reader = import_module(f"{package.__name__}.reader")
    folders = {module.name for module in iter_modules(package.__path__) if module.ispkg}
    known: dict[str, Template] = {}
    for folder in (*(site for site in SITES if site in folders), *sorted(folders - SITES.keys())):
        known |= reader.read_templates(import_module(f"{package.__name__}.{folder}"))
    return known


def templates_of(application: Application) -> dict[str, Template]:
    """Return the templates of an application by name, which draw from its databases. Raises TaskError."""
    if not application.templates:
        return {}
    reader = import_module("webarena_gym.templates.reader")
    path, databases = Path(application.templates), partial(open_copies, application)
    known: dict[str, Template] = reader.templates_of(path, application.name, {}, databases)
    return known


def draw(
    names: Iterable[str] | None = None,
    *,
    world_seed: int,
    count: int,
    variation: Variation = "content",
    scale: Scale | None = None,
    application: Application | None = None,
) -> list[Task]:
    """Draw `count` different tasks from each of the named templates (all by default) in one world, or from an application by a seed.

    Their solutions are for the sites as `variation` builds them. Without `scale`, each template draws in the world of its own
    scale (`scale_of`). A template that has fewer gives what it has. Raises TaskError for an unknown name.
    """
    wanted = named(names, application)
    with _Sampling(world_seed, variation, scale) as sampling:
        return [task for template in wanted for task in sampling.several(template, count)]


def spread(
    names: Iterable[str] | None = None,
    *,
    world_seed: int,
    total: int,
    variation: Variation = "content",
    longest: int | None = None,
    scale: Scale | None = None,
) -> list[Task]:
    """Draw `total` different tasks in one world, evenly from the named templates (all by default).

    Where a template has fewer than its share, the others give more. Solutions have at most `longest` steps. Raises TaskError for an
    unknown name, for none, or for a negative number.
    """
    wanted = named(names)
    if total < 0 or not wanted:
        raise TaskError(f"{total} tasks of {len(wanted)} templates; expected 0 or more of at least one")
    drawn: list[list[Task]] = [[] for _ in wanted]
    with _Sampling(world_seed, variation, scale) as sampling:
        streams = {place: sampling.several(template, total, longest) for place, template in enumerate(wanted)}
        left = total
        while left and streams:
            for place in list(streams)[:left]:
                task = next(streams[place], None)
                if task is None:
                    del streams[place]
                else:
                    drawn[place].append(task)
                    left -= 1
    return [task for tasks in drawn for task in tasks]


def named(names: Iterable[str] | None, application: Application | None = None) -> list[Template]:
    """Return the templates of these names; for None all that are not hard and need no eyes. Raises TaskError."""
    known = templates_of(application) if application else templates()
    usual = (name for name, template in known.items() if not (template.difficulty or template.needs_eyes))
    wanted = list(usual if names is None else names)
    for name in wanted:
        if name not in known:
            raise TaskError(f"there is no template {quote_value(name)}; {suggestion(name, known)}")
    return [known[name] for name in wanted]


def scale_of(template: str) -> Scale:
    """Return the scale of the worlds in which a template is drawn where no other is named: that of its split."""
    return SPLITS["hard"].scale if templates()[template].difficulty else "standard"


def load(
    split: str = "test",
    world_seed: int | None = None,
    variation: Variation = "content",
    scale: Scale | None = None,
    application: Application | None = None,
    on_unreadable: OnUnreadable = "raise",
) -> tuple[Task, ...]:
    """Return a split of the suite, or the same templates drawn in another world. Raises TaskError for an unknown split.

    Of an `application`, return those of its task file and the draws of its templates by the seed 0; or of another seed, the draws alone.

    With the variation "layout", the suite's own tasks are drawn again, so that their solutions are for the sites as these are
    then built. In worlds of another scale than the split's own, the templates are drawn in that of its first seed where no
    other is named.
    """
    if application:
        if not (application.tasks or application.templates):
            raise TaskError(f"the application {application.name} names neither tasks nor templates: give tasks=")
        is_of_file = application.tasks and (world_seed is None or not application.templates)
        drawn = draw(world_seed=world_seed or 0, count=application.draws, application=application)
        return (*(read_tasks(application.tasks, on_unreadable) if is_of_file else ()), *drawn)
    expect_split(split)
    if is_own(split, world_seed, scale):
        return _shipped(split) if variation == "content" else _redrawn(split, variation)
    own = SPLITS[split]
    seed = own.worlds[0] if world_seed is None else world_seed
    how: dict[str, Any] = {"variation": variation, "longest": own.longest, "scale": scale or own.scale}
    tasks = (spread(names, world_seed=seed, total=total, **how) for names, total in _parts(split))  # site by site
    return tuple(chain.from_iterable(tasks))


def load_version(split: str, version: int) -> tuple[Task, ...]:
    """Return the tasks of a split as a version of the suite has them. Raises TaskError for an unknown version or split.

    Version 1 had other tasks in all splits but "pictures", some under ids that version 2 has as well: they are kept as they were, and
    cannot be drawn again.
    """
    expect_split(split)
    if version not in VERSIONS:
        raise TaskError(f"there is no version {version} of the suite; expected one of {', '.join(map(str, VERSIONS))}")
    record = json.loads((DATA / "version_1.json").read_text(encoding="utf-8"))
    if version == VERSIONS[-1] or split not in record["splits"]:
        return _shipped(split)
    former = {task["task_id"]: parse_task(task) for task in record["tasks"]}
    same = {task.task_id: task for task in _shipped(split)}
    return tuple(former.get(task_id) or same[task_id] for task_id in record["splits"][split])


def is_own(split: str, world_seed: int | None, scale: Scale | None) -> bool:
    """Say whether the tasks of a split in some world are the suite's own."""
    return world_seed is None and scale in (None, SPLITS[split].scale)


def expect_split(split: str) -> None:
    """Raise TaskError for what is no split."""
    if split not in SPLITS:
        raise TaskError(f"there is no split {quote_value(split)}; {suggestion(split, SPLITS)}")


def generate(split: str) -> list[Task]:
    """Draw a split of the suite anew, for the shipped file.

    The tasks keep the templates, worlds and order that the shipped file has. Templates that are new to it come behind all others
    and give what is missing to the total of their part, so that they change no other task.
    """
    worlds, longest, _ = SPLITS[split]
    plan = _plan(split)
    with ExitStack() as stack:
        samplings = {world_seed: stack.enter_context(_Sampling(world_seed, "content")) for world_seed in worlds}
        streams = {
            (name, world_seed): samplings[world_seed].several(templates()[name], len(plan), longest)
            for name, world_seed in dict.fromkeys(plan)
        }
        drawn = [next(streams[place], None) for place in plan]
    return [task for task in drawn if task is not None]


def _plan(split: str) -> list[tuple[str, int]]:
    """Return the template and the world of each task of a split, as `generate` draws them."""
    worlds = SPLITS[split].worlds
    records = json.loads(_file(split).read_text(encoding="utf-8"))["tasks"] if _file(split).exists() else ()
    shipped = [_parted(record["task_id"])[:2] for record in records]
    wanted = {name for names, _ in _parts(split) for name in names}
    kept = [(name, world_seed) for name, world_seed in shipped if name in wanted and world_seed in worlds]
    counts, added = Counter(name for name, _ in kept), []
    for names, total in _parts(split):
        new = [name for name in names if name not in counts]
        missing = total - sum(counts[name] for name in names)
        places = cycle([(name, world_seed) for world_seed in worlds for name in new]) if new else ()
        added += sorted(islice(places, max(missing, 0)), key=lambda place: new.index(place[0]))
    return kept + added


def _parts(split: str) -> list[tuple[tuple[str, ...], int]]:
    """Return the parts of a split: names of templates, and how many tasks they give together."""
    if split in STANDARD:
        return [(part.names(split), part.total(split)) for part in PARTS.values()]
    of: dict[str, list[str]] = {name: [] for name in _DRAWS}
    for name, template in templates().items():
        if template.difficulty or template.needs_eyes or name not in _standard() | LEFT_OUT.keys():
            of["hard" if template.difficulty else "pictures" if template.needs_eyes else "pool"].append(name)
    return [(tuple(of[split]), _DRAWS[split] * len(of[split]))]


def _file(split: str) -> Path:
    return DATA / f"{split}.json"


def find(
    task_id: str, variation: Variation = "content", scale: Scale | None = None, application: Application | None = None
) -> Task:
    """Return the task with that id, drawn again in the world of that scale, or of the template's own. Raises TaskError."""
    try:
        name, world_seed, index = _parted(task_id)
        template = (templates_of(application) if application else templates())[name]
    except (KeyError, ValueError) as error:
        if application:
            own = {task.task_id: task for task in load(application=application)}
            if task_id in own:
                return own[task_id]
            raise TaskError(
                f"the application {application.name} has no task {quote_value(task_id)}: {suggestion(task_id, own)}"
            ) from error
        name, _, rest = task_id.partition("/")
        like = [] if name in templates() else [f"{known}/{rest or '1000/0'}" for known in templates()]
        meant = suggestion(f"{name}/{rest or '1000/0'}", like, list_all=False)
        such = "" if meant else f", such as {next(iter(templates()))}/1000/0"
        raise TaskError(
            f"there is no task {quote_value(task_id)}; expected <template>/<world seed>/<draw>{such}{meant and f'; {meant}'}"
        ) from error
    try:
        with _Sampling(world_seed, variation, scale) as sampling:
            return sampling.one(template, index)
    except NothingToDraw as error:
        others = draw([name], world_seed=world_seed, count=1, variation=variation, scale=scale, application=application)
        told = f"the first that does is {others[0].task_id}" if others else "no other draw does either"
        raise TaskError(f"draw {index} of {name} finds nothing to ask for in world {world_seed}; {told}") from error


def select(
    tasks: str | Path | Sequence[str | Task],
    variation: Variation = "content",
    on_unreadable: OnUnreadable = "raise",
    scale: Scale | None = None,
    application: Application | None = None,
) -> tuple[Task, ...]:
    """Return the tasks of a file in WebArena's schema, of one id, or of a list of ids, which are drawn, and tasks.

    Raises TaskError, also for tasks of a file that cannot be read, unless these are to be skipped.
    """
    if isinstance(tasks, str) and (application or _is_id(tasks)) and not Path(tasks).exists():
        return (find(tasks, variation, scale, application),)
    if isinstance(tasks, str | Path):
        return read_tasks(tasks, on_unreadable)
    own = {}
    if application and not all(isinstance(task, Task) for task in tasks):
        own = {task.task_id: task for task in load(application=application)}
    chosen = tuple(
        task if isinstance(task, Task) else own.get(str(task)) or find(str(task), variation, scale, application)
        for task in tasks
    )
    if not chosen:
        raise TaskError("tasks is empty; expected at least one task or id")
    return chosen


@cache
def _shipped(split: str) -> tuple[Task, ...]:
    return read_tasks(_file(split))


@cache
def _redrawn(split: str, variation: Variation) -> tuple[Task, ...]:
    """Draw the shipped tasks of a split again, world by world."""
    known = templates()
    drawn: list[Task] = []
    for world_seed, tasks in groupby(_shipped(split), key=lambda task: task.world_seed):
        assert world_seed is not None
        with _Sampling(world_seed, variation) as sampling:
            drawn += [sampling.one(known[task.template], _parted(task.task_id)[2]) for task in tasks]
    return tuple(drawn)


def _parted(task_id: str) -> tuple[str, int, int]:
    """Return the template, the world and the number of a draw. Raises ValueError."""
    name, world, index = task_id.split("/")
    return name, int(world), int(index)


def world_of(task_id: str) -> int | None:
    """Return the seed of the world in a task id; None for an id of another form.

    >>> world_of("shopping.product_price/1000/0")
    1000
    """
    return _parted(task_id)[1] if _is_id(task_id) else None


def _is_id(text: str) -> bool:
    """True if a text has the form of a task id; the template need not exist."""
    try:
        return "." in _parted(text)[0]
    except ValueError:
        return False


class _Sampling:
    """Draws from the worlds of one seed; holds their databases open as a context manager."""

    def __init__(self, world_seed: int, variation: Variation, scale: Scale | None = None) -> None:
        self._world_seed = world_seed
        self._scale: Scale | None = scale
        self._layout = layout_of(world_seed, variation)
        self._open: dict[Any, Any] = {}  # databases by the scale of the world, or by what opens them
        self._closing = ExitStack()

    def __enter__(self) -> "_Sampling":
        load_world(self._world_seed)  # which refuses what is no seed, before anything is drawn
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def one(self, template: Template, index: int) -> Task:
        """Return draw `index` of a template. Raises NothingToDraw."""
        scale = "standard" if template.databases else self._scale or scale_of(template.name)
        place = template.databases or scale
        if place not in self._open:
            opened = template.databases() if template.databases else closing(load_world(self._world_seed, scale).open())
            self._open[place] = self._closing.enter_context(opened)
        task_id = f"{template.name}/{self._world_seed}/{index}"
        sampler = Sampler(self._open[place], Dice(task_id), template.sites[0], self._layout)
        try:
            is_achievable = not self._is_turn(template, index)
            return template.instantiate(sampler, task_id, self._world_seed, scale, is_achievable=is_achievable)
        except NothingToDraw:
            raise
        except Exception as error:  # templates are written by many: whatever breaks in one is told with its name
            where = traceback.extract_tb(error.__traceback__)[-1]
            why = f"{type(error).__name__}: {error} ({Path(where.filename).name}, line {where.lineno})"
            why = str(error) if isinstance(error, WebArenaGymError) else why
            raise TaskError(f"the template {template.name} cannot be drawn in world {self._world_seed}: {why}") from error
        finally:
            if sampler.planted:
                self._open[place].reset()

    def _is_turn(self, template: Template, index: int) -> bool:
        """Say whether draw `index` of a template is the unachievable one among ten.

        The templates that have unachievable draws take turns, from a beginning that follows from the world: ten of them have one such
        task in their first draws, and so has each of them in ten draws.
        """
        turn = _turns().get(template.name, 0) + index + Dice(f"first turn in world {self._world_seed}").randrange(_RARITY)
        return turn % _RARITY == 0

    def several(self, template: Template, count: int, longest: int | None = None) -> Iterator[Task]:
        """Yield up to `count` draws with different goals and solutions of at most `longest` steps."""
        intents: set[str] = set()
        index = failures = unachievable = 0
        while len(intents) < count and failures < _TRIES:
            try:
                task = self.one(template, index)
            except NothingToDraw:
                task = None
            index += 1
            meant = template.intent.format(**task.instantiation_dict) if task is not None else ""
            is_unachievable = template.unachievable is not None and self._is_turn(template, index - 1)
            is_one_too_many = is_unachievable and unachievable > len(intents) // _RARITY  # where achievable goals run short
            if task is None or meant in intents or is_one_too_many or (longest is not None and len(task.solution) > longest):
                failures += 1
                continue
            failures = 0
            intents.add(meant)
            unachievable += is_unachievable
            yield task
