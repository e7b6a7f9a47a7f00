"""Where MiniWoB++ is played: its pages in Chromium, one episode after the other."""

import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Literal

from webarena_gym.browsers import Browser
from webarena_gym.errors import ScriptError, SnapshotError
from webarena_gym.miniwob.pages import HOST, site
from webarena_gym.pages.network import Network
from webarena_gym.tasks import Task

DataMode = Literal["train", "test"]

_IS_OVER = "window.WOB_DONE_GLOBAL === true || !window.core?.ept0"


class MiniWobVenue:
    """The pages as the only site, and a browser on them.

    Args:
        make_browser: makes a browser with scripts on the network of an episode.
        data_mode: the part of their data from which those tasks draw that have two.

    """

    is_embedded = False
    site_errors = ()

    def __init__(self, make_browser: Callable[[Network], Browser], data_mode: DataMode) -> None:
        self.urls: Mapping[str, str] = {}
        self._make_browser = make_browser
        self._data_mode = data_mode
        self._browser: Browser | None = None

    @property
    def browser(self) -> Browser:
        """The browser of the current episode. Raises LookupError before the first."""
        if self._browser is None:
            raise LookupError("no task has been entered")
        return self._browser

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

    def database(self, site: str) -> sqlite3.Connection:
        """Raise KeyError: the pages have no databases."""
        raise KeyError(site)

    def snapshot(self) -> Any:
        """Raise SnapshotError: what the scripts of a page hold cannot be saved."""
        raise SnapshotError(
            "the pages of MiniWoB++ cannot be saved, as their state is in their scripts; reset by task id instead"
        )

    def restore(self, snapshot: Any) -> None:
        """Raise SnapshotError, as there are no snapshots."""
        raise SnapshotError(f"the pages of MiniWoB++ cannot be restored, not from a {type(snapshot).__name__} either")

    def abandon(self) -> None:
        """Give up a browser that has failed; `enter` makes a new one."""
        if self._browser is not None:
            self._browser.close()
        self._browser = None

    def close(self) -> None:
        """Free everything; `enter` opens it again."""
        self.abandon()

    def _rest(self) -> None:
        """Wait until the page has done what it has put off for a moment only."""
        with suppress(ScriptError):  # the page may have been left
            if self.browser.run_script("window.webarenaGym?.rest()"):
                self.browser.wait(0)
