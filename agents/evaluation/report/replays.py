"""Episodes played again, to see their pages: equal tasks and equal replies give equal pages, so that rollouts need not keep them."""

from contextlib import ExitStack, closing
from types import TracebackType
from typing import Any, NamedTuple, get_args

import gymnasium
from lxml.html import HtmlElement

from agents.data.trajectories import Trajectory
from agents.evaluation.report.markup import Assets, write_page
from agents.settings import ENV_ID
from webarena_gym.errors import ActionError
from webarena_gym.observation import Elements
from webarena_gym.pages.network import Network
from webarena_gym.sites.layout import Variation, layout_of
from webarena_gym.sites.world import connect, load_world
from webarena_gym.tasks import Task


class Shown(NamedTuple):
    """A page as HTML, and the address that the observation gives to the element which the reply names."""

    html: str
    address: str | None


class Replay(NamedTuple):
    """The pages of an episode: one before each reply, then the last. Where there are fewer, `problem` says why."""

    pages: list[Shown]
    assets: list[str]
    problem: str = ""


class Way(NamedTuple):
    """How an env shows its pages, as far as an episode does not say."""

    elements: Elements
    variation: Variation


WAYS = tuple(Way(elements, variation) for variation in get_args(Variation) for elements in get_args(Elements))


class Replayer:
    """Plays episodes again in envs of its own, as a context manager, and keeps what their pages need in `assets`.

    An episode does not say how its env showed pages: of the ways there are, that is taken which gives its first page.
    """

    def __init__(self, *, window: int) -> None:
        self.assets = Assets()
        self._window = window
        self._envs: dict[Way, gymnasium.Env[str, str]] = {}
        self._networks: dict[tuple[int, Variation], Network] = {}
        self._open = ExitStack()
        self._ways = list(WAYS)  # the one that fitted last comes first

    def __enter__(self) -> "Replayer":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._open.close()

    def replay(self, task: Task, episode: Trajectory) -> Replay:
        """Return the pages of an episode of that task, as far as its own text is seen again."""
        if not episode.steps:
            return Replay([], [], "It has no steps.")
        if task.world_seed is None:
            return Replay([], [], "Its task is of no world that can be drawn here.")
        for way in self._ways:
            info = self._begin(way, task)
            if info["page"] == episode.steps[0].page:
                self._ways.sort(key=lambda other: other != way)
                return self._play(way, task.world_seed, info, episode)
        return Replay([], [], "No env of today shows its first page: the sites have changed since, or their settings differ.")

    def _begin(self, way: Way, task: Task) -> dict[str, Any]:
        if way not in self._envs:
            settings = {"window": self._window, "history": "none", "max_steps": 10**6, **way._asdict()}
            env = gymnasium.make(ENV_ID, tasks=[task], disable_env_checker=True, **settings)
            self._envs[way] = self._open.enter_context(closing(env))
        return self._envs[way].reset(seed=0, options={"task": task})[1]

    def _play(self, way: Way, world_seed: int, info: dict[str, Any], episode: Trajectory) -> Replay:
        env: Any = self._envs[way].unwrapped
        network = self._network(world_seed, way.variation)
        pages: list[Shown] = []
        assets: dict[str, None] = {}
        for reply in (*(step.reply for step in episode.steps), None):
            address, element = _named(env, reply)
            written, keys = write_page(env.page, element, network, self.assets)
            pages.append(Shown(written, address))
            assets.update(dict.fromkeys(keys))
            if reply is None:
                break
            info = env.step(reply)[-1]
            if len(pages) < len(episode.steps) and info["page"] != episode.steps[len(pages)].page:
                return Replay(pages, list(assets), f"From step {len(pages) + 1} on, the env shows other pages today.")
        return Replay(pages, list(assets))

    def _network(self, world_seed: int, variation: Variation) -> Network:
        """Return the sites of a world, good as new, for what is the same in every episode: style sheets and pictures."""
        if (world_seed, variation) not in self._networks:
            databases = self._open.enter_context(closing(load_world(world_seed).open()))
            self._networks[world_seed, variation] = connect(databases, layout_of(world_seed, variation))
        return self._networks[world_seed, variation]


def _named(env: Any, reply: str | None) -> tuple[str | None, HtmlElement | None]:
    """Return the address and the element of the env's page that a reply names, None and None if it names none."""
    try:
        action = env.dialect.parse(reply or "")
        if action.element is None:
            return None, None
        element = env.observation.element(action.element)
    except ActionError:
        return None, None
    nodes = env.observation.nodes
    return next(address for address, node in nodes.items() if node.element is element), element
