"""Players of an arena, for tests and benchmarks: clients over real HTTP, and a browser that visits real ports."""

import asyncio
import json
import re
import threading
from contextlib import contextmanager
from dataclasses import replace
from http.client import HTTPConnection
from urllib.parse import urlsplit

from webarena_gym.actions import Kind
from webarena_gym.arena.server import opened
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.network import HostUnknownError, Response
from webarena_gym.observation import observe
from webarena_gym.reference import follow
from webarena_gym.sites.world import HOSTS
from webarena_gym.tasks import Step


class Client:
    """Asks an arena in JSON."""

    def __init__(self, url, token="", name=""):
        self.url = url
        self.headers = {"Content-Type": "application/json"}
        if token:
            self.headers["Authorization"] = f"Bearer {token}"
        if name:
            self.headers["Host"] = name

    def ask(self, method, path, body=None, *, raw=None, headers=()):
        """The status and the value of an answer."""
        content = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        answer = request(method, self.url + path, self.headers | dict(headers), content)
        kind = answer.header("Content-Type")
        return answer.status, json.loads(answer.body) if kind == "application/json" else answer.body.decode()

    def well(self, method, path, body=None):
        status, value = self.ask(method, path, body)
        assert status in (200, 201), (status, value)
        return value

    def begin(self, **settings):
        return self.well("POST", "/episodes", settings)

    def answer(self, episode, answer="", url=None):
        return self.well("POST", f"/episodes/{episode['id']}/answer", {"answer": answer, "url": url})

    def delete(self, episode):
        return self.well("DELETE", f"/episodes/{episode['id']}")


def request(method, url, headers=None, body=b""):
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

    def request(self, method, url, headers=None, body=b""):
        if urlsplit(url).hostname != "127.0.0.1":
            raise HostUnknownError(url)
        return request(method, url, headers, body)


def follow_solution(episode, task):
    """Do what a reference solution does in a browser on the episode's ports; returns the answer and where it has ended."""
    browser = InProcessBrowser(Sockets())
    browser.start(episode["start_urls"], {})
    follow(browser, _given(task.solution, episode["addresses"]))
    last = task.solution[-1].action
    return (last.argument or "") if last.kind is Kind.EXIT else "", browser.page().url


BIOGRAPHY = "reddit.biography/1000/0"
"""A task that says what one writes on one's own page."""


def write_biography(episode, text):
    """Do what the task BIOGRAPHY asks for, with another text."""
    browser = InProcessBrowser(Sockets())
    browser.start(episode["start_urls"], {})
    for label, typed in (("nfischer27", None), ("Edit biography", None), ("Biography", text), ("Save", None)):
        element = observe(browser.page(), elements="label").element(label)
        if typed is None:
            browser.click(element)
        else:
            browser.type(element, typed)


def read_biographies(episode):
    """All words after "Writer" on the page that shows what was written."""
    page = request("GET", f"{episode['addresses']['reddit']}/user/nfischer27").body.decode()
    return set(re.findall(r"Writer (\w+)", page))


def _given(solution, addresses):
    """The steps, with the addresses that the player was given in them."""
    for step in solution:
        argument = step.action.argument or ""
        for site, address in addresses.items():
            argument = argument.replace(f"http://{HOSTS[site]}", address)
        yield Step(replace(step.action, argument=argument if step.action.argument is not None else None), step.thought)


@contextmanager
def arena_within_reach(*arguments):
    """An open arena as `opened` gives it, and what runs a coroutine in its loop."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def run(work):
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    context = opened(*arguments)
    try:
        found = run(context.__aenter__())
        yield found, run
        run(context.__aexit__(None, None, None))
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
