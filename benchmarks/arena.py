"""Benchmark of the episode server: all reference solutions with each client, many open episodes at once, and its speed compared with the env.

    python -m benchmarks.arena --cores 2 --episodes 200

The server is the command `webarena-gym serve` in a separate process; the server and the clients share the cores.
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

from benchmarks.machine import cores, origin, resources_of, use_cores
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
from webarena_gym.suite import load
from webarena_gym.tasks import Step, Task
from webarena_gym.tools.cli import main as command


class Client:
    """A JSON client of the episode server."""

    def __init__(self, url: str, token: str = "", name: str = "") -> None:
        self.url = url
        more = {"Authorization": f"Bearer {token}" if token else "", "Host": name}
        self.headers = {"Content-Type": "application/json"} | {key: value for key, value in more.items() if value}

    def ask(
        self, method: str, path: str, body: object = None, *, raw: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Return the status and the body of a response."""
        content = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        answer = request(method, self.url + path, self.headers | dict(headers or {}), content)
        kind = answer.header("Content-Type")
        return answer.status, json.loads(answer.body) if kind == "application/json" else answer.body.decode()

    def well(self, method: str, path: str, body: object = None) -> Any:
        status, value = self.ask(method, path, body)
        assert status in (200, 201), (status, value)
        return value

    def create_episode(self, **settings: object) -> Any:
        return self.well("POST", "/episodes", settings)

    def answer(self, episode: object, answer: str = "", url: str | None = None) -> Any:
        return self.well("POST", f"/episodes/{episode['id']}/answer", {"answer": answer, "url": url})

    def delete(self, episode: object) -> Any:
        return self.well("DELETE", f"/episodes/{episode['id']}")


def request(method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Response:
    """Send one request and return the response; redirects are not followed."""
    parts = urlsplit(url)
    with contextlib.closing(HTTPConnection(parts.hostname or "", parts.port, timeout=60)) as connection:
        connection.request(method, path_of(url), body or None, dict(headers or {}))
        response = connection.getresponse()
        return Response(response.status, response.getheaders(), response.read())


class Sockets:
    """A network of local ports, for the in-process browser."""

    files: Mapping[str, bytes] = MappingProxyType({})  # for file inputs

    def request(self, method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Response:
        """Send one request. Raises HostUnknownError for another host."""
        if urlsplit(url).hostname != "127.0.0.1":
            raise HostUnknownError(url)
        return request(method, url, headers, body)


def follow_solution(episode: object, task: Task, browser: Browser | None = None) -> tuple[str, str]:
    """Play a reference solution on the ports of an episode. Return the answer and the final URL of the browser."""
    browser = browser or InProcessBrowser(Sockets())
    browser.start(episode["start_urls"], {})
    steps = []  # with the URLs of this episode
    for step in task.solution:
        argument = step.action.argument
        for site, url in episode["addresses"].items() if argument else ():
            argument = argument.replace(f"http://{HOSTS[site]}", url)
        steps.append(Step(replace(step.action, argument=argument), step.thought))
    execute_solution(browser, steps)
    last = task.solution[-1].action
    return (last.argument or "") if last.kind is Kind.EXIT else "", browser.page().url


BIOGRAPHY = "reddit.biography/1000/0"
"""A task to write the biography of the current user's profile."""


def write_biography(episode: object, text: str) -> None:
    """Do the task BIOGRAPHY with another text."""
    browser = InProcessBrowser(Sockets())
    browser.start(episode["start_urls"], {})
    for label, typed in (("nfischer27", None), ("Edit biography", None), ("Biography", text), ("Save", None)):
        element = observe(browser.page(), elements="label").element(label)
        if typed is None:
            browser.click(element)
        else:
            browser.type(element, typed)


def read_biographies(episode: object) -> set[str]:
    """Return all words after "Writer" on the current user's profile."""
    page = request("GET", f"{episode['addresses']['reddit']}/user/nfischer27").body.decode()
    return set(re.findall(r"Writer (\w+)", page))


_CLIENTS = 8
_STEPS = 100
_ROUNDS = 3  # the fastest counts, since others may use the machine


@contextmanager
def serving(*options: str) -> Iterator[tuple[str, int]]:
    """Run `webarena-gym serve` and yield the URL of the episode server and the process id."""
    arguments = [sys.executable, "-m", "webarena_gym", "serve", "--port", "0", "--idle", "600", *options]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - of our own making
        try:
            assert process.stdout is not None
            lines = iter(process.stdout.readline, "")
            yield next(match[1] for line in lines if (match := re.match(r"arena +(http://.*)/docs", line))), process.pid
        finally:
            process.terminate()


class PersistentClient(Client):
    """A client that keeps its connection open, as real clients do."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        address = urlsplit(url)
        self._connection = HTTPConnection(address.hostname or "", address.port, timeout=600)
        self.close = self._connection.close

    def well(self, method: str, path: str, body: object = None) -> Any:
        self._connection.request(method, path, json.dumps(body) if body is not None else None, self.headers)
        response = self._connection.getresponse()
        value = json.loads(response.read())
        assert response.status in (200, 201), (response.status, value)
        return value


def browse(client: Client, task: Task, browser: Browser | None = None) -> bool:
    """Play a reference solution on the ports of an episode."""
    episode = client.create_episode(task=task.task_id)
    answer, url = follow_solution(episode, task, browser)
    result = client.answer(episode, answer, url)
    client.delete(episode)
    return bool(result["success"])


def step(client: Client, task: Task, replies: list[str]) -> bool:
    """Play a reference solution step by step."""
    episode = client.create_episode(task=task.task_id, mode="step", max_steps=_STEPS)
    for reply in replies:
        last = client.well("POST", f"/episodes/{episode['id']}/step", {"action": reply})
    client.delete(episode)
    return bool(last["reward"] == 1.0)


def session(task: Task, replies: list[str]) -> bool:
    """Play a reference solution with `play --session`, one command a step."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as output:
        prefix = ["play", "--session", str(Path(folder) / "episode.json")]
        statuses = [command([*prefix, "start", task.task_id])]
        for reply in replies:
            action = DIALECTS["webrl"].parse(reply)
            words = ["submit", action.argument or ""] if action.kind is Kind.EXIT else ["act", "--", reply]
            statuses.append(command([*prefix, *words]))
    return not any(statuses) and "\nreward 1\nSolved." in output.getvalue()


def solutions(tasks: list[Task], replies: dict[str, list[str]], *, in_chromium: bool) -> dict[str, Any]:
    """Return the number of tasks that each client solves."""
    with serving() as (url, _):
        client = Client(url)
        result = {
            "tasks": len(tasks),
            "browse_solved": sum(browse(client, task) for task in tasks),
            "step_solved": sum(step(client, task, replies[task.task_id]) for task in tasks),
            "session_solved": sum(session(task, replies[task.task_id]) for task in tasks),
        }
        if in_chromium:
            from webarena_gym.browsers.chromium.browser import ChromiumBrowser  # noqa: PLC0415 - heavy, and an optional extra

            with contextlib.closing(ChromiumBrowser(None, hosts=frozenset({"127.0.0.1"}), strict=True)) as browser:
                result["browse_solved_in_chromium"] = sum(browse(client, task, browser) for task in tasks)
        return result


def crowd(count: int) -> dict[str, Any]:
    """Keep many browse episodes open at once; each writes a text, then checks that it reads only its own."""
    with serving("--episodes", str(count)) as (url, pid), ThreadPoolExecutor(32) as pool:
        client = Client(url)
        start = time.perf_counter()
        episodes = list(pool.map(lambda _: client.create_episode(task=BIOGRAPHY), range(count)))
        begun = time.perf_counter()
        list(pool.map(lambda index: write_biography(episodes[index], f"Writer {index}"), range(count)))
        texts = list(pool.map(read_biographies, episodes))
        written = time.perf_counter()
        results = list(pool.map(client.answer, episodes))
        held = resources_of(pid)
        reasons = [result["verdicts"][0]["reason"] for result in results]
        return {
            "episodes": count,
            "saw_their_own_alone": sum(words == {str(index)} for index, words in enumerate(texts)),
            "judged_by_their_own": sum(f"'Writer {index}'" in reason for index, reason in enumerate(reasons)),
            "server_mb": round(held.mb) if held else None,
            "begin_s": round(begun - start, 2),
            "write_and_read_s": round(written - begun, 2),
        }


def timed_ms(work: Callable[[], Any], times: int) -> float:
    """Return the average milliseconds of a function."""
    start = time.perf_counter()
    for _ in range(times):
        work()
    return round(1000 * (time.perf_counter() - start) / times, 2)


def speed(tasks: list[Task], replies: dict[str, list[str]]) -> dict[str, Any]:
    """Return the speed of episodes and steps: over HTTP with one client and with several, and in this process."""
    total = sum(len(replies[task.task_id]) for task in tasks)
    env = WebArenaLite(tasks=tasks, max_steps=_STEPS)

    def in_process(task: Task) -> None:
        env.reset(options={"task": task.task_id})
        for reply in replies[task.task_id]:
            env.step(reply)

    def rates(play: Callable[[Task], Any], clients: int = 1) -> dict[str, float]:
        with ThreadPoolExecutor(clients) as pool:
            list(pool.map(play, tasks))  # loads worlds and fills the page cache in each mode
            seconds = min(timed_ms(lambda: list(pool.map(play, tasks)), 1) for _ in range(_ROUNDS)) / 1000
        return {"episodes_per_s": round(len(tasks) / seconds, 1), "steps_per_s": round(total / seconds, 1)}

    result: dict[str, Any] = {"in_process": rates(in_process)}
    with serving() as (url, _), contextlib.closing(PersistentClient(url)) as line:

        def step_on_a_line(task: Task) -> None:
            with contextlib.closing(PersistentClient(url)) as client:
                step(client, task, replies[task.task_id])

        result["step_1_client"] = rates(lambda task: step(line, task, replies[task.task_id]))
        result[f"step_{_CLIENTS}_clients"] = rates(step_on_a_line, _CLIENTS)
        result["browse_1_client"] = rates(lambda task: browse(line, task))
        episode = line.create_episode(task=tasks[0].task_id, mode="step", max_steps=10_000, history="none")
        address = urlsplit(line.create_episode(task=tasks[0].task_id)["start_urls"][0])
        with contextlib.closing(HTTPConnection(address.hostname or "", address.port)) as visitor:

            def visit() -> None:
                visitor.request("GET", "/")
                visitor.getresponse().read()

            page_ms = timed_ms(visit, 500)
        result["ms"] = {
            "begin_and_delete": timed_ms(lambda: line.delete(line.create_episode(task=tasks[0].task_id)), 200),
            "state": timed_ms(lambda: line.well("GET", f"/episodes/{episode['id']}"), 500),
            "step": timed_ms(
                lambda: line.well("POST", f"/episodes/{episode['id']}/step", {"action": 'do(action="Scroll Down")'}), 500
            ),
            "page": page_ms,
        }
    return result


def main() -> None:
    """Run the benchmark and print one JSON object."""
    parser = console.Parser(prog="python -m benchmarks.arena", description=__doc__)
    add = parser.add_argument
    add("--cores", type=console.integer(1), default=2, help="cores that the server and its clients share (default: 2)")
    add("--episodes", type=console.integer(1), default=200, help="episodes at once (default: 200)")
    add("--tasks", type=console.integer(1), default=165, help="test tasks that are played (default: all)")
    add("--chromium", action="store_true", help="play the solutions in Chromium too: two minutes more")
    options = parser.parse_args()
    use_cores(cores()[: options.cores])
    tasks = list(load("test"))[: options.tasks]
    with contextlib.closing(WebArenaLite(tasks=tasks, max_steps=_STEPS)) as env:
        replies = {recording.task_id: [step.reply for step in recording.steps] for recording in record(env, tasks)}
    result = {
        "solutions": solutions(tasks, replies, in_chromium=options.chromium), "crowd": crowd(options.episodes),
        "speed": speed(tasks, replies), **origin("arena"), "cores": options.cores,
    }  # fmt: skip
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    console.run("python -m benchmarks.arena", lambda _: main())
