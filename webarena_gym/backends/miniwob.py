"""The pages of MiniWoB++ as the backend of an env: a site that serves those of the package `miniwob`, and Chromium on it.

They are unchanged; a script of ours runs before theirs (`miniwob.js`).
"""

import json
import mimetypes
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from gymnasium.error import DependencyNotInstalled
from werkzeug.security import safe_join

from webarena_gym.backends.base import Backend
from webarena_gym.browsers.base import Browser
from webarena_gym.errors import ScriptError
from webarena_gym.pages.page import Network
from webarena_gym.tasks import Task

HOST = "miniwob.test"
_OURS = "/webarena_gym.js"
_SCRIPT = (Path(__file__).parent / "miniwob.js").read_bytes()
_HEAD = re.compile(rb"<head(\s[^<>]*)?>", re.IGNORECASE)
_FLIGHT = "flight."


def root() -> Path:
    """Return the folder of the pages. Raises gymnasium's DependencyNotInstalled."""
    found = find_spec("miniwob")  # is not imported: its environments need Selenium, its pages do not
    for folder in (found and found.submodule_search_locations) or ():
        if (Path(folder) / "html").is_dir():
            return Path(folder) / "html"
    raise DependencyNotInstalled(
        "the pages of MiniWoB++ are not installed: pip install 'webarena-gym[chromium,miniwob]', "
        "or, without the Selenium that it asks for, pip install --no-deps miniwob"
    )


@cache
def tasks() -> tuple[str, ...]:
    """Return the names of all tasks, such as "click-test" and "flight.AA". Raises gymnasium's DependencyNotInstalled."""
    folder = root()
    small = sorted(path.stem for path in folder.glob("miniwob/*.html"))
    return (*small, *sorted(_FLIGHT + path.parent.name for path in folder.glob("flight/*/wrapper.html")))


def url(name: str) -> str:
    """Return the address of a task's page."""
    if name.startswith(_FLIGHT):
        return f"http://{HOST}/flight/{name.removeprefix(_FLIGHT)}/wrapper.html"
    return f"http://{HOST}/miniwob/{name}.html"


def site(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Serve the pages, with our script before all others; a WSGI application."""
    path = environ["PATH_INFO"]
    place = safe_join(str(root()), path.lstrip("/"))
    if path == _OURS:
        content = _SCRIPT
    elif place is not None and Path(place).is_file():
        content = Path(place).read_bytes()
    else:
        start_response("404 Not Found", [("Content-Type", "text/plain")])
        return [b"There is no such page."]
    kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
    if kind == "text/html":
        kind += "; charset=utf-8"
        content = _HEAD.sub(lambda head: head[0] + f'<script src="{_OURS}"></script>'.encode(), content, count=1)
    start_response("200 OK", [("Content-Type", kind)])
    return [content]


DataMode = Literal["train", "test"]

_IS_OVER = "window.WOB_DONE_GLOBAL === true || !window.core?.ept0"


class MiniWobBackend(Backend):
    """The pages as the only site, and a browser on them.

    Args:
        make_browser: makes a browser with scripts on the network of an episode.
        data_mode: the part of their data from which those tasks draw that have two.

    """

    not_saved = "the pages of MiniWoB++ cannot be saved, as their state is in their scripts; reset by task id instead"

    def __init__(self, make_browser: Callable[[Network], Browser], data_mode: DataMode) -> None:
        self._make_browser = make_browser
        self._data_mode = data_mode

    def enter(self, task: Task) -> str:
        """Open a task's page anew, start the episode that its seed draws, and return the goal that the page tells."""
        if self._browser is None:
            self._browser = self._make_browser(Network({HOST: site}))
        self._browser.start([task.start_url], {})
        goal = self._browser.run_script(f"webarenaGym.begin({task.world_seed}, {json.dumps(self._data_mode)})")
        self._browser.wait(0)
        self._rest()
        return str(goal)

    def settle(self) -> bool:
        """Let the page come to rest, and say whether it has ended the episode, or is no longer there to do so."""
        self._rest()
        try:
            return bool(self.browser.run_script(_IS_OVER))
        except ScriptError:
            return True

    def raw_reward(self) -> float:
        """Return the reward that the page gave, from -1 to 1 and without its discount for time; 0 when it gave none."""
        try:
            return float(self.browser.run_script("window.WOB_RAW_REWARD_GLOBAL ?? 0"))
        except ScriptError:
            return 0.0

    def _rest(self) -> None:
        """Wait until the page has done what it has put off for a moment only."""
        with suppress(ScriptError):  # the page may have been left
            if self.browser.run_script("window.webarenaGym?.rest()"):
                self.browser.wait(0)
