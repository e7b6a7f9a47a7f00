"""Proof that no text tells what pictures show: worlds that differ in their pictures alone read the same, and other acts are right in them."""

from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urljoin, urlsplit

from lxml.html import tostring

from webarena_gym.env import WebArenaLite
from webarena_gym.errors import NothingToDraw
from webarena_gym.pages.page import Page
from webarena_gym.sites.layout import Variation, layout_of
from webarena_gym.sites.world import load_world
from webarena_gym.tasks import Expert, Task, templates
from webarena_gym.tasks.template import Dice, Sampler

_TRIES = 200  # worlds of other pictures; in most of them, what a goal is about is not there once
_LINKS = {"a": "href", "img": "src", "form": "action", "iframe": "src", "link": "href", "script": "src"}
_LEAVES = ("logout", "sign_out")


def needs_eyes(task: Task) -> bool:
    """Say whether a task claims that its truth stands in pictures alone."""
    template = templates().get(task.template)
    return (template is not None and template.needs_eyes) or any(each.operation == "pictured" for each in task.grounds.values())


def repainted(task: Task, variation: Variation = "content") -> Task | None:
    """Return a task with the same goal and another truth, where nothing but the pictures differs; None where none is found."""
    if task.template not in templates() or task.world_seed is None:
        return None
    template, layout = templates()[task.template], layout_of(task.world_seed, variation)
    with closing(load_world(task.world_seed, task.scale).open()) as databases:
        for salt in range(_TRIES):
            sampler = Sampler(databases, Dice(task.task_id), template.sites[0], layout)
            sampler.plant("world", key="pictures", value=f"other {salt}")
            try:
                other = template.instantiate(sampler, task.task_id, task.world_seed, task.scale)
            except NothingToDraw:
                continue
            finally:
                databases.reset()
            if other.intent == task.intent and other.eval != task.eval:
                return other
    return None


def told(task: Task, variation: Variation = "content") -> Iterator[str]:
    """Yield what texts tell of the pictures of a task, and why its truth is not theirs.

    The solution is done beside the same acts among other pictures. All pages that it sees, and all that they link to, must be equal byte
    by byte, pictures must differ, and the reward must be earned among its own pictures alone.
    """
    other = repainted(task, variation)
    if other is None:
        yield "other pictures give its goal no other truth"
        return
    with (
        WebArenaLite(tasks=[task], variation=variation, max_steps=60) as one,
        WebArenaLite(tasks=[other], variation=variation, max_steps=60) as two,
    ):
        seen, expert = [one.reset(), two.reset()], Expert(task, one.dialect)
        addresses: dict[str, None] = {}
        done, rewards = False, [0.0, 0.0]
        while not done:
            if seen[0] != seen[1] or tostring(one.page.root) != tostring(two.page.root):
                yield f"{one.page.url} reads otherwise where the pictures are others"
                return
            addresses |= dict.fromkeys(_addresses(one.page))
            reply = expert.reply(one.page, one.observation)
            steps = [env.step(reply) for env in (one, two)]
            seen = [(text, info) for text, *_, info in steps]
            rewards = [float(step[1]) for step in steps]
            done = steps[0][2] or steps[0][3]
        if rewards != [1.0, 0.0]:
            yield f"its solution earns {rewards[0]}, and among other pictures {rewards[1]}"
        differing = 0
        for address in addresses:
            host = urlsplit(address).netloc
            if host in one.network.hosts and not any(word in address for word in _LEAVES):
                cookies = {"Cookie": "; ".join(f"{name}={value}" for name, value in one.cookies.get(host, {}).items())}
                first, second = (env.network.request("GET", address, cookies) for env in (one, two))
                if ("Content-Type", "image/png") in first.headers:
                    differing += first.body != second.body
                elif first != second:
                    yield f"{address} reads otherwise where the pictures are others"
        if not differing:
            yield "its pages have no pictures that differ"


def _addresses(page: Page) -> Iterator[str]:
    """Yield the address of a page, and those that it links to."""
    yield page.url
    for element in page.root.iter(*_LINKS):
        address = element.get(_LINKS[element.tag])
        if address:
            yield urljoin(page.url, address).partition("#")[0]
