"""Tests of the episode server: all reference solutions in every way to play, a crowd of browsers at once, and its speed beside the env's.

    python -m benchmarks.arena --cores 2 --episodes 200

The server is the command `webarena-gym serve`, in a process of its own; it and the clients share the cores.
"""

import contextlib
import io
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from benchmarks.machine import cores, held_by, origin, use_cores
from benchmarks.recording import path_of, record
from webarena_gym import console
from webarena_gym.actions import DIALECTS, Kind
from webarena_gym.backends.base import execute_solution
from webarena_gym.browsers.base import Browser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.env import WebArenaLite
from webarena_gym.observation import observe
from webarena_gym.pages.page import HostUnknownError, Response
from webarena_gym.sites.catalogue import HOSTS
from webarena_gym.tasks import Step, Task, load
from webarena_gym.tools.cli import main as command


class Client:
    """Asks an arena in JSON."""

    def __init__(self, url: str, token: str = "", name: str = "") -> None:
        self.url = url
        more = {"Authorization": f"Bearer {token}" if token else "", "Host": name}
        self.headers = {"Content-Type": "application/json"} | {key: value for key, value in more.items() if value}

    def ask(
        self, method: str, path: str, body: Any = None, *, raw: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """The status and the value of an answer."""
        content = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        answer = request(method, self.url + path, self.headers | dict(headers or {}), content)
        kind = answer.header("Content-Type")
        return answer.status, json.loads(answer.body) if kind == "application/json" else answer.body.decode()

    def well(self, method: str, path: str, body: Any = None) -> Any:
        status, value = self.ask(method, path, body)
        assert status in (200, 201), (status, value)
        return value

    def begin(self, **settings: Any) -> Any:
        return self.well("POST", "/episodes", settings)

    def answer(self, episode: Any, answer: str = "", url: str | None = None) -> Any:
        return self.well("POST", f"/episodes/{episode['id']}/answer", {"answer": answer, "url": url})

    def delete(self, episode: Any) -> Any:
        return self.well("DELETE", f"/episodes/{episode['id']}")


def request(method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Response:
    """Send one request and return the answer; redirects are the caller's business."""
    parts = urlsplit(url)
    with contextlib.closing(HTTPConnection(parts.hostname or "", parts.port, timeout=60)) as connection:
        connection.request(method, path_of(url), body or None, dict(headers or {}))
        found = connection.getresponse()
        return Response(found.status, found.getheaders(), found.read())


class Sockets:
    """A network of real ports, for the in-process browser."""

    files: Mapping[str, bytes] = MappingProxyType({})  # for file fields

    def request(self, method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Response:
        """Send one request. Raises HostUnknownError for one that leads elsewhere."""
        if urlsplit(url).hostname != "127.0.0.1":
            raise HostUnknownError(url)
        return request(method, url, headers, body)


def follow_solution(episode: Any, task: Task, browser: Browser | None = None) -> tuple[str, str]:
    """Do what a reference solution does on the episode's ports; returns the answer and where the browser has ended."""
    browser = browser or InProcessBrowser(Sockets())
    browser.start(episode["start_urls"], {})
    given = []  # the steps, with the addresses that the player was given in them
    for step in task.solution:
        argument = step.action.argument
        for site, address in episode["addresses"].items() if argument else ():
            argument = argument.replace(f"http://{HOSTS[site]}", address)
        given.append(Step(replace(step.action, argument=argument), step.thought))
    execute_solution(browser, given)
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


_CLIENTS = 8
_STEPS = 100
_ROUNDS = 3  # of which the fastest counts, since others may use the machine


@contextmanager
def serving(*options: str) -> Iterator[tuple[str, int]]:
    """Run `webarena-gym serve`; gives the arena's URL and the process."""
    arguments = [sys.executable, "-m", "webarena_gym", "serve", "--port", "0", "--idle", "600", *options]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - of our own making
        try:
            assert process.stdout is not None
            lines = iter(process.stdout.readline, "")
            yield next(found[1] for line in lines if (found := re.match(r"arena +(http://.*)/docs", line))), process.pid
        finally:
            process.terminate()


class Line(Client):
    """A client that keeps its connection, as those in earnest do."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        place = urlsplit(url)
        self._connection = HTTPConnection(place.hostname or "", place.port, timeout=600)
        self.close = self._connection.close

    def well(self, method: str, path: str, body: Any = None) -> Any:
        self._connection.request(method, path, json.dumps(body) if body is not None else None, self.headers)
        found = self._connection.getresponse()
        value = json.loads(found.read())
        assert found.status in (200, 201), (found.status, value)
        return value


def browse(client: Client, task: Task, browser: Browser | None = None) -> bool:
    """Play a reference solution on the ports of an episode."""
    episode = client.begin(task=task.task_id)
    answer, url = follow_solution(episode, task, browser)
    result = client.answer(episode, answer, url)
    client.delete(episode)
    return bool(result["success"])


def step(client: Client, task: Task, replies: list[str]) -> bool:
    """Play a reference solution step by step."""
    episode = client.begin(task=task.task_id, mode="step", max_steps=_STEPS)
    for reply in replies:
        last = client.well("POST", f"/episodes/{episode['id']}/step", {"action": reply})
    client.delete(episode)
    return bool(last["reward"] == 1.0)


def session(task: Task, replies: list[str]) -> bool:
    """Play a reference solution by `play --session`, one command a step."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
        begin = ["play", "--session", str(Path(folder) / "episode.json")]
        statuses = [command([*begin, "start", task.task_id])]
        for reply in replies:
            action = DIALECTS["webrl"].parse(reply)
            words = ["submit", action.argument or ""] if action.kind is Kind.EXIT else ["act", "--", reply]
            statuses.append(command([*begin, *words]))
    return not any(statuses) and "\nreward 1\nSolved." in said.getvalue()


def solutions(tasks: list[Task], replies: dict[str, list[str]], *, in_chromium: bool) -> dict[str, Any]:
    """Return how many tasks each way of playing solves."""
    with serving() as (url, _):
        client = Client(url)
        found = {
            "tasks": len(tasks),
            "browse_solved": sum(browse(client, task) for task in tasks),
            "step_solved": sum(step(client, task, replies[task.task_id]) for task in tasks),
            "session_solved": sum(session(task, replies[task.task_id]) for task in tasks),
        }
        if in_chromium:
            from webarena_gym.browsers.chromium.browser import ChromiumBrowser  # noqa: PLC0415 - heavy, and an optional extra

            with contextlib.closing(ChromiumBrowser(None, hosts=frozenset({"127.0.0.1"}), strict=True)) as browser:
                found["browse_solved_in_chromium"] = sum(browse(client, task, browser) for task in tasks)
        return found


def crowd(count: int) -> dict[str, Any]:
    """Let many browse episodes be open at once; each writes, then reads what all of them should not have mixed up."""
    with serving("--episodes", str(count)) as (url, pid), ThreadPoolExecutor(32) as pool:
        client = Client(url)
        start = time.perf_counter()
        episodes = list(pool.map(lambda _: client.begin(task=BIOGRAPHY), range(count)))
        begun = time.perf_counter()
        list(pool.map(lambda place: write_biography(episodes[place], f"Writer {place}"), range(count)))
        seen = list(pool.map(read_biographies, episodes))
        written = time.perf_counter()
        results = list(pool.map(client.answer, episodes))
        held = held_by(pid)
        reasons = [result["verdicts"][0]["reason"] for result in results]
        return {
            "episodes": count,
            "saw_their_own_alone": sum(found == {str(place)} for place, found in enumerate(seen)),
            "judged_by_their_own": sum(f"'Writer {place}'" in reason for place, reason in enumerate(reasons)),
            "server_mb": round(held.mb) if held else None,
            "begin_s": round(begun - start, 2),
            "write_and_read_s": round(written - begun, 2),
        }


def timed_ms(work: Callable[[], Any], times: int) -> float:
    """Return the milliseconds that some work takes, on the average."""
    start = time.perf_counter()
    for _ in range(times):
        work()
    return round(1000 * (time.perf_counter() - start) / times, 2)


def speed(tasks: list[Task], replies: dict[str, list[str]]) -> dict[str, Any]:
    """Return how fast episodes and steps are: over HTTP, by one client and by several, and in this process."""
    total = sum(len(replies[task.task_id]) for task in tasks)
    env = WebArenaLite(tasks=tasks, max_steps=_STEPS)

    def in_process(task: Task) -> None:
        env.reset(options={"task": task.task_id})
        for reply in replies[task.task_id]:
            env.step(reply)

    def rates(play: Callable[[Task], Any], clients: int = 1) -> dict[str, float]:
        with ThreadPoolExecutor(clients) as pool:
            list(pool.map(play, tasks))  # worlds are read and pages are known afterwards, in each of the ways
            seconds = min(timed_ms(lambda: list(pool.map(play, tasks)), 1) for _ in range(_ROUNDS)) / 1000
        return {"episodes_per_s": round(len(tasks) / seconds, 1), "steps_per_s": round(total / seconds, 1)}

    found: dict[str, Any] = {"in_process": rates(in_process)}
    with serving() as (url, _), contextlib.closing(Line(url)) as line:

        def step_on_a_line(task: Task) -> None:
            with contextlib.closing(Line(url)) as own:
                step(own, task, replies[task.task_id])

        found["step_1_client"] = rates(lambda task: step(line, task, replies[task.task_id]))
        found[f"step_{_CLIENTS}_clients"] = rates(step_on_a_line, _CLIENTS)
        found["browse_1_client"] = rates(lambda task: browse(line, task))
        episode = line.begin(task=tasks[0].task_id, mode="step", max_steps=10_000, history="none")
        place = urlsplit(line.begin(task=tasks[0].task_id)["start_urls"][0])
        with contextlib.closing(HTTPConnection(place.hostname or "", place.port)) as visitor:

            def visit() -> None:
                visitor.request("GET", "/")
                visitor.getresponse().read()

            page_ms = timed_ms(visit, 500)
        found["ms"] = {
            "begin_and_delete": timed_ms(lambda: line.delete(line.begin(task=tasks[0].task_id)), 200),
            "state": timed_ms(lambda: line.well("GET", f"/episodes/{episode['id']}"), 500),
            "step": timed_ms(
                lambda: line.well("POST", f"/episodes/{episode['id']}/step", {"action": 'do(action="Scroll Down")'}), 500
            ),
            "page": page_ms,
        }
    return found


def main() -> None:
    """Measure and print one JSON object."""
    parser = console.Parser(prog="python -m benchmarks.arena", description=__doc__)
    add = parser.add_argument
    add("--cores", type=console.whole(1), default=2, help="cores that the server and its clients share (default: 2)")
    add("--episodes", type=console.whole(1), default=200, help="episodes at once (default: 200)")
    add("--tasks", type=console.whole(1), default=165, help="test tasks that are played (default: all)")
    add("--chromium", action="store_true", help="play the solutions in Chromium too: two minutes more")
    options = parser.parse_args()
    use_cores(cores()[: options.cores])
    tasks = list(load("test"))[: options.tasks]
    with contextlib.closing(WebArenaLite(tasks=tasks, max_steps=_STEPS)) as env:
        replies = {each.task_id: [step.reply for step in each.steps] for each in record(env, tasks)}
    found = {
        "solutions": solutions(tasks, replies, in_chromium=options.chromium), "crowd": crowd(options.episodes),
        "speed": speed(tasks, replies), **origin("arena"), "cores": options.cores,
    }  # fmt: skip
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    console.run("python -m benchmarks.arena", lambda _: main())
