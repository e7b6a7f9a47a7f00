"""Recordings of reference solutions, step by step, which all contenders of a speed benchmark replay."""

from collections.abc import Sequence
from typing import NamedTuple
from unittest.mock import patch
from urllib.parse import urlsplit

from webarena_gym.actions import Kind
from webarena_gym.browsers.http import Client
from webarena_gym.env import WebArenaLite
from webarena_gym.tasks import Expert, Task

USABLE = ("a", "button", "input", "select", "textarea", "label", "summary", "option")
"""Elements that a step may use. A page has them in the same order in every browser, despite differences between parsers."""


class RecordedStep(NamedTuple):
    """An action, as a reply to the env, and for other browsers by the index of its element among the USABLE ones."""

    reply: str
    kind: str
    index: int | None  # None without an element
    argument: str
    loads: bool  # True if it loads a page
    path: str  # of the resulting page, with the query


class Recording(NamedTuple):
    """The steps of a task's reference solution."""

    task_id: str
    start: str  # the path of the first page
    steps: tuple[RecordedStep, ...]


def record(env: WebArenaLite, tasks: Sequence[Task]) -> list[Recording]:
    """Return recordings of the reference solutions of tasks, with replies in the env's naming of elements.

    Raises RuntimeError for a solution that earns no reward.
    """
    recordings = []
    for task in tasks:
        _, info = env.reset(options={"task": task})
        start, steps, expert, done, reward = path_of(info["url"]), [], Expert(task, env.dialect), False, 0.0
        while not done:
            reply = expert.reply(env.page, env.observation)
            action = env.dialect.parse(reply)
            index = None
            if action.element is not None:
                index = list(env.page.root.iter(*USABLE)).index(env.observation.element(action.element))
            with patch.object(Client, "load", autospec=True, side_effect=Client.load) as load:
                _, reward, terminated, truncated, info = env.step(reply)
            argument, path = action.argument or "", path_of(info["url"])
            steps.append(RecordedStep(reply, action.kind.value, index, argument, load.called, path))
            done = terminated or truncated
        if reward != 1:
            raise RuntimeError(f"the reference solution of {task.task_id} earned {reward}")
        recordings.append(Recording(task.task_id, start, tuple(steps)))
    return recordings


def walk_only(recording: Recording) -> Recording:
    """Return a recording without its exit, so that every browser can replay all of its steps."""
    return recording._replace(steps=tuple(step for step in recording.steps if step.kind != Kind.EXIT))


def path_of(url: str) -> str:
    """Return an address without its host and fragment.

    >>> path_of("http://shop.test/search?q=mug#top")
    '/search?q=mug'
    """
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
