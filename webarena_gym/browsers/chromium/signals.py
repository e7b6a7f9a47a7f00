"""Events of a page that Chromium reports: how far a navigation is, what is requested, dialogs, downloads, a crash."""

import asyncio
from collections import Counter
from contextlib import suppress
from typing import Any

from webarena_gym.browsers.chromium.driver import PlaywrightError

_WAITED_FOR = frozenset(("document", "script", "stylesheet", "fetch", "xhr"))
_POLLED = 20  # requests for the same, after one action: what is asked for so often is asked for without end


class Signals:
    """The state of one page, as far as events tell it."""

    def __init__(self, page: Any) -> None:
        self.notices: list[str] = []  # for the user of the page
        self.failed_url = ""  # the address that could not be shown, when an error stands in its place
        self.failure = ""  # Chromium's word for the last navigation that failed
        self.missed_url = ""  # to which that led
        self.is_doubtful = False  # set when a request fails
        self.crashed = asyncio.Event()  # set when the page's process has died
        self.is_opening = False  # whether the page has asked for a new tab, which is not there yet
        self.has_moved = False  # set when another document is shown
        self.turned = asyncio.Event()  # set when another document is shown, or another place of it
        self.stopped = asyncio.Event()  # cleared from when a navigation begins until its page is there with all its parts
        self.arrived = asyncio.Event()  # cleared from when a navigation begins until its document is there
        self.stop()
        self.chooser: Any = None  # the file chooser that the last action opened
        self.saved = asyncio.Event()  # cleared while a download is under way
        self.saved.set()
        self.asked: asyncio.Event | None = None  # set when a dialog waits for an answer; None where all are answered at once
        self.dialog: Any = None  # that dialog
        self.entered = ""  # what its text field holds
        self.requests: set[Any] = set()  # not answered, once `listen` was called, but for what is asked for without end
        self._asked: Counter[str] = Counter()  # how often, since things settled last
        self._endless: set[str] = set()  # what the document waits for, or asks for, all the time
        self._is_listening = False
        self._page = page
        self._frame = ""

    @classmethod
    async def of(cls, page: Any, session: Any, *, listens: bool) -> "Signals":
        """Return the signals of a page, heard from now on, and of its requests if it `listens`; `session` speaks Chromium's protocol."""
        self = cls(page)
        for event, listener in {
            "Page.frameStartedLoading": self._on_started,
            "Page.frameRequestedNavigation": self._on_started,
            "Page.frameNavigated": self._on_navigated,
            "Page.navigatedWithinDocument": self._on_turned,
            "Page.frameStoppedLoading": self._on_stopped,
            "Page.downloadWillBegin": self._on_downloading,
            "Page.windowOpen": self._on_opening,
        }.items():
            session.on(event, listener)
        for event, hear in {
            "dialog": self._on_dialog,
            "crash": self._on_crash,
            "close": lambda _: self.stop(),
            "filechooser": lambda chooser: setattr(self, "chooser", chooser),
            "requestfailed": self._on_failed,
        }.items():
            page.on(event, hear)
        if listens:
            self.listen()
        tree = (await session.send("Page.getFrameTree"))["frameTree"]
        self._frame = tree["frame"]["id"]
        await session.send("Page.enable")
        return self

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
        if event["frameId"] == self._frame and event.get("disposition", "currentTab") == "currentTab":
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

    def _on_downloading(self, event: dict[str, Any]) -> None:
        self.saved.clear()
        self._on_stopped(event)

    def _on_opening(self, _: dict[str, Any]) -> None:
        self.is_opening = True

    def _on_crash(self, _: Any) -> None:
        self.crashed.set()
        self.stop()

    async def _on_dialog(self, dialog: Any) -> None:
        held = dialog.default_value
        if self.asked is not None and dialog.type in ("confirm", "prompt"):
            self.dialog, self.entered = dialog, held
            self.asked.set()
            return
        answer = f'"{held}"' if held else "OK"
        self.notices.append(f"{dialog.type.title()} dialog, answered with {answer}: {dialog.message}")
        with suppress(PlaywrightError):
            await dialog.accept(held)

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
