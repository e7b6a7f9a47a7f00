"""Replays: play an episode's replies again to get its pages as HTML, which trajectories do not store."""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from types import TracebackType
from typing import Any, NamedTuple

import gymnasium
from lxml.html import HtmlElement

from agents.data.trajectories import Candidate, Step, Trajectory
from agents.evaluation.report.markup import Assets, write_page
from agents.settings import ENV_ID, EnvSettings
from webarena_gym.errors import ActionError
from webarena_gym.pages.network import Network
from webarena_gym.sites.layout import Variation, layout_of
from webarena_gym.sites.world import connect, load_world
from webarena_gym.tasks import Task


class Shown(NamedTuple):
    """A page as HTML and as text, and the address that the observation gives to the element which the reply names."""

    html: str
    address: str | None
    text: str = ""


class Replay(NamedTuple):
    """The pages of an episode: one before each reply, then the last. Where there are fewer, `problem` says why."""

    pages: list[Shown]
    assets: list[str]
    problem: str = ""


class Replayer:
    """Plays episodes again in envs of its own, as a context manager, and keeps what their pages need in `assets`.

    The envs have the settings that the episode names.
    """

    def __init__(self) -> None:
        self.assets = Assets()
        self._envs: dict[EnvSettings, gymnasium.Env[str, str]] = {}
        self._networks: dict[tuple[int, Variation], Network] = {}
        self._open = ExitStack()

    def __enter__(self) -> "Replayer":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._open.close()

    def replay(self, task: Task, episode: Trajectory) -> Replay:
        """Return the pages of an episode of that task, as far as they show the text that the episode recorded.

        Of a file without the text of pages, as far as the env answers each action as it did.
        """
        if not episode.steps:
            return Replay([], [], "It has no steps.")
        if task.world_seed is None:
            return Replay([], [], "Its task is of no world that can be drawn here.")
        if episode.env is None:
            return Replay([], [], "Its env showed pages in a way that is not known here.")
        # What follows changes no page: the history, and a limit that no episode reaches.
        settings = replace(episode.env, history="none", thoughts=False, max_steps=10**6)
        if settings not in self._envs:
            env = gymnasium.make(ENV_ID, tasks=[task], disable_env_checker=True, **settings.env_arguments())
            self._envs[settings] = self._open.enter_context(closing(env))
        return self._play(self._envs[settings], self._network(task.world_seed, settings.variation), task, episode)

    def _play(self, made: gymnasium.Env[str, str], network: Network, task: Task, episode: Trajectory) -> Replay:
        env: Any = made.unwrapped
        _, info = env.reset(seed=0, options={"task": task})
        pages: list[Shown] = []
        assets: dict[str, None] = {}
        for number, step in enumerate(episode.steps):
            if info["page"] not in step.page and step.page:  # a log may have more around a page
                return Replay(pages, list(assets), f"From step {number + 1} on, the env shows other pages today.")
            self._show(env, info["page"], step, network, pages, assets)
            info = env.step(step.reply)[-1]
            if not step.page and info["action_error"] != step.action_error:
                return Replay(pages, list(assets), f"From step {number + 2} on, the env shows other pages today.")
        self._show(env, info["page"], Step("", ""), network, pages, assets)
        return Replay(pages, list(assets))

    def _show(self, env: Any, text: str, step: Step, network: Network, pages: list[Shown], assets: dict[str, None]) -> None:
        """Add the env's page, with the element marked that the reply names, and those of the step's candidates."""
        address, element = _named(env, step.reply)
        written, keys = write_page(env.page, element, network, self.assets, _chances(env, step.candidates))
        pages.append(Shown(written, address, text))
        assets.update(dict.fromkeys(keys))

    def _network(self, world_seed: int, variation: Variation) -> Network:
        """Return the sites of a world in their first state, for what no episode changes: style sheets and pictures."""
        if (world_seed, variation) not in self._networks:
            databases = self._open.enter_context(closing(load_world(world_seed).open()))
            self._networks[world_seed, variation] = connect(databases, layout_of(world_seed, variation))
        return self._networks[world_seed, variation]


def _chances(env: Any, candidates: Sequence[Candidate]) -> dict[HtmlElement, float]:
    """Return the probability that the action is done on an element of the env's page, of those that candidates name."""
    chances: dict[HtmlElement, float] = {}
    for candidate in candidates:
        if candidate.element is None:
            continue
        try:
            element = env.observation.element(candidate.element)
        except ActionError:
            continue
        chances[element] = chances.get(element, 0.0) + candidate.probability
    return chances


def _named(env: Any, reply: str) -> tuple[str | None, HtmlElement | None]:
    """Return the address and the element of the env's page that a reply names, or None and None if it names none."""
    try:
        action = env.dialect.parse(reply)
        if action.element is None:
            return None, None
        element = env.observation.element(action.element)
    except ActionError:
        return None, None
    nodes = env.observation.nodes
    return next(address for address, node in nodes.items() if node.element is element), element
