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

from lxml import html
from lxml.html import HtmlElement

from agents.data.trajectories import Step, Trajectory, action_of
from agents.evaluation.report.sources import cause, mark, outcome, split_reply, task_of
from agents.settings import EnvSettings
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ActionError, BrowserError
from webarena_gym.evaluators.outcome import describe_result
from webarena_gym.pages.page import HostUnknownError, Network, Page
from webarena_gym.sites.layout import Variation, layout_of
from webarena_gym.sites.world import connect, load_world
from webarena_gym.tasks import Task

_BLOCK_OVERHEAD = len('<script type="application/gzip" id=""></script>\n')
_RING_RADIUS = 6  # pixels, of the ring around a click
_REMOVED_TAGS = ("script", "iframe", "frame", "object", "embed", "base")


class ReplayedPage(NamedTuple):
    """A page as HTML and as text, and the address in the observation of the element that the reply names."""

    html: str
    address: str | None
    text: str = ""


class Replay(NamedTuple):
    """The pages of an episode: one before each reply, and the last page. If pages are missing, `problem` explains why."""

    pages: list[ReplayedPage]
    assets: list[str]
    problem: str = ""


class Assets:
    """Distinct style sheets, as text, and images, as data URLs, by a short key."""

    def __init__(self) -> None:
        self.contents: dict[str, str] = {}
        self._keys: dict[tuple[Network, str], str | None] = {}

    def key(self, network: Network, url: str) -> str | None:
        """Return the key of the asset at a URL, or None if the network has no resource there."""
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
    page: Page, target: HtmlElement | None, network: Network, assets: Assets, chances: Mapping[HtmlElement, float] | None = None
) -> tuple[str, list[str]]:
    """Return the page's HTML and the keys of its assets. The page is not changed.

    Args:
        page: The page.
        target: Element that gets the attribute `data-marked`.
        network: Network of the page's assets.
        assets: Collects the assets. Their elements have `data-asset`, the key, instead of a URL.
        chances: Probabilities of actions by element, which are written to `data-chance`.

    """
    root = deepcopy(page.root)
    for element, copy in zip(page.root.iter(), root.iter(), strict=True):
        if element is target:
            copy.set("data-marked", "")
        if chances and element in chances:
            copy.set("data-chance", f"{chances[element]:.4f}")
    keys: dict[str, None] = {}
    for element in list(root.iter(*_REMOVED_TAGS, "link", "img", "meta")):
        if element.tag == "meta" and "http-equiv" not in element.attrib:
            continue
        element.attrib.pop("srcset", None)  # a browser would prefer it to the embedded image
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
    """Return HTML of a screenshot with marked boxes and points, and the key of its asset.

    Args:
        url: The screenshot as a data URL.
        boxes: Left, top, right and bottom of each box, in pixels.
        points: Coordinates of each point, in pixels.
        assets: Collects the screenshot.

    """
    key = blake2b(url.encode(), digest_size=6).hexdigest()
    assets.contents[key] = url
    rings = [(x - _RING_RADIUS, y - _RING_RADIUS, x + _RING_RADIUS, y + _RING_RADIUS) for x, y in points]
    marks = "".join(
        f'<div data-marked style="position: absolute; left: {left}px; top: {top}px; width: {right - left}px; '
        f'height: {bottom - top}px; border-radius: {_RING_RADIUS if points else 0}px"></div>'
        for left, top, right, bottom in (*boxes, *rings)
    )
    return f'<!DOCTYPE html><body style="margin: 0"><img data-asset="{key}" style="display: block">{marks}</body>', key


class Replayer(ExitStack):
    """Context manager that replays episodes, in envs with their recorded settings, and collects their `assets`."""

    def __init__(self) -> None:
        super().__init__()
        self.assets = Assets()
        self._envs: dict[EnvSettings, WebArenaLite] = {}
        self._networks: dict[tuple[int, Variation], Network] = {}

    def replay(self, task: Task, episode: Trajectory) -> Replay:
        """Replay an episode. Returns its pages up to the first difference from the recorded page texts.

        If the file contains no page texts, the replay stops at the first difference in action errors.
        """
        if not episode.steps:
            return Replay([], [], "It has no steps.")
        if task.world_seed is None and not (episode.env and (episode.env.application or episode.env.suite)):
            return Replay([], [], "Its task does not belong to a generated world.")
        if episode.env is None:
            return Replay([], [], "The settings of its env are unknown.")
        # These settings do not affect pages. They have one value, so that episodes share envs.
        settings = replace(episode.env, history="none", thoughts=False, max_steps=10**6)
        if settings not in self._envs:
            self._envs[settings] = self.enter_context(closing(WebArenaLite(tasks=[task], **settings.env_arguments())))
        env = self._envs[settings]
        try:
            observation, info = env.reset(seed=0, options={"task": task})
        except BrowserError as error:
            return Replay([], [], f"Its env cannot be created: {error}")
        if task.world_seed is None or settings.application or settings.suite:
            network = env.network
        else:
            world = task.world_seed, settings.variation
            if world not in self._networks:  # in the initial state, since episodes do not change style sheets and images
                databases = self.enter_context(closing(load_world(task.world_seed).open()))
                self._networks[world] = connect(databases, layout_of(*world))
            network = self._networks[world]
        pages: list[ReplayedPage] = []
        assets: dict[str, None] = {}
        for number, step in enumerate(episode.steps):
            if info["page"] not in step.page and step.page:  # a log may contain more text around the page
                return Replay(pages, list(assets), f"From step {number + 1} on, the current env has different pages.")
            self._add_page(env, observation, info, step, network, pages, assets)
            observation, *_, info = env.step(step.reply)
            if not step.page and info["action_error"] != step.action_error:
                return Replay(pages, list(assets), f"From step {number + 2} on, the current env has different pages.")
        self._add_page(env, observation, info, Step("", ""), network, pages, assets)
        return Replay(pages, list(assets))

    def _add_page(
        self, env: WebArenaLite, observation: str | Mapping[str, Any], info: Mapping[str, Any], step: Step, network: Network, pages: list[ReplayedPage], assets: dict[str, None]
    ) -> None:  # fmt: skip
        """Append the env's page or screenshot to `pages`, with the elements of the reply and the candidates marked."""
        address, element, points = _reply_target(env, step.reply)
        if not isinstance(observation, str):
            number = [*(node.element for node in env.observation.nodes.values()), element].index(element)
            boxes = [row[1:] for row in observation["boxes"].tolist() if row[0] == number]
            page_html, key = write_picture(info["messages"][-1]["content"][-1]["image_url"]["url"], boxes, points, self.assets)
            pages.append(ReplayedPage(page_html, address, info["page"]))
            assets[key] = None
            return
        chances: dict[HtmlElement, float] = {}  # probability of an action on each element, by the candidates
        for candidate in step.candidates:
            if candidate.element is not None:
                with suppress(ActionError):
                    node = env.observation.element(candidate.element)
                    chances[node] = chances.get(node, 0.0) + candidate.probability
        page_html, keys = write_page(env.page, element, network, self.assets, chances)
        pages.append(ReplayedPage(page_html, address, info["page"]))
        assets.update(dict.fromkeys(keys))


def _reply_target(env: WebArenaLite, reply: str) -> tuple[str | None, HtmlElement | None, Sequence[tuple[int, int]]]:
    """Return the address and the element that a reply names, or None and None without one, and the points of its action."""
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
    policies: Mapping[str, Sequence[Trajectory]], rollouts: Mapping[str, Sequence[Trajectory]] | None = None, *, max_bytes: int,
    pages: bool,
) -> tuple[list[dict[str, Any]], dict[str, str], dict[str, EmbeddedCounts]]:  # fmt: skip
    """Return the heads of all episodes, compressed blocks by id, and the numbers of embedded episodes by policy.

    Steps and pages are embedded until `max_bytes` are used: steps first, then pages, for which episodes are replayed. Policies take
    turns, so that the same tasks are embedded for each. `rollouts` of training come last.
    """
    rollouts = rollouts or {}
    items: list[tuple[Task, Trajectory]] = []
    heads: list[dict[str, Any]] = []
    for part in (policies, rollouts):
        columns = [[(name, number, item) for number, item in enumerate(episodes, 1)] for name, episodes in part.items()]
        for name, number, episode in filter(None, chain.from_iterable(zip_longest(*columns))):
            task = task_of(episode)
            items.append((task, episode))
            heads.append({
                "policy": name, "number": number, "task": episode.task_id, "goal": episode.goal, "site": "+".join(task.sites),
                "template": task.template or episode.task_id, "difficulty": list(task.difficulty), "outcome": outcome(episode),
                "cause": cause(episode), "steps": len(episode.steps),
                "errors": sum(bool(step.action_error) for step in episode.steps), "rollout": name in rollouts, "holds": "",
            })  # fmt: skip
    remaining_bytes = max_bytes - len(json.dumps(heads))
    blocks: dict[str, str] = {}
    for index, (_, episode) in enumerate(items):
        episode_blocks = {f"steps-{index}": pack(json.dumps(_steps(episode), ensure_ascii=False))}
        remaining_bytes -= _size(episode_blocks)
        if remaining_bytes < 0:
            break
        heads[index]["holds"] = "steps"
        blocks |= episode_blocks
    with Replayer() as replayer:
        for index, (task, episode) in enumerate(items if pages and remaining_bytes > 0 else ()):
            replay = replayer.replay(task, episode)
            contents = replayer.assets.contents
            episode_blocks = {f"asset-{key}": pack(contents[key]) for key in replay.assets if f"asset-{key}" not in blocks}
            page_records: list[dict[str, Any]] = []
            for page_index, page in enumerate(replay.pages):
                page_records.append({"html": page.html})
                step = episode.steps[page_index] if page_index < len(episode.steps) else None
                if step and not step.page:  # only the replay has its text
                    page_records[-1] |= {"text": page.text, "mark": _span(page.text, page.address)}
                elif step and page.address:
                    page_records[-1]["mark"] = _span(step.page, page.address)
            content = json.dumps({"pages": page_records, "problem": replay.problem}, ensure_ascii=False)
            episode_blocks[f"pages-{index}"] = pack(content)
            remaining_bytes -= _size(episode_blocks)
            if remaining_bytes < 0:
                break
            heads[index]["holds"] = "pages"
            blocks |= episode_blocks
    totals, counts = Counter((head["policy"], head["holds"]) for head in heads), {}
    for name, episodes in {**policies, **rollouts}.items():
        with_pages = totals[name, "pages"]
        counts[name] = EmbeddedCounts(with_pages, with_pages + totals[name, "steps"], len(episodes))
    return heads, blocks, counts


def _size(blocks: Mapping[str, str]) -> int:
    return sum(_BLOCK_OVERHEAD + len(name) + len(content) for name, content in blocks.items())


def pack(text: str) -> str:
    """Compress a text with gzip and encode it as base64, deterministically."""
    return b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


def _steps(episode: Trajectory) -> dict[str, Any]:
    """Return the steps of an episode and its outcome as JSON values."""
    steps = []
    for step in episode.steps:
        thought, action = split_reply(step.reply)
        parsed_action = action_of(step.reply)
        steps.append(
            {
                "text": step.page, "mark": _span(step.page, parsed_action.element if parsed_action else None),
                "thought": thought, "action": action,
                "error": step.action_error, "logprobs": [round(value, 4) for value in step.logprobs],
                "tokens": step.tokens,
                "candidates": [[candidate.action, round(candidate.probability, 4)] for candidate in step.candidates],
                "seconds": [round(step.policy_s, 4), round(step.env_s, 4)],
            }
        )  # fmt: skip
    description: list[str] = []  # sentences
    if episode.failure or episode.verdicts:
        result = {"success": episode.reward == 1, "verdicts": episode.verdicts}
        description = describe_result({"failure": episode.failure} if episode.failure else result)
    verdicts = [dict(verdict) for verdict in episode.verdicts]
    return {"steps": steps, "description": description, "verdicts": verdicts, "failure": episode.failure}


def _span(page: str, address: str | None) -> list[int]:
    """Return start and end of the element with this address in a page text, in UTF-16 units; empty if the text does not contain it."""
    before, element, _ = mark(page, address)
    start = _utf16_units(before)
    return [start, start + _utf16_units(element)] if element else []


def _utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
