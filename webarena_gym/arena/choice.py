"""Which task an episode plays: the one that is named, or one that is drawn as the env draws it."""

from contextlib import suppress
from functools import lru_cache

from gymnasium.utils.seeding import np_random

from webarena_gym.arena.schema import NewEpisode
from webarena_gym.errors import ArenaError, TaskError
from webarena_gym.sites.catalogue import DATABASES
from webarena_gym.sites.country.scales import Scale
from webarena_gym.sites.world import is_seed, load_world
from webarena_gym.tasks import SPLITS, Task, find, load, scale_of, templates


def choose(settings: NewEpisode) -> Task:
    """Return the task of an episode. Raises ArenaError for one that there is not."""
    tasks = prepare(settings)
    random, _ = np_random(settings.seed)
    return tasks[int(random.integers(len(tasks)))]


def prepare(settings: NewEpisode) -> tuple[Task, ...]:
    """Return the tasks that an episode is drawn from. New worlds are built and drawn from, a second or two for each.

    May be called while episodes are played. Raises ArenaError for a task that there is not.
    """
    if settings.task is None:
        for seed in SPLITS[settings.split].worlds if settings.world_seed is None else (settings.world_seed,):
            _build(seed, settings.scale or SPLITS[settings.split].scale)
        return _drawn(settings.split, settings.world_seed, settings.variation, settings.scale)
    template, *rest = settings.task.split("/")
    with suppress(IndexError, ValueError):  # it is refused when it is looked for
        if template in templates() and is_seed(int(rest[0])):
            _build(int(rest[0]), settings.scale or scale_of(template))
    try:
        return (_found(settings.task, settings.variation, settings.scale),)
    except TaskError as error:
        raise ArenaError(str(error), status=422, at="body.task", value=settings.task, expected="the id of a task") from error


def _build(world_seed: int, scale: Scale) -> None:
    for name in DATABASES:
        load_world(world_seed, scale).prepare(name)


_drawn = lru_cache(maxsize=32)(load)
_found = lru_cache(maxsize=1024)(find)
