"""Episodes in the report: a head for the lists, and compressed blocks that the page reads when an episode is opened.

Trajectories store no HTML: their replies are played again to get the pages, which become self-contained.
"""

import gzip
import json
from base64 import b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from copy import deepcopy
from dataclasses import replace
from hashlib import blake2b
from itertools import chain, zip_longest
from typing import Any, NamedTuple
from urllib.parse import urljoin

import gymnasium
from lxml import html
from lxml.html import HtmlElement

from agents.data.trajectories import Step, Trajectory, action_of
from agents.evaluation.report.sources import cause, mark, outcome, split_reply, task_of
from agents.settings import ENV_ID, EnvSettings
from webarena_gym.errors import ActionError, BrowserError
from webarena_gym.evaluators.outcome import describe_result
from webarena_gym.pages.page import HostUnknownError, Network, Page
from webarena_gym.sites.layout import Variation, layout_of
from webarena_gym.sites.world import connect, load_world
from webarena_gym.tasks import Task

_FRAME = len('<script type="application/gzip" id=""></script>\n')
_RING = 6  # pixels from the place of a click to the ring around it
_LEFT_OUT = ("script", "iframe", "frame", "object", "embed", "base")


class ShownPage(NamedTuple):
    """A page as HTML and as text, and the address that the observation gives to the element which the reply names."""

    html: str
    address: str | None
    text: str = ""


class Replay(NamedTuple):
    """The pages of an episode: one before each reply, then the last. Where there are fewer, `problem` says why."""

    pages: list[ShownPage]
    assets: list[str]
    problem: str = ""


class Assets:
    """Style sheets, as text, and pictures, as data URLs, each kept once under a short key."""

    def __init__(self) -> None:
        self.contents: dict[str, str] = {}
        self._keys: dict[tuple[Network, str], str | None] = {}

    def key(self, network: Network, url: str) -> str | None:
        """Return the key of what a site of the network has there; None if it has nothing."""
        if (network, url) in self._keys:
            return self._keys[network, url]
        key = None
        with suppress(HostUnknownError):
            response = network.request("GET", url)
            kind, body = response.header("Content-Type").partition(";")[0], response.body
            if response.status == 200:
                content = body.decode() if kind == "text/css" else f"data:{kind};base64,{b64encode(body).decode()}"
                key = blake2b(content.encode(), digest_size=6).hexdigest()
                self.contents[key] = content
        self._keys[network, url] = key
        return key


def write_page(
    page: Page, marked: HtmlElement | None, network: Network, assets: Assets, chances: Mapping[HtmlElement, float] | None = None
) -> tuple[str, list[str]]:
    """Return the page's HTML and the keys of its assets, which `data-asset` names in place of addresses.

    The marked element has the attribute `data-marked`, and those with a chance to be acted on have it in `data-chance`. The page itself
    stays as it is.
    """
    root = deepcopy(page.root)
    for original, copied in zip(page.root.iter(), root.iter(), strict=True):
        if original is marked:
            copied.set("data-marked", "")
        if chances and original in chances:
            copied.set("data-chance", f"{chances[original]:.4f}")
    keys: dict[str, None] = {}
    for element in list(root.iter(*_LEFT_OUT, "link", "img", "meta")):
        if element.tag == "meta" and "http-equiv" not in element.attrib:
            continue
        element.attrib.pop("srcset", None)  # or a browser would take it for the picture, and has it not
        source = element.attrib.pop("src" if element.tag == "img" else "href", "")
        sheet = element.tag == "link" and "stylesheet" in element.get("rel", "").lower().split()
        key = assets.key(network, urljoin(page.url, source)) if source and (sheet or element.tag == "img") else None
        if key is not None:
            element.set("data-asset", key)
            keys[key] = None
        elif element.tag != "img":
            element.drop_tree()
    return html.tostring(root, encoding="unicode", doctype="<!DOCTYPE html>"), list(keys)


def write_picture(
    url: str, boxes: Sequence[Sequence[int]], points: Sequence[tuple[int, int]], assets: Assets
) -> tuple[str, str]:
    """Return HTML that shows a picture, with these boxes and places marked, and the key of its asset."""
    key = blake2b(url.encode(), digest_size=6).hexdigest()
    assets.contents[key] = url
    rings = [(x - _RING, y - _RING, x + _RING, y + _RING) for x, y in points]
    marks = "".join(
        f'<div data-marked style="position: absolute; left: {left}px; top: {top}px; width: {right - left}px; '
        f'height: {bottom - top}px; border-radius: {_RING if points else 0}px"></div>'
        for left, top, right, bottom in (*boxes, *rings)
    )
    return f'<!DOCTYPE html><body style="margin: 0"><img data-asset="{key}" style="display: block">{marks}</body>', key


class Replayer(ExitStack):
    """Context manager that replays episodes, in envs with their recorded settings, and collects their `assets`."""

    def __init__(self) -> None:
        super().__init__()
        self.assets = Assets()
        self._envs: dict[EnvSettings, gymnasium.Env[str, str]] = {}
        self._networks: dict[tuple[int, Variation], Network] = {}

    def replay(self, task: Task, episode: Trajectory) -> Replay:
        """Replay an episode. Returns its pages up to the first difference from the recorded page texts.

        If the file contains no page texts, the replay stops at the first difference in action errors.
        """
        if not episode.steps:
            return Replay([], [], "It has no steps.")
        if task.world_seed is None and not (episode.env and episode.env.application):
            return Replay([], [], "Its task is of no world that can be drawn here.")
        if episode.env is None:
            return Replay([], [], "Its env showed pages in a way that is not known here.")
        # What follows changes no page: the history, and a limit that no episode reaches.
        settings = replace(episode.env, history="none", thoughts=False, max_steps=10**6)
        if settings not in self._envs:
            made = gymnasium.make(ENV_ID, tasks=[task], disable_env_checker=True, **settings.env_arguments())
            self._envs[settings] = self.enter_context(closing(made))
        env: Any = self._envs[settings].unwrapped
        try:
            observation, info = env.reset(seed=0, options={"task": task})
        except BrowserError as error:
            return Replay([], [], f"Its env cannot be made here: {error}")
        if task.world_seed is None or settings.application:
            network: Network = env.network
        else:
            world = task.world_seed, settings.variation
            if world not in self._networks:  # in its first state, for what no episode changes: style sheets and pictures
                databases = self.enter_context(closing(load_world(task.world_seed).open()))
                self._networks[world] = connect(databases, layout_of(*world))
            network = self._networks[world]
        pages: list[ShownPage] = []
        assets: dict[str, None] = {}
        for number, step in enumerate(episode.steps):
            if info["page"] not in step.page and step.page:  # a log may have more around a page
                return Replay(pages, list(assets), f"From step {number + 1} on, the env shows other pages today.")
            self._show(env, observation, info, step, network, pages, assets)
            observation, *_, info = env.step(step.reply)
            if not step.page and info["action_error"] != step.action_error:
                return Replay(pages, list(assets), f"From step {number + 2} on, the env shows other pages today.")
        self._show(env, observation, info, Step("", ""), network, pages, assets)
        return Replay(pages, list(assets))

    def _show(
        self, env: Any, observation: Any, info: Mapping[str, Any], step: Step, network: Network, pages: list[ShownPage], assets: dict[str, None]
    ) -> None:  # fmt: skip
        """Add the env's page, with the element marked that the reply names, and those of the step's candidates; or its picture."""
        address, element, points = _named(env, step.reply)
        if not isinstance(observation, str):
            number = [*(node.element for node in env.observation.nodes.values()), element].index(element)
            boxes = [row[1:] for row in observation["boxes"].tolist() if row[0] == number]
            written, key = write_picture(info["messages"][-1]["content"][-1]["image_url"]["url"], boxes, points, self.assets)
            pages.append(ShownPage(written, address, info["page"]))
            assets[key] = None
            return
        chances: dict[HtmlElement, float] = {}  # that the action is done on an element, of those that candidates name
        for candidate in step.candidates:
            if candidate.element is not None:
                with suppress(ActionError):
                    place = env.observation.element(candidate.element)
                    chances[place] = chances.get(place, 0.0) + candidate.probability
        written, keys = write_page(env.page, element, network, self.assets, chances)
        pages.append(ShownPage(written, address, info["page"]))
        assets.update(dict.fromkeys(keys))


def _named(env: Any, reply: str) -> tuple[str | None, HtmlElement | None, Sequence[tuple[int, int]]]:
    """Return the address and the element of the env's page that a reply names, or None and None if it names none; and its places."""
    try:
        action = env.dialect.parse(reply)
        if action.element is None:
            return None, None, action.points or ()
        element = env.observation.element(action.element)
    except ActionError:
        return None, None, ()
    nodes = env.observation.nodes
    return next(address for address, node in nodes.items() if node.element is element), element, ()


class EmbeddedCounts(NamedTuple):
    """Numbers of a policy's episodes in the report: with pages, with steps, and in total. All episodes are listed."""

    pages: int
    steps: int
    episodes: int


def pack_episodes(
    policies: Mapping[str, Sequence[Trajectory]], rollouts: Mapping[str, Sequence[Trajectory]] | None = None, *, room: int,
    pages: bool,
) -> tuple[list[dict[str, Any]], dict[str, str], dict[str, EmbeddedCounts]]:  # fmt: skip
    """Return the heads of all episodes, compressed blocks by id, and the numbers of embedded episodes by policy.

    Steps and pages are embedded until `room` bytes are used: steps first, then pages, for which episodes are replayed. Policies take
    turns, so that the same tasks are embedded for each. `rollouts` of training come last.
    """
    rollouts = rollouts or {}
    items: list[tuple[Task, Trajectory]] = []
    heads: list[dict[str, Any]] = []
    for part in (policies, rollouts):
        columns = [[(name, number, item) for number, item in enumerate(own, 1)] for name, own in part.items()]
        for name, number, episode in filter(None, chain.from_iterable(zip_longest(*columns))):
            task = task_of(episode)
            items.append((task, episode))
            heads.append({
                "policy": name, "number": number, "task": episode.task_id, "goal": episode.goal, "site": "+".join(task.sites),
                "template": task.template or episode.task_id, "difficulty": list(task.difficulty), "outcome": outcome(episode),
                "cause": cause(episode), "steps": len(episode.steps),
                "errors": sum(bool(step.action_error) for step in episode.steps), "rollout": name in rollouts, "holds": "",
            })  # fmt: skip
    room -= len(json.dumps(heads))
    blocks: dict[str, str] = {}
    for index, (_, episode) in enumerate(items):
        packed = {f"steps-{index}": pack(json.dumps(_steps(episode), ensure_ascii=False))}
        room -= _size(packed)
        if room < 0:
            break
        heads[index]["holds"] = "steps"
        blocks |= packed
    with Replayer() as replayer:
        for index, (task, episode) in enumerate(items if pages and room > 0 else ()):
            replay = replayer.replay(task, episode)
            contents = replayer.assets.contents
            packed = {f"asset-{key}": pack(contents[key]) for key in replay.assets if f"asset-{key}" not in blocks}
            page_records: list[dict[str, Any]] = []
            for place, page in enumerate(replay.pages):
                page_records.append({"html": page.html})
                step = episode.steps[place] if place < len(episode.steps) else None
                if step and not step.page:  # only the replay knows its text
                    page_records[-1] |= {"text": page.text, "mark": _span(page.text, page.address)}
                elif step and page.address:
                    page_records[-1]["mark"] = _span(step.page, page.address)
            packed[f"pages-{index}"] = pack(json.dumps({"pages": page_records, "problem": replay.problem}, ensure_ascii=False))
            room -= _size(packed)
            if room < 0:
                break
            heads[index]["holds"] = "pages"
            blocks |= packed
    held, shown = Counter((head["policy"], head["holds"]) for head in heads), {}
    for name, episodes in {**policies, **rollouts}.items():
        whole = held[name, "pages"]
        shown[name] = EmbeddedCounts(whole, whole + held[name, "steps"], len(episodes))
    return heads, blocks, shown


def _size(blocks: Mapping[str, str]) -> int:
    return sum(_FRAME + len(name) + len(content) for name, content in blocks.items())


def pack(text: str) -> str:
    """Compress a text with gzip and encode it as base64, deterministically."""
    return b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


def _steps(episode: Trajectory) -> dict[str, Any]:
    """Return the steps of an episode and its outcome as JSON values."""
    steps = []
    for step in episode.steps:
        thought, action = split_reply(step.reply)
        done = action_of(step.reply)
        steps.append(
            {
                "text": step.page, "mark": _span(step.page, done.element if done else None),
                "thought": thought, "action": action,
                "error": step.action_error, "logprobs": [round(value, 4) for value in step.logprobs],
                "tokens": step.tokens,
                "candidates": [[each.action, round(each.probability, 4)] for each in step.candidates],
                "seconds": [round(step.policy_s, 4), round(step.env_s, 4)],
            }
        )  # fmt: skip
    ending: list[str] = []  # sentences for the reader
    if episode.failure or episode.verdicts:
        ended = {"success": episode.reward == 1, "verdicts": episode.verdicts}
        ending = describe_result({"failure": episode.failure} if episode.failure else ended)
    verdicts = [dict(verdict) for verdict in episode.verdicts]
    return {"steps": steps, "told": ending, "verdicts": verdicts, "failure": episode.failure}


def _span(page: str, address: str | None) -> list[int]:
    """Return start and end of the element with this address in a page text, in UTF-16 units; empty if the text does not contain it."""
    before, marked, _ = mark(page, address)
    start = _units(before)
    return [start, start + _units(marked)] if marked else []


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
