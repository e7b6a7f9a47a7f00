"""The embedded sites as the backend of an env, and the database changes that a task needs.

Each task begins in its own copy of a world, which can be saved and restored. The changes that a task needs are those of its reference
solution, which is replayed in the same world when first asked for.
"""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from webarena_gym.backends.base import Backend, changes_of, first_pages, opening
from webarena_gym.browsers.base import Browser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.changes import Change
from webarena_gym.errors import SnapshotError, TaskError
from webarena_gym.pages.page import Network
from webarena_gym.sites.catalogue import SITES, URLS
from webarena_gym.sites.country.dice import Scale
from webarena_gym.sites.kit.database import Snapshot as DatabaseSnapshot
from webarena_gym.sites.layout import Variation, layout_of
from webarena_gym.sites.planting import Planted
from webarena_gym.sites.world import Databases, World, connect, generators, load_world
from webarena_gym.tasks import Task
from webarena_gym.tasks.task import Step


class EmbeddedSnapshot(NamedTuple):
    """The state of the embedded sites and the browser on them."""

    world_seed: int
    generators: str
    variation: Variation
    databases: dict[str, DatabaseSnapshot]
    browser: Any
    scale: Scale = "standard"
    planted: tuple[Planted, ...] = ()
    site_errors: tuple[str, ...] = ()


class Place(NamedTuple):
    """The world in which a task is done, and the layout of its sites."""

    world_seed: int
    variation: Variation
    scale: Scale


class EmbeddedBackend(Backend):
    """The sites that ship with the package, in a world of one's own; `world_seed` and `scale` are of tasks that name no world."""

    is_embedded = True
    urls = URLS

    def __init__(
        self,
        make_browser: Callable[[Network], Browser],
        world_seed: int | None = None,
        variation: Variation = "content",
        scale: Scale = "standard",
    ) -> None:
        self._make_browser = make_browser
        self._world_seed = world_seed
        self._variation: Variation = variation
        self._scale: Scale = scale
        self._built: Variation = variation  # how the sites of the world that is open are built
        self._opened: tuple[World, Databases, Network] | None = None
        self._planted: tuple[Planted, ...] = ()

    def enter(self, task: Task) -> str:
        seed, scale = (self._world_seed, self._scale) if task.world_seed is None else (task.world_seed, task.scale)
        if seed is None:
            raise TaskError("the task names no world; give world_seed=, or sites= for tasks of real servers")
        unknown = [site for site in task.sites if site not in SITES]
        if unknown:
            raise TaskError(f"task {task.task_id}: {unknown[0]!r} is none of the embedded sites; give its URL in sites=")
        with opening(task):
            self.begin(seed, task.start_url, task.sites if task.require_login else (), task.setup, scale)
        if self.browser.has_failed:
            raise TaskError(f"the task {task.task_id} begins at {task.start_url!r}, where no site is")
        return task.intent

    def begin(
        self, world_seed: int, start_url: str, sites: Iterable[str], planted: Sequence[Planted] = (), scale: Scale | None = None
    ) -> None:
        """Bring a world to its beginning, with planted rows, and open pages on it, signed in to some sites."""
        world, databases = self._open(world_seed, self._variation, scale or self._scale)
        self._planted = tuple(planted)
        if planted:
            databases.reset(planted)
        self.cookies = world.cookies(sites)
        self.browser.start(first_pages(start_url, self.urls), self.cookies)

    @property
    def world(self) -> Place:
        """The current world, and how its sites are built. Raises LookupError before the first task."""
        world, *_ = self._entered()
        return Place(world.seed, self._built, world.scale)

    @property
    def network(self) -> Network:
        """The sites of the current task, to be called beside the browser. Raises LookupError before the first task."""
        return self._entered()[2]

    def changes(self) -> list[Change]:
        """Return what differs from the beginning of the current task by its meaning, row by row."""
        return self._entered()[1].changes()

    def database(self, site: str) -> sqlite3.Connection:
        return self._entered()[1][site].connection

    def snapshot(self) -> EmbeddedSnapshot:
        world, databases, _ = self._entered()
        saved = databases.snapshot(), self.browser.snapshot()
        return EmbeddedSnapshot(
            world.seed, generators(), self._built, *saved, world.scale, self._planted, tuple(self.site_errors)
        )

    def restore(self, snapshot: Any) -> None:
        if not isinstance(snapshot, EmbeddedSnapshot):
            raise SnapshotError(f"expected a snapshot of the embedded sites, got {type(snapshot).__name__}")
        if snapshot.generators != generators():
            raise SnapshotError(f"the snapshot is of a world {snapshot.world_seed} as another version of this package draws it")
        _, databases = self._open(snapshot.world_seed, snapshot.variation, snapshot.scale)
        self._planted = snapshot.planted
        databases.restore(snapshot.databases, snapshot.planted)
        self.network.errors[:] = snapshot.site_errors
        self.browser.restore(snapshot.browser)

    def replay(self, task: Task) -> Sequence[Change] | str:
        sites = task.sites if task.require_login else ()
        return _replayed(task.solution, task.start_url, sites, *self.world, task.setup)

    def close(self) -> None:
        self.abandon()
        if self._opened is not None:
            self._opened[1].close()
        self._opened, self.site_errors = None, ()

    def _entered(self) -> tuple[World, Databases, Network]:
        if self._opened is None:
            raise LookupError("no task has been entered")
        return self._opened

    def _open(self, seed: int, variation: Variation, scale: Scale) -> tuple[World, Databases]:
        """Open a world, good as new, its sites built as the variation says, and a browser on it."""
        if self._opened is None or self.world != (seed, variation, scale):
            self.close()
            world = load_world(seed, scale)
            databases = world.open()
            self._built = variation
            network = connect(databases, layout_of(seed, variation))
            self._opened, self.site_errors = (world, databases, network), network.errors
        else:
            world, databases, network = self._opened
            databases.reset()
        network.errors.clear()
        if self._browser is None:
            self._browser = self._make_browser(network)
        return world, databases


@lru_cache(maxsize=1024)
def _replayed(
    solution: tuple[Step, ...], start_url: str, sites: tuple[str, ...], world_seed: int, variation: Variation,
    scale: Scale = "standard", setup: tuple[Planted, ...] = (),
) -> Sequence[Change] | str:  # fmt: skip
    """Return the net changes of a solution, or why it cannot be replayed; sites are those to be signed in to."""
    backend = EmbeddedBackend(InProcessBrowser, variation=variation, scale=scale)
    return changes_of(backend, partial(backend.begin, world_seed, start_url, sites, setup), solution, "a site")
