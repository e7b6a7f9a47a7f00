"""Players of an arena, for tests and benchmarks: clients over real HTTP, and a browser that visits real ports."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from webarena_gym.actions import Kind
from webarena_gym.backends.embedded import follow
from webarena_gym.browsers.base import Browser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.observation import observe
from webarena_gym.pages.page import HostUnknownError, Response
from webarena_gym.sites.catalogue import HOSTS
from webarena_gym.tasks import Step, Task


class Client:
    """Asks an arena in JSON."""

    def __init__(self, url: str, token: str = "", name: str = "") -> None:
        self.url = url
        self.headers = {"Content-Type": "application/json"}
        if token:
            self.headers["Authorization"] = f"Bearer {token}"
        if name:
            self.headers["Host"] = name

    def ask(
        self, method: str, path: str, body: Any = None, *, raw: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """The status and the value of an answer."""
        content = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        answer = request(method, self.url + path, self.headers | dict(headers or {}), content)
        kind = answer.header("Content-Type")
        return answer.status, json.loads(answer.body) if kind == "application/json" else answer.body.decode()

    def well(self, method: str, path: str, body: Any = None) -> Any:
        """The value of an answer that must be a good one."""
        status, value = self.ask(method, path, body)
        assert status in (200, 201), (status, value)
        return value

    def begin(self, **settings: Any) -> Any:
        """A new episode."""
        return self.well("POST", "/episodes", settings)

    def answer(self, episode: Any, answer: str = "", url: str | None = None) -> Any:
        """Judgement of an episode."""
        return self.well("POST", f"/episodes/{episode['id']}/answer", {"answer": answer, "url": url})

    def delete(self, episode: Any) -> Any:
        """Close an episode."""
        return self.well("DELETE", f"/episodes/{episode['id']}")


def request(method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Response:
    """Send one request and return the answer; redirects are the caller's business."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname, parts.port, timeout=60)
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request(method, target, body or None, dict(headers or {}))
        found = connection.getresponse()
        return Response(found.status, found.getheaders(), found.read())
    finally:
        connection.close()


class Sockets:
    """A network of real ports, for the in-process browser."""

    def request(self, method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Response:
        """Send one request. Raises HostUnknownError for one that leads elsewhere."""
        if urlsplit(url).hostname != "127.0.0.1":
            raise HostUnknownError(url)
        return request(method, url, headers, body)


def follow_solution(episode: Any, task: Task, browser: Browser | None = None) -> tuple[str, str]:
    """Do what a reference solution does on the episode's ports; returns the answer and where the browser has ended."""
    browser = browser or InProcessBrowser(Sockets())
    browser.start(episode["start_urls"], {})
    follow(browser, _given(task.solution, episode["addresses"]))
    last = task.solution[-1].action
    return (last.argument or "") if last.kind is Kind.EXIT else "", browser.page().url


BIOGRAPHY = "reddit.biography/1000/0"
"""A task that says what one writes on one's own page."""


def write_biography(episode: Any, text: str) -> None:
    """Do what the task BIOGRAPHY asks for, with another text."""
    browser = InProcessBrowser(Sockets())
    browser.start(episode["start_urls"], {})
    for label, typed in (("nfischer27", None), ("Edit biography", None), ("Biography", text), ("Save", None)):
        element = observe(browser.page(), elements="label").element(label)
        if typed is None:
            browser.click(element)
        else:
            browser.type(element, typed)


def read_biographies(episode: Any) -> set[str]:
    """All words after "Writer" on the page that shows what was written."""
    page = request("GET", f"{episode['addresses']['reddit']}/user/nfischer27").body.decode()
    return set(re.findall(r"Writer (\w+)", page))


def _given(solution: Iterable[Step], addresses: Mapping[str, str]) -> Iterator[Step]:
    """The steps, with the addresses that the player was given in them."""
    for step in solution:
        argument = step.action.argument or ""
        for site, address in addresses.items():
            argument = argument.replace(f"http://{HOSTS[site]}", address)
        yield Step(replace(step.action, argument=argument if step.action.argument is not None else None), step.thought)
