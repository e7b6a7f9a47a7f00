"""Events of a page that Chromium reports: how far a navigation is, what is requested, dialogs, downloads, a crash."""

import asyncio
from collections import Counter
from contextlib import suppress
from typing import Any

from webarena_gym.browsers.chromium.driver import PlaywrightError

_WAITED_FOR = frozenset(("document", "script", "stylesheet", "fetch", "xhr"))
_POLLED = 20  # requests for the same, after one action: what is asked for so often is asked for without end


class Signals:
    """The state of one page, as far as events tell it.

    Attributes:
        notices: what the user of the page should know.
        failed_url: the address that could not be shown, when an error stands in its place.
        failure: what Chromium said of the last navigation that failed.
        missed_url: the address that it led to.
        is_doubtful: whether a request has failed since this was last set to False.
        crashed: set when the page's process has died.
        is_opening: whether the page has asked for a new tab, which is not there yet.
        has_moved: whether there was another document since this was last set to False.
        turned: set when another document is shown, or another place of it.
        stopped: cleared from when a navigation begins until its page is there with all its parts.
        arrived: cleared from when a navigation begins until its document is there.
        requests: what was asked for and is not answered, once `listen` was called, but for what is asked for without end.

    """

    def __init__(self, page: Any) -> None:
        self.notices: list[str] = []
        self.failed_url = ""
        self.failure = ""
        self.missed_url = ""
        self.is_doubtful = False
        self.crashed = asyncio.Event()
        self.is_opening = False
        self.has_moved = False
        self.turned = asyncio.Event()
        self.stopped = asyncio.Event()
        self.stopped.set()
        self.arrived = asyncio.Event()
        self.arrived.set()
        self.requests: set[Any] = set()
        self._asked: Counter[str] = Counter()  # how often, since things settled last
        self._endless: set[str] = set()  # what the document waits for, or asks for, all the time
        self._is_listening = False
        self._page = page
        self._frame = ""

    @classmethod
    async def of(cls, page: Any, session: Any, *, listens: bool) -> "Signals":
        """Return the signals of a page, which are heard from now on; `session` speaks Chromium's protocol with it.

        `listens` says whether requests are heard of from now on too, or only when `listen` is called.
        """
        signals = cls(page)
        signals._connect(session)
        if listens:
            signals.listen()
        tree = (await session.send("Page.getFrameTree"))["frameTree"]
        signals._frame = tree["frame"]["id"]
        await session.send("Page.enable")
        return signals

    def _connect(self, session: Any) -> None:
        for event, listener in {
            "Page.frameStartedLoading": self._on_started,
            "Page.frameRequestedNavigation": self._on_started,
            "Page.frameNavigated": self._on_navigated,
            "Page.navigatedWithinDocument": self._on_turned,
            "Page.frameStoppedLoading": self._on_stopped,
            "Page.downloadWillBegin": self._on_stopped,
            "Page.windowOpen": self._on_opening,
        }.items():
            session.on(event, listener)
        self._page.on("dialog", self._on_dialog)
        self._page.on("crash", self._on_crash)
        self._page.on("close", lambda _: self.stop())
        self._page.on("filechooser", self._on_filechooser)
        self._page.on("download", self._on_download)
        self._page.on("requestfailed", self._on_failed)

    def listen(self) -> None:
        """Hear of requests too, from now on; each costs time."""
        if not self._is_listening:
            self._is_listening = True
            self._page.on("request", self._on_request)
            self._page.on("requestfinished", self._on_answered)

    def give_up(self) -> None:
        """Take what is still not answered for something that stays so, as servers do that answer when there is news."""
        self._endless.update(_kind(request) for request in self.requests if request.method == "GET")
        self.requests.clear()
        self._asked.clear()

    def begin(self) -> None:
        """Take it that a navigation begins."""
        self.stopped.clear()
        self.arrived.clear()

    def stop(self) -> None:
        """Take it that nothing loads any more."""
        self.stopped.set()
        self.arrived.set()

    def _on_started(self, event: dict[str, Any]) -> None:
        if event["frameId"] == self._frame:
            self.begin()

    def _on_navigated(self, event: dict[str, Any]) -> None:
        if event["frame"]["id"] == self._frame:
            self.failed_url = event["frame"].get("unreachableUrl", "")
            self.has_moved = True
            self._endless.clear()
            self.turned.set()
            self.arrived.set()

    def _on_turned(self, event: dict[str, Any]) -> None:
        if event["frameId"] == self._frame:
            self.turned.set()

    def _on_stopped(self, event: dict[str, Any]) -> None:
        if event["frameId"] == self._frame:
            self.stop()

    def _on_opening(self, _: dict[str, Any]) -> None:
        self.is_opening = True

    def _on_crash(self, _: Any) -> None:
        self.crashed.set()
        self.stop()

    async def _on_dialog(self, dialog: Any) -> None:
        held = dialog.default_value
        answer = f'"{held}"' if held else "OK"
        self.notices.append(f"{dialog.type.title()} dialog, answered with {answer}: {dialog.message}")
        with suppress(PlaywrightError):
            await dialog.accept(held)

    def _on_filechooser(self, _: Any) -> None:
        self.notices.append("A file chooser was opened and closed: no files here.")

    async def _on_download(self, download: Any) -> None:
        self.notices.append(f"Download not kept: {download.suggested_filename}")
        with suppress(PlaywrightError):
            await download.cancel()

    def _on_request(self, request: Any) -> None:
        if request.resource_type in _WAITED_FOR:
            kind = _kind(request)
            self._asked[kind] += 1
            if kind not in self._endless and self._asked[kind] <= _POLLED:
                self.requests.add(request)

    def _on_answered(self, request: Any) -> None:
        self.requests.discard(request)

    def _on_failed(self, request: Any) -> None:
        self._on_answered(request)
        # A page that is left gives up its pictures, which is no reason to doubt.
        if request.failure != "net::ERR_ABORTED" or request.resource_type in _WAITED_FOR:
            self.is_doubtful = True
        if request.is_navigation_request() and request.frame == self._page.main_frame:
            self.failure, self.missed_url = request.failure, request.url


def _kind(request: Any) -> str:
    """Return what tells requests of one kind from others: the address without its query."""
    return f"{request.method} {request.url.partition('?')[0]}"
