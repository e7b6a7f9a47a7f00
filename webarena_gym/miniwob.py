"""`MiniWoBText-v0`: MiniWoB++, a published benchmark of small web pages, with this package's observations and actions.

The package `miniwob` contains the pages. They are served with one addition: a script of this package (`miniwob.js`), which runs first.
"""

import json
import mimetypes
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from gymnasium.error import DependencyNotInstalled
from werkzeug.security import safe_join

from webarena_gym.arguments import suggestion
from webarena_gym.backends.base import Backend
from webarena_gym.browsers.base import Browser
from webarena_gym.env import WebArenaLite
from webarena_gym.errors import ScriptError, TaskError
from webarena_gym.options import MAX_STEPS
from webarena_gym.pages.page import Network
from webarena_gym.tasks import Task

_WINDOW = (600, 800)  # pixels; as large as the largest page
_OPTIONS = (
    "max_steps", "history", "observation", "dialect", "elements", "render_mode", "thoughts", "header", "window", "on_failure",
    "window_size", "pictures", "picture_format", "cursor", "vendor", "coordinates",
)  # fmt: skip
_HAS_FULL_REWARD = "document.defaultView.WOB_RAW_REWARD_GLOBAL >= 1"
_EVAL = {
    "eval_types": ["program_html"],
    "program_html": [{"url": "last", "locator": _HAS_FULL_REWARD, "required_contents": {"exact_match": "true"}}],
}
HOST = "miniwob.test"
_SCRIPT_PATH = "/webarena_gym.js"
_SCRIPT = (Path(__file__).parent / "miniwob.js").read_bytes()
_HEAD = re.compile(rb"<head(\s[^<>]*)?>", re.IGNORECASE)
_FLIGHT_PREFIX = "flight."


def root() -> Path:
    """Return the folder of the pages. Raises gymnasium's DependencyNotInstalled."""
    spec = find_spec("miniwob")  # not imported, because its environments need Selenium, and its pages do not
    for folder in (spec and spec.submodule_search_locations) or ():
        if (Path(folder) / "html").is_dir():
            return Path(folder) / "html"
    raise DependencyNotInstalled(
        "the pages of MiniWoB++ are not installed: pip install 'webarena-gym[chromium,miniwob]', "
        "or, without its dependency Selenium, pip install --no-deps miniwob"
    )


@cache
def task_names() -> tuple[str, ...]:
    """Return the names of all tasks, such as "click-test" and "flight.AA". Raises gymnasium's DependencyNotInstalled."""
    folder = root()
    small = sorted(path.stem for path in folder.glob("miniwob/*.html"))
    return (*small, *sorted(_FLIGHT_PREFIX + path.parent.name for path in folder.glob("flight/*/wrapper.html")))


def url(name: str) -> str:
    """Return the URL of a task's page."""
    if name.startswith(_FLIGHT_PREFIX):
        return f"http://{HOST}/flight/{name.removeprefix(_FLIGHT_PREFIX)}/wrapper.html"
    return f"http://{HOST}/miniwob/{name}.html"


def site(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Serve the pages as a WSGI application, with `miniwob.js` as the first script of each."""
    path = environ["PATH_INFO"]
    file = safe_join(str(root()), path.lstrip("/"))
    if path == _SCRIPT_PATH:
        content = _SCRIPT
    elif file is not None and Path(file).is_file():
        content = Path(file).read_bytes()
    else:
        start_response("404 Not Found", [("Content-Type", "text/plain")])
        return [b"There is no such page."]
    kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
    if kind == "text/html":
        kind += "; charset=utf-8"
        content = _HEAD.sub(lambda head: head[0] + f'<script src="{_SCRIPT_PATH}"></script>'.encode(), content, count=1)
    start_response("200 OK", [("Content-Type", kind)])
    return [content]


DataMode = Literal["train", "test"]
"""The part of the data from which episodes are drawn, for the few tasks whose data have these two parts."""

_IS_OVER = "window.WOB_DONE_GLOBAL === true || !window.core?.ept0"


class MiniWobBackend(Backend):
    """Backend with the pages as its only site, and a browser that runs scripts.

    Args:
        make_browser: returns a browser on a network.
        data_mode: part of the data from which episodes are drawn.

    """

    snapshot_error = "the pages of MiniWoB++ cannot be saved, as their state is in their scripts; reset by task id instead"

    def __init__(self, make_browser: Callable[[Network], Browser], data_mode: DataMode) -> None:
        self._make_browser = make_browser
        self._data_mode = data_mode

    def enter(self, task: Task) -> str:
        """Reload the page of a task, start the episode of the task's seed, and return the goal on the page."""
        if self._browser is None:
            self._browser = self._make_browser(Network({HOST: site}))
        self._browser.start([task.start_url], {})
        goal = self._browser.run_script(f"webarenaGym.begin({task.world_seed}, {json.dumps(self._data_mode)})")
        self._browser.wait(0)
        self._run_pending_tasks()
        return str(goal)

    def settle(self) -> bool:
        """Run the page's pending tasks, and return True if the page has ended the episode, or the browser has left it."""
        self._run_pending_tasks()
        try:
            return bool(self.browser.run_script(_IS_OVER))
        except ScriptError:
            return True

    def raw_reward(self) -> float:
        """Return the reward of the page, from -1 to 1, without its discount for time; 0 if there is none yet."""
        try:
            return float(self.browser.run_script("window.WOB_RAW_REWARD_GLOBAL ?? 0"))
        except ScriptError:
            return 0.0

    def _run_pending_tasks(self) -> None:
        """Wait until the page has run its timers that are due at once."""
        with suppress(ScriptError):  # the browser may have left the page
            if self.browser.run_script("window.webarenaGym?.rest()"):
                self.browser.wait(0)


def task(name: str) -> Task:
    """Return a task by name, or an episode of it by name and seed, as in "click-test/7". Raises TaskError."""
    title, has_seed, seed = name.partition("/")
    if title not in task_names() or (has_seed and not seed.isdecimal()):
        near = get_close_matches(title, task_names(), n=3, cutoff=0.0)
        raise TaskError(
            f"MiniWoB++ has no task {name!r}; expected <name> or <name>/<seed>, with a name such as {', '.join(near)}"
        )
    return Task(name, ("miniwob",), url(title), "", _EVAL, template=title, world_seed=int(seed) if has_seed else None)


class MiniWobText(WebArenaLite):
    """MiniWoB++ with the observations, actions and history of `WebArenaLite`, in Chromium.

    Args:
        tasks: tasks from which `reset` draws: a name such as "click-test", or several; None for all (see `task_names`).
        data_mode: "train" or "test", for the few tasks whose data have these two parts.
        max_steps: number of steps after which an episode is truncated.
        **options: the keywords history, observation, dialect, elements, render_mode, thoughts, header, window, on_failure, window_size,
            pictures, picture_format, cursor, vendor and coordinates of `WebArenaLite`. The window is 600 x 800 pixels by default.

    The page ends the episode. The reward is 1.0 if the page's reward is 1, and 0.0 otherwise; `info["raw_reward"]` is the page's reward,
    without its discount for time. The pages' time limits of some seconds are switched off: `max_steps` is the only limit. An agent that
    exits, or leaves the page, ends the episode with the reward at that time, which is 0. Drawings (SVG, canvas) are not part of the text.

    `info["task_id"]` identifies an episode, as in "click-test/7": `reset(options={"task": "click-test/7"})` repeats it.

    """

    _backend: MiniWobBackend

    def __init__(
        self,
        *,
        tasks: str | Sequence[str | Task] | None = None,
        data_mode: DataMode = "train",
        max_steps: int = MAX_STEPS,
        **options: object,
    ) -> None:
        if data_mode not in ("train", "test"):
            raise ValueError(f"data_mode is {data_mode!r}; expected 'train' or 'test'")
        for name in options:
            if name not in _OPTIONS:
                raise TypeError(f"MiniWobText has no keyword {name!r}: {suggestion(name, ('tasks', 'data_mode', *_OPTIONS))}")
        names = task_names() if tasks is None else [tasks] if isinstance(tasks, str) else tasks
        super().__init__(
            tasks=[name if isinstance(name, Task) else task(name) for name in names],
            browser="chromium",
            max_steps=max_steps,
            side_effects="ignored",  # the pages have no databases
            **{"window_size": _WINDOW} | options,
        )
        self._backend = MiniWobBackend(self._make_browser, data_mode)

    def _make_browser(self, network: Network) -> Browser:
        from webarena_gym.browsers.chromium.browser import ChromiumBrowser  # noqa: PLC0415 - heavy, and an optional extra

        size, draws = self.options.window_size, self.options.has_pictures
        return ChromiumBrowser(network, headless=self.render_mode != "human", strict=True, viewport=size, for_pictures=draws)

    def _select_task(self, options: dict[str, Any]) -> Task:
        if isinstance(options.get("task"), str):
            options = options | {"task": task(options["task"])}
        selection = super()._select_task(options)
        if selection.world_seed is not None:
            return selection
        seed = int(self.np_random.integers(2**31))
        return replace(selection, task_id=f"{selection.template}/{seed}", world_seed=seed)

    def _is_finished_by_page(self) -> bool:
        return self._backend.settle()

    def _evaluate(self, answer: str) -> dict[str, Any]:
        return super()._evaluate(answer) | {"raw_reward": self._backend.raw_reward()}
