"""Adapter to BrowserGym (browsergym-core 0.14): its browser, observations and actions, with this package's sites and evaluation.

Importing this module registers every task of the suite as `browsergym/webarenagym.<task>`, with dots for slashes:
`gymnasium.make("browsergym/webarenagym.shopping.wish_list_add.1000.0")`. For any other task, use `browsergym/webarenagym` with
`task_kwargs={"task": id}`.

The browser has network access only through a proxy in this process, which leads to the sites of its episode. An episode ends when the
agent sends a message to the user, which is its answer, or reports that the task is infeasible, which is the answer N/A. BrowserGym has no
step limit, and this adapter adds none: an episode that the caller truncates is not evaluated.
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
from webarena_gym.suite import SPLITS, load
from webarena_gym.tasks import Task

NAME = "webarenagym"


class EpisodeProxy:
    """An HTTP proxy in a separate thread, through which a browser accesses the sites of the current episode, and nothing else."""

    def __init__(self) -> None:
        self.lock = threading.Lock()  # the calls of an episode must not be concurrent
        self.episode: WebArenaLite | None = None
        self._loop = asyncio.new_event_loop()
        self.proxy = InterceptingProxy(self._answer)
        self._thread = threading.Thread(target=self._loop.run_forever, name="webarena-gym proxy", daemon=True)
        self._thread.start()
        self.address = asyncio.run_coroutine_threadsafe(self.proxy.start(), self._loop).result()

    def close(self) -> None:
        if not self._loop.is_closed():
            asyncio.run_coroutine_threadsafe(self.proxy.close(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def check(self) -> None:
        """Raise the exception of a site since the last call, if there is one."""
        self.proxy.check()

    def _answer(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> HttpResponse:
        with self.lock:
            if self.episode is None:
                raise HostUnknownError(url)
            return network_handler(self.episode.network)(method, url, headers, body)


class WebArenaGymTask(AbstractBrowserTask):  # type: ignore[misc]
    """One task of this package.

    Args:
        seed: BrowserGym's seed; it has no effect, because a task and its world are fixed.
        proxy: the proxy of the browser.
        task: a task or its id.
        env: further keywords of `WebArenaLite`, such as `application` or `side_effects`.

    """

    def __init__(self, seed: int, proxy: EpisodeProxy, task: str | Task, env: Mapping[str, Any] | None = None) -> None:
        super().__init__(seed)
        self.slow_mo = 0
        self.timeout = 10_000
        self._proxy = proxy
        self._env = WebArenaLite(tasks=[task], **(env or {}))

    @classmethod
    def get_task_id(cls) -> str:
        return NAME

    def setup(self, page: playwright.sync_api.Page) -> tuple[str, dict[str, Any]]:
        """Start the episode: open the task's start pages, with the sign-ins of the task, and return the goal and the info."""
        with self._proxy.lock:
            _, info = self._env.reset()
            self._proxy.episode, self._proxy.proxy.network = self._env, self._env.network
        page.context.add_cookies(
            [
                {"name": name, "value": value, "url": f"http://{host}/"}
                for host, cookies in self._env.cookies.items()
                for name, value in cookies.items()
            ]
        )
        first, *more = [tab.url for tab in self._env.page.tabs]
        for url in more:
            page.context.new_page().goto(url)
        page.goto(first)
        page.bring_to_front()
        return info["goal"], {"task_id": self._env.task.task_id}

    def validate(self, page: playwright.sync_api.Page, chat_messages: Sequence[Any]) -> tuple[float, bool, str, dict[str, Any]]:
        """Evaluate the episode if the agent has sent its answer: by the answer, the current page, and the databases.

        Returns reward, whether the episode is over, a message to the agent ("" here), and the info.
        """
        self._proxy.check()
        last = chat_messages[-1]
        if last["role"] not in ("assistant", "infeasible"):  # before the agent's first message, the goal is the last one
            return 0.0, False, "", {}
        answer = "N/A" if last["role"] == "infeasible" else str(last["message"])
        cookies: dict[str, dict[str, str]] = {}
        for cookie in page.context.cookies():
            cookies.setdefault(cookie["domain"].lstrip("."), {})[cookie["name"]] = cookie["value"]
        with self._proxy.lock:
            _, reward, _, _, info = self._env.submit(answer, page.url, cookies)
        return reward, True, "", {name: info[name] for name in ("success", "verdicts", "side_effects") if name in info}

    def teardown(self) -> None:
        with self._proxy.lock:
            self._proxy.episode = self._proxy.proxy.network = None
            self._env.close()


class WebArenaGymBrowser(BrowserEnv):  # type: ignore[misc]
    """BrowserGym's env, with access to the sites of its episode only.

    Args:
        task: the task of `WebArenaGymTask`; None to pass it in `task_kwargs`.
        pw_context_kwargs: BrowserGym's options of Playwright's browser context.
        options: further keywords of BrowserGym's `BrowserEnv`.

    """

    def __init__(self, *, task: Task | None = None, pw_context_kwargs: Mapping[str, Any] | None = None, **options: Any) -> None:
        self._proxy = EpisodeProxy()
        proxy = {"server": self._proxy.address, "bypass": "<-loopback>"}
        task_keywords: dict[str, Any] = {} if task is None else {"task": task}
        entry = partial(WebArenaGymTask, proxy=self._proxy, **task_keywords)
        super().__init__(entry, pw_context_kwargs={**(pw_context_kwargs or {}), "proxy": proxy}, **options)

    def reset(self, seed: int | None = None, **options: Any) -> Any:
        """Start the task in a new browser: that of $WEBARENA_GYM_CHROMIUM, Playwright's, or an installed one, in this order."""
        chromium = _get_global_playwright().chromium
        path = self.pw_chromium_kwargs.get("executable_path") or os.environ.get("WEBARENA_GYM_CHROMIUM")
        if path or not Path(chromium.executable_path).exists():
            # BrowserGym also starts a browser for its chat, whose path no option sets.
            chromium.launch = partial(chromium.launch, executable_path=path or find_executable(headless=self.headless))
        try:
            return super().reset(seed, **options)
        finally:
            vars(chromium).pop("launch", None)

    def close(self) -> None:
        super().close()
        self._proxy.close()


def name_of(task_id: str) -> str:
    """Return the id of a task in BrowserGym's registry, without the prefix "browsergym/".

    >>> name_of("shopping.wish_list_add/1000/0")
    'webarenagym.shopping.wish_list_add.1000.0'
    """
    return f"{NAME}.{task_id.replace('/', '.')}"


def _register() -> dict[str, list[str]]:
    """Register all tasks of the suite, and return their names by split."""
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
