"""BrowserGym (browsergym-core 0.14): its browser, observations and actions, on our sites, by our judge.

Importing this module registers every task of the suite as `browsergym/webarenagym.<task>`, with dots for slashes:
`gymnasium.make("browsergym/webarenagym.shopping.wish_list_add.1000.0")`. Any other task goes by `browsergym/webarenagym`, with
`task_kwargs={"task": id}`.

The browser's only way out is a proxy that leads to the sites of its own episode, in this process, so nothing else can be reached. An
episode ends when the agent sends a message to the user, which is its answer, or reports that the task is infeasible, which is the
answer N/A. BrowserGym has no step limit of its own, and neither has this: an episode that is cut off elsewhere is not judged.
"""

import asyncio
import os
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import playwright.sync_api
from browsergym.core import _get_global_playwright
from browsergym.core.env import BrowserEnv
from browsergym.core.task import AbstractBrowserTask

from webarena_gym.browsers.chromium.driver import find_executable
from webarena_gym.browsers.chromium.gate import HttpResponse, InterceptingProxy, network_handler
from webarena_gym.env import WebArenaLite
from webarena_gym.pages.page import HostUnknownError
from webarena_gym.tasks import SPLITS, Task, load

NAME = "webarenagym"


class Way:
    """A browser's only way out: a proxy in a thread of its own, which leads to the sites of the episode that is on it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()  # an episode does one thing at a time
        self.episode: WebArenaLite | None = None
        self._loop = asyncio.new_event_loop()
        self.gate = InterceptingProxy(self._answer)
        self._thread = threading.Thread(target=self._loop.run_forever, name="webarena-gym way", daemon=True)
        self._thread.start()
        self.address = asyncio.run_coroutine_threadsafe(self.gate.start(), self._loop).result()

    def close(self) -> None:
        if not self._loop.is_closed():
            asyncio.run_coroutine_threadsafe(self.gate.close(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def check(self) -> None:
        """Raise what a site has raised since the last time."""
        self.gate.check()

    def _answer(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> HttpResponse:
        with self.lock:
            if self.episode is None:
                raise HostUnknownError(url)
            return network_handler(self.episode.network)(method, url, headers, body)


class WebArenaGymTask(AbstractBrowserTask):  # type: ignore[misc]
    """One task of this package.

    Args:
        seed: BrowserGym's; a task and its world are fixed, so nothing depends on it.
        way: the way out of the browser that plays it.
        task: the id of the task, or the task.
        env: further keywords of `WebArenaLite`, such as `application` or `side_effects`.

    """

    def __init__(self, seed: int, way: Way, task: str | Task, env: Mapping[str, Any] | None = None) -> None:
        super().__init__(seed)
        self.slow_mo = 0
        self.timeout = 10_000
        self._way = way
        self._env = WebArenaLite(tasks=[task], **(env or {}))

    @classmethod
    def get_task_id(cls) -> str:
        return NAME

    def setup(self, page: playwright.sync_api.Page) -> tuple[str, dict[str, Any]]:
        """Open the task's first pages in a world of its own, signed in as the task says; return the goal."""
        with self._way.lock:
            _, info = self._env.reset()
            self._way.episode, self._way.gate.network = self._env, self._env.network
        page.context.add_cookies(
            [
                {"name": name, "value": value, "url": f"http://{host}/"}
                for host, held in self._env.cookies.items()
                for name, value in held.items()
            ]
        )
        first, *others = [tab.url for tab in self._env.page.tabs]
        for url in others:
            page.context.new_page().goto(url)
        page.goto(first)
        page.bring_to_front()
        return info["goal"], {"task_id": self._env.task.task_id}

    def validate(self, page: playwright.sync_api.Page, chat_messages: Sequence[Any]) -> tuple[float, bool, str, dict[str, Any]]:
        """Judge the episode when the agent has given its answer, by that, the page where it is, and the databases."""
        self._way.check()
        said = chat_messages[-1]
        if said["role"] not in ("assistant", "infeasible"):  # until the agent says something, the goal comes last
            return 0.0, False, "", {}
        answer = "N/A" if said["role"] == "infeasible" else str(said["message"])
        cookies: dict[str, dict[str, str]] = {}
        for cookie in page.context.cookies():
            cookies.setdefault(cookie["domain"].lstrip("."), {})[cookie["name"]] = cookie["value"]
        with self._way.lock:
            _, reward, _, _, info = self._env.submit(answer, page.url, cookies)
        return reward, True, "", {name: info[name] for name in ("success", "verdicts", "side_effects") if name in info}

    def teardown(self) -> None:
        with self._way.lock:
            self._way.episode = self._way.gate.network = None
            self._env.close()


class WebArenaGymBrowser(BrowserEnv):  # type: ignore[misc]
    """BrowserGym's env with a way out to our sites alone; takes its keywords. `task` is that of `WebArenaGymTask`."""

    def __init__(self, *, task: Task | None = None, pw_context_kwargs: Mapping[str, Any] | None = None, **options: Any) -> None:
        self._way = Way()
        proxy = {"server": self._way.address, "bypass": "<-loopback>"}
        fixed: dict[str, Any] = {} if task is None else {"task": task}
        entry = partial(WebArenaGymTask, way=self._way, **fixed)
        super().__init__(entry, pw_context_kwargs={**(pw_context_kwargs or {}), "proxy": proxy}, **options)

    def reset(self, seed: int | None = None, **options: Any) -> Any:
        """Begin the task in a new browser: $WEBARENA_GYM_CHROMIUM, else Playwright's own, else one that is installed."""
        chromium = _get_global_playwright().chromium
        given = self.pw_chromium_kwargs.get("executable_path") or os.environ.get("WEBARENA_GYM_CHROMIUM")
        if given or not Path(chromium.executable_path).exists():
            # BrowserGym begins a second browser, for its chat, and has no setting for that.
            chromium.launch = partial(chromium.launch, executable_path=given or find_executable(headless=self.headless))
        try:
            return super().reset(seed, **options)
        finally:
            vars(chromium).pop("launch", None)

    def close(self) -> None:
        super().close()
        self._way.close()


def name_of(task_id: str) -> str:
    """Return the id of a task in BrowserGym's registry, without its "browsergym/".

    >>> name_of("shopping.wish_list_add/1000/0")
    'webarenagym.shopping.wish_list_add.1000.0'
    """
    return f"{NAME}.{task_id.replace('/', '.')}"


def _register() -> dict[str, list[str]]:
    """Register all tasks of the suite; return their names by split."""
    gymnasium.register(id=f"browsergym/{NAME}", entry_point=WebArenaGymBrowser, nondeterministic=True)
    names: dict[str, list[str]] = {}
    for split in SPLITS:
        tasks = load(split)
        names[split] = [name_of(task.task_id) for task in tasks]
        for task, name in zip(tasks, names[split], strict=True):
            entry = partial(WebArenaGymBrowser, task=task)
            gymnasium.register(id=f"browsergym/{name}", entry_point=entry, nondeterministic=True)
    return names


TASK_IDS: Mapping[str, Sequence[str]] = _register()
"""The names of the registered tasks, by split."""
