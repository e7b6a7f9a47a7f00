"""The bundled suite of tasks as data, and any number of generated tasks, drawn from the templates in any world.

The id of a task consists of its template, world seed and draw: `shopping.product_price/1000/0` is draw 0 of that template in world 1000,
which is equal in every process. The splits of the suite are draws in disjoint sets of worlds.

>>> import webarena_gym
>>> tasks = webarena_gym.load("validation")
>>> len(tasks), tasks[0].task_id
(169, 'shopping.product_price/1001/0')
>>> [task.task_id for task in webarena_gym.draw(["shopping.cart_add"], world_seed=41, count=2)]
['shopping.cart_add/41/0', 'shopping.cart_add/41/1']
"""

import json
import traceback
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import cache, partial
from itertools import cycle, groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

from webarena_gym.applications.application import Application
from webarena_gym.applications.state import open_copies
from webarena_gym.applications.suite import Suite
from webarena_gym.arguments import quote_value, suggestion
from webarena_gym.errors import TaskError, WebArenaGymError
from webarena_gym.sites.country.dice import Scale
from webarena_gym.sites.layout import Variation, layout_of
from webarena_gym.sites.world import load_world
from webarena_gym.suite.parts import EXCLUDED_TEMPLATES, PARTS
from webarena_gym.tasks import OnUnreadable, Task, parse_task, parse_tasks, read_tasks
from webarena_gym.tasks.template import Dice, NothingToDraw, Row, Sampler, Template
from webarena_gym.templates import reader

FIRST_FRESH_WORLD = 900_000
"""Seed of the first world of the option --fresh-worlds."""
DATA = Path(__file__).parent / "data"
_MAX_FAILURES = 30  # consecutive draws without a new task after which a template counts as exhausted in a world


class Split(NamedTuple):
    """The definition of a split: its worlds, their scale, and the maximum number of steps of a solution."""

    worlds: tuple[int, ...]
    longest: int
    scale: Scale = "standard"


STANDARD: Mapping[str, Split] = {"train": Split((1, 2, 3, 4), 14), "validation": Split((1001,), 14), "test": Split((1000,), 20)}
"""Validation has one task of each training template in a held-out world, so that model selection uses nothing of the test split."""

SPLITS: Mapping[str, Split] = {
    **STANDARD,
    "pool": Split((1, 2), 30),
    "hard": Split((1002,), 59, "large"),
    "pictures": Split((1003,), 20),
    "tools": Split((1004,), 20),
}
"""The splits of the standard suite; "pool", of all other standard templates, for additional training; "hard", of the templates with kinds of
difficulty; "pictures", of the tasks that require vision; and "tools", of questions for agents with tools.
"""

VERSIONS = (1, 2)
"""The versions of the suite; `load` returns the last one. Some answers of version 1 could be guessed without the pages."""

HELD_OUT: Mapping[int, str] = {
    world: name for name, split in SPLITS.items() if name not in ("train", "pool") for world in split.worlds
}
"""The evaluation splits by world. Training in one of these worlds makes the scores on its split meaningless."""

_DRAWS = {"pool": 2, "hard": 3, "pictures": 3, "tools": 3}  # number of tasks of each template in a split
_RARITY = 10  # one of this many draws is unachievable, for templates with unachievable draws


@cache
def _turn_offsets() -> dict[str, int]:
    """Return an offset for each template with unachievable draws. Those of the pool come last, so that new ones change no other split."""
    names = (name for name, template in templates().items() if template.unachievable is not None)
    return {name: index for index, name in enumerate(sorted(names, key=lambda name: name not in _standard_names()))}


@cache
def _standard_names() -> frozenset[str]:
    """Return the names of the templates of the standard splits."""
    return frozenset(name for part in PARTS.values() for split in STANDARD for name in part.names(split))


@cache
def templates() -> dict[str, Template]:
    """Return all templates by name, in a fixed order: by site, then those with several sites."""
    return reader.read_all()


def templates_of(application: Application) -> dict[str, Template]:
    """Return the templates of an application by name. Their tasks are drawn from its databases. Raises TaskError."""
    if not application.templates:
        return {}
    return reader.templates_of(Path(application.templates), application.name, {}, partial(open_copies, application))


def draw(
    names: Iterable[str] | None = None,
    *,
    world_seed: int,
    count: int,
    variation: Variation = "content",
    scale: Scale | None = None,
    application: Application | None = None,
) -> list[Task]:
    """Draw different tasks from templates in one world.

    Args:
        names: names of the templates; by default all that are not hard and need neither vision nor tools.
        world_seed: seed of the world; with an application, seed of the draws.
        count: number of tasks of each template. A template with fewer different tasks returns all of them.
        variation: variation of the sites, for which the solutions are made.
        scale: scale of the world; by default that of the template (`scale_of`).
        application: your application, whose templates are used.

    Raises:
        TaskError: for an unknown template.

    """
    selection = select_templates(names, application)
    with _Sampling(world_seed, variation, scale) as sampling:
        return [task for template in selection for task in sampling.draw_tasks(template, count)]


def spread(
    names: Iterable[str] | None = None,
    *,
    world_seed: int,
    total: int,
    variation: Variation = "content",
    longest: int | None = None,
    scale: Scale | None = None,
) -> list[Task]:
    """Draw `total` different tasks in one world, evenly from templates.

    If a template has fewer tasks than its share, the others contribute more.

    Args:
        names: names of the templates; by default all that are not hard and need neither vision nor tools.
        world_seed: seed of the world.
        total: number of tasks.
        variation: variation of the sites, for which the solutions are made.
        longest: maximum number of steps of a solution.
        scale: scale of the world; by default that of the template.

    Raises:
        TaskError: for an unknown template, for no templates, or for a negative number.

    """
    selection = select_templates(names)
    if total < 0 or not selection:
        raise TaskError(f"{total} tasks of {len(selection)} templates; expected 0 or more of at least one")
    tasks_by_template: list[list[Task]] = [[] for _ in selection]
    with _Sampling(world_seed, variation, scale) as sampling:
        streams = {index: sampling.draw_tasks(template, total, longest) for index, template in enumerate(selection)}
        remaining = total
        while remaining and streams:
            for index in list(streams)[:remaining]:
                task = next(streams[index], None)
                if task is None:
                    del streams[index]
                else:
                    tasks_by_template[index].append(task)
                    remaining -= 1
    return [task for tasks in tasks_by_template for task in tasks]


def select_templates(
    names: Iterable[str] | None, application: Application | None = None, suite: Suite | None = None
) -> list[Template]:
    """Return the templates of these names; for None all that are not hard and need neither vision nor tools.

    A suite has no templates. Raises TaskError for an unknown name.
    """
    if suite:
        if names := list(names or ()):
            raise TaskError(f"the suite {suite.name} has no template {quote_value(names[0])}; select its tasks by their ids")
        return []
    known = templates_of(application) if application else templates()
    default = (
        name for name, template in known.items() if not (template.difficulty or template.needs_eyes or template.needs_tools)
    )
    selection = list(default if names is None else names)
    for name in selection:
        if name not in known:
            raise TaskError(f"there is no template {quote_value(name)}; {suggestion(name, known)}")
    return [known[name] for name in selection]


def scale_of(template: str) -> Scale:
    """Return the default scale of the worlds of a template: that of its split."""
    return SPLITS["hard"].scale if templates()[template].difficulty else "standard"


def load(
    split: str = "test",
    world_seed: int | None = None,
    variation: Variation = "content",
    scale: Scale | None = None,
    application: Application | None = None,
    on_unreadable: OnUnreadable = "raise",
    suite: Suite | None = None,
    names: Collection[str] = (),
) -> tuple[Task, ...]:
    """Return the tasks of a split of the suite, tasks of the same templates in another world, or the tasks of an application.

    Args:
        split: name of the split.
        world_seed: seed of another world than those of the suite. With an application: None for the tasks of its file and the draws of its
            templates with seed 0; otherwise the draws with this seed.
        variation: variation of the sites. With "layout", the tasks of the suite are drawn again, so that their solutions fit the layout.
        scale: scale of the world. With another scale than the split's, and no `world_seed`, the split's first seed is used.
        application: your application, whose tasks are returned.
        on_unreadable: treatment of tasks of the application's file, or of a suite, that cannot be read.
        suite: suite of another project, of which `split` is a split.
        names: names of the templates whose tasks are returned; by default all of the split. Only the sites of these templates are drawn,
            with their other templates, whose missing tasks these templates may have to replace.

    Raises:
        TaskError: for an unknown split or template, or an application without tasks and templates.

    """
    if names:
        select_templates(names, application, suite)  # raises for unknown ones
    if suite:
        if world_seed is not None or scale is not None or variation != "content":
            raise TaskError(f"the suite {suite.name} has no worlds; omit world_seed, variation and scale")
        tasks = parse_tasks(suite.records(split), f"the suite {suite.name}", on_unreadable)
    elif application:
        if not (application.tasks or application.templates):
            raise TaskError(f"the application {application.name} declares neither tasks nor templates; pass tasks=")
        includes_file = application.tasks and (world_seed is None or not application.templates)
        drawn = [template.name for template in select_templates(None, application) if not names or template.name in names]
        draws = draw(drawn, world_seed=world_seed or 0, count=application.draws, application=application)
        tasks = (*(read_tasks(application.tasks, on_unreadable, may_be_empty=bool(draws)) if includes_file else ()), *draws)
    elif is_suite_world(expect_split(split), world_seed, scale):
        tasks = _load_split(split) if variation == "content" else _redraw_split(split, variation)
    else:
        definition = SPLITS[split]
        seed = definition.worlds[0] if world_seed is None else world_seed
        options: dict[str, Any] = {"variation": variation, "longest": definition.longest, "scale": scale or definition.scale}
        parts = [(part, total) for part, total in _parts(split) if not names or set(names) & set(part)]  # by site
        tasks = tuple(task for part, total in parts for task in spread(part, world_seed=seed, total=total, **options))
    return tuple(task for task in tasks if task.template in names) if names else tasks


def load_version(split: str, version: int) -> tuple[Task, ...]:
    """Return the tasks of a split in a version of the suite. Raises TaskError for an unknown version or split.

    Version 1 differs in all splits except "pictures" and "tools". Some of its tasks have ids that version 2 uses for other tasks. They are stored as data,
    and cannot be drawn again.
    """
    expect_split(split)
    if version not in VERSIONS:
        raise TaskError(f"there is no version {version} of the suite; expected one of {', '.join(map(str, VERSIONS))}")
    record = json.loads((DATA / "version_1.json").read_text(encoding="utf-8"))
    if version == VERSIONS[-1] or split not in record["splits"]:
        return _load_split(split)
    former = {task["task_id"]: parse_task(task) for task in record["tasks"]}
    current = {task.task_id: task for task in _load_split(split)}
    return tuple(former.get(task_id) or current[task_id] for task_id in record["splits"][split])


def is_suite_world(split: str, world_seed: int | None, scale: Scale | None) -> bool:
    """Return True if the arguments of `load` select the suite's tasks of a split, which are not drawn."""
    return world_seed is None and scale in (None, SPLITS[split].scale)


def expect_split(split: str) -> str:
    """Return a split. Raises TaskError for an unknown one."""
    if not isinstance(split, str):
        raise TaskError(f"split is {split!r}; expected one of {', '.join(map(repr, SPLITS))}")
    if split not in SPLITS:
        raise TaskError(f"there is no split {quote_value(split)}; {suggestion(split, SPLITS)}")
    return split


def generate(split: str) -> list[Task]:
    """Draw the tasks of a split of the suite again, for its bundled file.

    The tasks keep the templates, worlds and order of the current file. New templates are appended, and fill their part up to its total, so
    that they change no other task.
    """
    worlds, longest, _ = SPLITS[split]
    plan = _plan(split)
    with ExitStack() as stack:
        samplings = {world_seed: stack.enter_context(_Sampling(world_seed, "content")) for world_seed in worlds}
        streams = {
            (name, world_seed): samplings[world_seed].draw_tasks(templates()[name], len(plan), longest)
            for name, world_seed in dict.fromkeys(plan)
        }
        tasks = [next(streams[key], None) for key in plan]
    return [task for task in tasks if task is not None]


def _plan(split: str) -> list[tuple[str, int]]:
    """Return the template and the world seed of each task of a split, in the order of `generate`."""
    worlds = SPLITS[split].worlds
    records = json.loads(_file(split).read_text(encoding="utf-8"))["tasks"] if _file(split).exists() else ()
    current = [_parse_task_id(record["task_id"])[:2] for record in records]
    split_names = {name for names, _ in _parts(split) for name in names}
    plan = [(name, world_seed) for name, world_seed in current if name in split_names and world_seed in worlds]
    counts, additions = Counter(name for name, _ in plan), []
    for names, total in _parts(split):
        new = [name for name in names if name not in counts]
        missing = total - sum(counts[name] for name in names)
        pairs = cycle([(name, world_seed) for world_seed in worlds for name in new]) if new else ()
        additions += sorted(islice(pairs, max(missing, 0)), key=lambda pair: new.index(pair[0]))
    return plan + additions


def _parts(split: str) -> list[tuple[tuple[str, ...], int]]:
    """Return the parts of a split: names of templates, and their total number of tasks."""
    if split in STANDARD:
        return [(part.names(split), part.total(split)) for part in PARTS.values()]
    names_by_split: dict[str, list[str]] = {name: [] for name in _DRAWS}
    for name, template in templates().items():
        is_special = template.difficulty or template.needs_eyes or template.needs_tools
        if is_special or name not in _standard_names() | EXCLUDED_TEMPLATES.keys():
            key = (
                "hard"
                if template.difficulty
                else "pictures"
                if template.needs_eyes
                else "tools"
                if template.needs_tools
                else "pool"
            )
            names_by_split[key].append(name)
    return [(tuple(names_by_split[split]), _DRAWS[split] * len(names_by_split[split]))]


def _file(split: str) -> Path:
    return DATA / f"{split}.json"


def find(
    task_id: str,
    variation: Variation = "content",
    scale: Scale | None = None,
    application: Application | None = None,
    suite: Suite | None = None,
) -> Task:
    """Return the task with an id.

    >>> import webarena_gym
    >>> webarena_gym.find("shopping.product_price/1000/0").intent
    'How much does the Dimutre Compact Bike Light Set, 800 lm cost?'

    Args:
        task_id: template, world seed and index of the draw, as in "shopping.cart_add/1000/0"; with an application or a suite, also the id in
            its file.
        variation: variation of the sites, for which the solution is made.
        scale: scale of the world; by default that of the template (`scale_of`).
        application: your application, whose tasks and templates are searched.
        suite: suite of another project, whose tasks are searched.

    Raises:
        TaskError: for an unknown id.

    """
    if suite:
        records = {record["task_id"]: record for record in suite.records()}
        if task_id not in records:
            raise TaskError(f"the suite {suite.name} has no task {quote_value(task_id)}: {suggestion(task_id, records)}")
        return parse_task(records[task_id], f"the suite {suite.name}")
    try:
        name, world_seed, index = _parse_task_id(task_id)
        template = (templates_of(application) if application else templates())[name]
    except (KeyError, ValueError) as error:
        if application:
            tasks = {task.task_id: task for task in load(application=application)}
            if task_id in tasks:
                return tasks[task_id]
            raise TaskError(
                f"the application {application.name} has no task {quote_value(task_id)}: {suggestion(task_id, tasks)}"
            ) from error
        name, _, suffix = task_id.partition("/")
        is_template = name in templates()
        task_ids = [] if is_template else [f"{template}/{suffix or '1000/0'}" for template in templates()]
        hint = suggestion(f"{name}/{suffix or '1000/0'}", task_ids, list_all=False)
        example = "" if hint else f", such as {name if is_template else next(iter(templates()))}/1000/0"
        raise TaskError(
            f"there is no task {quote_value(task_id)}; expected <template>/<world seed>/<draw>{example}{hint and f'; {hint}'}"
        ) from error
    if index < 0:
        raise TaskError(f"the draw of {quote_value(task_id)} is {index}; expected 0 or more")
    try:
        with _Sampling(world_seed, variation, scale) as sampling:
            return sampling.draw_task(template, index)
    except NothingToDraw as error:
        draws = draw([name], world_seed=world_seed, count=1, variation=variation, scale=scale, application=application)
        hint = f"the first that does is {draws[0].task_id}" if draws else "no other draw does either"
        raise TaskError(f"draw {index} of {name} finds nothing to ask for in world {world_seed}; {hint}") from error


def select(
    tasks: str | Path | Sequence[str | Task],
    variation: Variation = "content",
    on_unreadable: OnUnreadable = "raise",
    scale: Scale | None = None,
    application: Application | None = None,
    suite: Suite | None = None,
) -> tuple[Task, ...]:
    """Return the tasks of a file, of one id, or of a list of ids and tasks.

    Args:
        tasks: path of a task file in WebArena's schema, a task id, or a list of task ids and tasks.
        variation: variation of the sites, for ids.
        on_unreadable: treatment of tasks of a file that cannot be read.
        scale: scale of the worlds, for ids; by default that of the template.
        application: your application, for ids of its tasks.
        suite: suite of another project, for ids of its tasks.

    Raises:
        TaskError: for an unknown id, an empty list, or with `on_unreadable="raise"` for tasks that cannot be read.

    """
    if isinstance(tasks, str) and (application or suite or _is_id(tasks)) and not Path(tasks).exists():
        return (find(tasks, variation, scale, application, suite),)
    if isinstance(tasks, str | Path):
        return read_tasks(tasks, on_unreadable)
    app_tasks = {}
    if application and not all(isinstance(task, Task) for task in tasks):
        app_tasks = {task.task_id: task for task in load(application=application)}
    selection = tuple(
        task if isinstance(task, Task) else app_tasks.get(str(task)) or find(str(task), variation, scale, application, suite)
        for task in tasks
    )
    if not selection:
        raise TaskError("tasks is empty; expected at least one task or id")
    return selection


@cache
def _load_split(split: str) -> tuple[Task, ...]:
    return read_tasks(_file(split))


@cache
def _redraw_split(split: str, variation: Variation) -> tuple[Task, ...]:
    """Draw the suite's tasks of a split again with a variation, world by world."""
    known = templates()
    result: list[Task] = []
    for world_seed, tasks in groupby(_load_split(split), key=lambda task: task.world_seed):
        assert world_seed is not None
        with _Sampling(world_seed, variation) as sampling:
            result += [sampling.draw_task(known[task.template], _parse_task_id(task.task_id)[2]) for task in tasks]
    return tuple(result)


def _parse_task_id(task_id: str) -> tuple[str, int, int]:
    """Return the template, the world seed and the draw of a task id. Raises ValueError."""
    name, world, index = task_id.split("/")
    return name, int(world), int(index)


def world_of(task_id: str) -> int | None:
    """Return the seed of the world in a task id; None for an id of another form.

    >>> world_of("shopping.product_price/1000/0")
    1000
    """
    return _parse_task_id(task_id)[1] if _is_id(task_id) else None


def _is_id(text: str) -> bool:
    """Return True if a text has the form of a task id; its template may be unknown."""
    try:
        return "." in _parse_task_id(text)[0]
    except ValueError:
        return False


class _Sampling:
    """Context manager that draws tasks in the worlds of one seed, and closes their databases at the end."""

    def __init__(self, world_seed: int, variation: Variation, scale: Scale | None = None) -> None:
        self._world_seed = world_seed
        self._scale: Scale | None = scale
        self._layout = layout_of(world_seed, variation)
        self._open: dict[Any, Any] = {}  # databases by the scale of the world, or by the function that opens an application's
        self._results: tuple[str, dict[tuple[str, str], list[Row]]] = (
            "",
            {},
        )  # of the queries of the last template, by its name
        self._closing = ExitStack()

    def __enter__(self) -> "_Sampling":
        load_world(self._world_seed)  # raises an error for an invalid seed before the first draw
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def draw_task(self, template: Template, index: int) -> Task:
        """Return draw `index` of a template. Raises NothingToDraw."""
        scale = "standard" if template.databases else self._scale or scale_of(template.name)
        key = template.databases or scale
        if key not in self._open:
            databases = template.databases() if template.databases else closing(load_world(self._world_seed, scale).open())
            self._open[key] = self._closing.enter_context(databases)
        task_id = f"{template.name}/{self._world_seed}/{index}"
        if self._results[0] != template.name:
            self._results = template.name, {}
        sampler = Sampler(self._open[key], Dice(task_id), template.sites[0], self._layout, self._results[1])
        try:
            is_achievable = not self._is_turn(template, index)
            return template.instantiate(sampler, task_id, self._world_seed, scale, is_achievable=is_achievable)
        except NothingToDraw:
            raise
        except Exception as error:  # templates may be user code, so any exception is reported with the name of the template
            frame = traceback.extract_tb(error.__traceback__)[-1]
            reason = f"{type(error).__name__}: {error} ({Path(frame.filename).name}, line {frame.lineno})"
            reason = str(error) if isinstance(error, WebArenaGymError) else reason
            raise TaskError(f"the template {template.name} cannot be drawn in world {self._world_seed}: {reason}") from error
        finally:
            if sampler.planted:
                self._open[key].reset()

    def _is_turn(self, template: Template, index: int) -> bool:
        """Return True if draw `index` of a template is the unachievable one of ten consecutive draws.

        The index of that draw is shifted from template to template, by an offset that depends on the world. So the first draws of ten
        templates include one unachievable task, as do ten draws of one template.
        """
        turn = (
            _turn_offsets().get(template.name, 0) + index + Dice(f"first turn in world {self._world_seed}").randrange(_RARITY)
        )
        return turn % _RARITY == 0

    def draw_tasks(self, template: Template, count: int, longest: int | None = None) -> Iterator[Task]:
        """Yield up to `count` draws with different goals and solutions of at most `longest` steps."""
        intents: set[str] = set()
        index = failures = unachievable = 0
        while len(intents) < count and failures < _MAX_FAILURES:
            try:
                task = self.draw_task(template, index)
            except NothingToDraw:
                task = None
            index += 1
            intent = template.intent.format(**task.instantiation_dict) if task is not None else ""
            is_unachievable = template.unachievable is not None and self._is_turn(template, index - 1)
            is_excess = is_unachievable and unachievable > len(intents) // _RARITY  # if achievable tasks are scarce
            if task is None or intent in intents or is_excess or (longest is not None and len(task.solution) > longest):
                failures += 1
                continue
            failures = 0
            intents.add(intent)
            unachievable += is_unachievable
            yield task
