"""The backend of the embedded sites, and the database changes that a task requires.

Each task starts in its own copy of a world, which can be saved and restored. The required changes of a task are those of its
reference solution, which is replayed in the same world on first use.
"""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from functools import lru_cache, partial
from typing import NamedTuple

from webarena_gym.arguments import suggestion
from webarena_gym.backends.base import Backend, execute_solution, replay_solution, start_page_errors, start_urls
from webarena_gym.browsers.base import Browser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.changes import Change
from webarena_gym.errors import ActionError, SnapshotError, TaskError
from webarena_gym.pages.page import Network
from webarena_gym.sites.catalogue import SITES, URLS
from webarena_gym.sites.country.dice import Scale
from webarena_gym.sites.kit.database import Snapshot as DatabaseSnapshot
from webarena_gym.sites.layout import Variation, layout_of
from webarena_gym.sites.planting import PlantedRow
from webarena_gym.sites.world import Databases, World, connect, generators, load_world
from webarena_gym.tasks import Task
from webarena_gym.tasks.task import Step


class EmbeddedSnapshot(NamedTuple):
    """The state of the embedded sites and the browser on them."""

    world_seed: int
    generators: str
    variation: Variation
    databases: dict[str, DatabaseSnapshot]
    browser: object
    scale: Scale = "standard"
    planted: tuple[PlantedRow, ...] = ()
    site_errors: tuple[str, ...] = ()


NO_WORLD = (
    "the task {} names no world: set world_seed= (the option --world-seed of commands), or sites= for tasks of real servers"
)
"""Error of a task without a world seed, in an env without one; the field is its id."""


def names_no_world(task: Task) -> bool:
    """Return True for a task of the embedded sites without a world seed."""
    return task.world_seed is None and SITES.keys() >= set(task.sites)


class WorldSpec(NamedTuple):
    """World and site layout of a task."""

    world_seed: int
    variation: Variation
    scale: Scale


class EmbeddedBackend(Backend):
    """The bundled sites in a private copy of a world.

    Args:
        make_browser: makes a browser on the network of an episode.
        world_seed: world of tasks that name none; if None, such tasks raise TaskError.
        variation: how the pages are varied: "content" keeps the standard layout.
        scale: size of the world `world_seed`.

    """

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
        self._current_variation: Variation = variation  # of the open world; a restored snapshot may have another one
        self._open_world: tuple[World, Databases, Network] | None = None
        self._planted: tuple[PlantedRow, ...] = ()

    def enter(self, task: Task) -> str:
        seed, scale = (self._world_seed, self._scale) if task.world_seed is None else (task.world_seed, task.scale)
        if seed is None:
            raise TaskError(NO_WORLD.format(task.task_id))
        unknown = [site for site in task.sites if site not in SITES]
        if unknown:
            raise TaskError(
                f"task {task.task_id}: {unknown[0]!r} is not an embedded site (real servers need sites=); {suggestion(unknown[0], SITES)}"
            )
        with start_page_errors(task):
            self.start_episode(seed, task.start_url, task.sites if task.require_login else (), task.setup, scale)
        if self.browser.has_failed:
            raise TaskError(
                f"the task {task.task_id} begins at {task.start_url!r}, which is not a page of a site;"
                f" expected an address such as '__{task.sites[0].upper()}__/'"
            )
        return task.intent

    def start_episode(
        self,
        world_seed: int,
        start_url: str,
        sites: Iterable[str],
        planted: Sequence[PlantedRow] = (),
        scale: Scale | None = None,
    ) -> None:
        """Reset a world to its initial state with planted rows, and open the start pages, signed in to `sites`."""
        world, databases = self._open(world_seed, self._variation, scale or self._scale)
        self._planted = tuple(planted)
        if planted:
            databases.reset(planted)
        self.cookies = world.cookies(sites)
        self.browser.start(start_urls(start_url, self.urls), self.cookies)

    @property
    def world(self) -> WorldSpec:
        """Seed, layout and scale of the current world. Raises LookupError before the first task."""
        world, *_ = self._require_world()
        return WorldSpec(world.seed, self._current_variation, world.scale)

    @property
    def network(self) -> Network:
        """In-process sites of the current task, for requests that bypass the browser. Raises LookupError before the first task."""
        return self._require_world()[2]

    def changes(self) -> list[Change]:
        """Return the row-level changes since the start of the current task, with rows matched by their meaning."""
        return self._require_world()[1].changes()

    def database(self, site: str) -> sqlite3.Connection:
        return self._require_world()[1][site].connection

    def snapshot(self) -> EmbeddedSnapshot:
        world, databases, _ = self._require_world()
        states = databases.snapshot(), self.browser.snapshot()
        return EmbeddedSnapshot(
            world.seed, generators(), self._current_variation, *states, world.scale, self._planted, tuple(self.site_errors)
        )

    def restore(self, snapshot: object) -> None:
        if not isinstance(snapshot, EmbeddedSnapshot):
            raise SnapshotError(f"expected a snapshot of the embedded sites, got {type(snapshot).__name__}")
        if snapshot.generators != generators():
            raise SnapshotError(
                f"the snapshot of world {snapshot.world_seed} is from a version of webarena-gym that generates different worlds: "
                "restore it with that version"
            )
        _, databases = self._open(snapshot.world_seed, snapshot.variation, snapshot.scale)
        self._planted = snapshot.planted
        databases.restore(snapshot.databases, snapshot.planted)
        self.network.errors[:] = snapshot.site_errors
        self.browser.restore(snapshot.browser)

    def reference_changes(self, task: Task) -> Sequence[Change] | str:
        sites = task.sites if task.require_login else ()
        return _solution_changes(task.solution, task.start_url, sites, *self.world, task.setup)

    def reference_pages(self, task: Task) -> tuple[str, ...]:
        """Return the URLs of the pages that a task's reference solution opens, without the start page; () if it cannot be replayed here."""
        sites = task.sites if task.require_login else ()
        return _solution_pages(task.solution, task.start_url, sites, *self.world, task.setup)

    def close(self) -> None:
        self.discard_browser()
        if self._open_world is not None:
            self._open_world[1].close()
        self._open_world, self.site_errors = None, ()

    def _require_world(self) -> tuple[World, Databases, Network]:
        if self._open_world is None:
            raise LookupError("the backend has no world yet: call enter(task) first")
        return self._open_world

    def _open(self, seed: int, variation: Variation, scale: Scale) -> tuple[World, Databases]:
        """Open a world in its initial state with the layout of `variation`, and a browser on it."""
        if self._open_world is None or self.world != (seed, variation, scale):
            self.close()
            world = load_world(seed, scale)
            databases = world.open()
            self._current_variation = variation
            network = connect(databases, layout_of(seed, variation))
            self._open_world, self.site_errors = (world, databases, network), network.errors
        else:
            world, databases, network = self._open_world
            databases.reset()
        network.errors.clear()
        if self._browser is None:
            self._browser = self._make_browser(network)
        return world, databases


@lru_cache(maxsize=1024)
def _solution_changes(
    solution: tuple[Step, ...], start_url: str, sites: tuple[str, ...], world_seed: int, variation: Variation,
    scale: Scale = "standard", setup: tuple[PlantedRow, ...] = (),
) -> Sequence[Change] | str:  # fmt: skip
    """Return the net changes of a solution replayed with logins to `sites`, or the reason why it cannot be replayed."""
    backend = EmbeddedBackend(InProcessBrowser, variation=variation, scale=scale)
    return replay_solution(backend, partial(backend.start_episode, world_seed, start_url, sites, setup), solution, "a site")


@lru_cache(maxsize=1024)
def _solution_pages(
    solution: tuple[Step, ...], start_url: str, sites: tuple[str, ...], world_seed: int, variation: Variation,
    scale: Scale = "standard", setup: tuple[PlantedRow, ...] = (),
) -> tuple[str, ...]:  # fmt: skip
    """Return the URLs of the pages that a solution opens, without the start page; () if it cannot be replayed."""
    pages: list[str] = []
    with closing(EmbeddedBackend(InProcessBrowser, variation=variation, scale=scale)) as backend:
        backend.start_episode(world_seed, start_url, sites, setup)
        start = backend.browser.page().url
        try:
            execute_solution(backend.browser, solution, pages.append)
        except ActionError:
            return ()
    return tuple(page for page in pages if page != start)
