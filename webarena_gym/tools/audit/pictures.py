"""Proof that a task needs its pictures: worlds that differ only in pictures have the same texts and another correct solution."""

from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urljoin, urlsplit

from lxml.html import tostring

from webarena_gym.env import WebArenaLite
from webarena_gym.errors import NothingToDraw
from webarena_gym.pages.page import Page
from webarena_gym.sites.layout import Variation, layout_of
from webarena_gym.sites.world import load_world
from webarena_gym.suite import templates
from webarena_gym.tasks import Expert, Task
from webarena_gym.tasks.template import Dice, Sampler

_TRIES = 200  # worlds with other pictures; in most of them the subject of a goal does not occur exactly once
_LINKS = {"a": "href", "img": "src", "form": "action", "iframe": "src", "link": "href", "script": "src"}
_LEAVES = ("logout", "sign_out")


def needs_eyes(task: Task) -> bool:
    """Return True if a task declares that only pictures contain its truth."""
    template = templates().get(task.template)
    return (template is not None and template.needs_eyes) or any(
        ground.operation == "pictured" for ground in task.grounds.values()
    )


def with_other_pictures(task: Task, variation: Variation = "content") -> Task | None:
    """Return a task with the same goal and another truth in a world that differs only in its pictures; None if none is found."""
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


def picture_problems(task: Task, variation: Variation = "content") -> Iterator[str]:
    """Yield the reasons why a task's truth does not depend on its pictures alone.

    The solution is played in parallel with the same actions in a world with other pictures. All visited pages and all pages that they
    link to must be equal byte by byte, pictures must differ, and only the task's own world may give the reward.
    """
    other = with_other_pictures(task, variation)
    if other is None:
        yield "no other pictures change the truth of its goal"
        return
    with (
        WebArenaLite(tasks=[task], variation=variation, max_steps=60) as one,
        WebArenaLite(tasks=[other], variation=variation, max_steps=60) as two,
    ):
        results, expert = [one.reset(), two.reset()], Expert(task, one.dialect)
        urls: dict[str, None] = {}
        done, rewards = False, [0.0, 0.0]
        while not done:
            if results[0] != results[1] or tostring(one.page.root) != tostring(two.page.root):
                yield f"the text of {one.page.url} changes with the pictures"
                return
            urls |= dict.fromkeys(_linked_urls(one.page))
            reply = expert.reply(one.page, one.observation)
            steps = [env.step(reply) for env in (one, two)]
            results = [(text, info) for text, *_, info in steps]
            rewards = [float(step[1]) for step in steps]
            done = steps[0][2] or steps[0][3]
        if rewards != [1.0, 0.0]:
            yield f"its solution earns {rewards[0]}, and with other pictures {rewards[1]}; expected 1.0 and 0.0"
        differing = 0
        for url in urls:
            host = urlsplit(url).netloc
            if host in one.network.hosts and not any(word in url for word in _LEAVES):
                cookies = {"Cookie": "; ".join(f"{name}={value}" for name, value in one.cookies.get(host, {}).items())}
                first, second = (env.network.request("GET", url, cookies) for env in (one, two))
                if ("Content-Type", "image/png") in first.headers:
                    differing += first.body != second.body
                elif first != second:
                    yield f"the text of {url} changes with the pictures"
        if not differing:
            yield "none of the pictures on its pages differ"


def _linked_urls(page: Page) -> Iterator[str]:
    """Yield the URL of a page and the URLs that it links to."""
    yield page.url
    for element in page.root.iter(*_LINKS):
        link = element.get(_LINKS[element.tag])
        if link:
            yield urljoin(page.url, link).partition("#")[0]
