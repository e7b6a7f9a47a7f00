"""The state of a page from Chromium's events: navigation progress, pending requests, dialogs, downloads and crashes."""

import asyncio
from collections import Counter
from contextlib import suppress
from html import escape
from typing import TYPE_CHECKING, Any

from webarena_gym.browsers.chromium.driver import PlaywrightError

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Dialog, FileChooser, Page, Request

_AWAITED_TYPES = frozenset(("document", "script", "stylesheet", "fetch", "xhr"))
LOADED_TYPES = frozenset(("document", "script", "stylesheet"))
"""Types of requests that documents, rather than their scripts, wait for."""
_MAX_REPEATS = 20  # equal requests after one action; a page that sends more is polling


class Signals:
    """The state of one page as known from its events."""

    def __init__(self, page: "Page") -> None:
        self.notices: list[str] = []  # messages for the agent
        self.unreachable_url = ""  # address in place of which Chromium shows an error page
        self.navigation_error = ""  # Chromium's code of the last failed navigation, such as net::ERR_TOO_MANY_REDIRECTS
        self.failed_navigation_url = ""  # address of that navigation
        self.has_failed_request = False  # set when a request fails, which may mean that a process has died
        self.crash_event = asyncio.Event()  # set when the renderer process has died
        self.requested_windows: list[str] = []  # addresses of windows that the page has requested since the last action
        self.navigation_event = asyncio.Event()  # set when a navigation of the tab starts
        self.has_new_document = False  # set when another document is shown
        self.history_event = asyncio.Event()  # set when another document or another fragment is shown
        self.load_event = asyncio.Event()  # cleared from the start of a navigation until the page has loaded completely
        self.document_event = asyncio.Event()  # cleared from the start of a navigation until the document is shown
        self.progress_event = asyncio.Event()  # set when a request or loading ends
        self.stop_loading()
        self.file_chooser: FileChooser | None = None  # the file chooser that the last action opened
        self.expected_downloads = 0  # downloads that clicks have requested, minus those that have started
        self.active_downloads = 0  # downloads in progress
        self._download_event = asyncio.Event()  # set when a download ends
        self.dialog_event: asyncio.Event | None = None  # set when a dialog opens; None if dialogs are answered automatically
        self.dialog: Dialog | None = None  # the open dialog
        self.dialog_text = ""  # value of the text field of a prompt
        self.requests: set[Request] = set()  # pending requests since `listen`, without polling
        self.awaited_types = _AWAITED_TYPES  # types of `requests`
        self._request_counts: Counter[str] = Counter()  # since the page has settled
        self._endless: set[str] = set()  # requests that poll or never end in the current document
        self._is_listening = False
        self._page = page
        self._frame = ""

    @classmethod
    async def of(cls, page: "Page", session: "CDPSession", *, listens: bool) -> "Signals":
        """Subscribe to the events of a page and return its state.

        Args:
            page: Playwright page.
            session: its session of the Chrome DevTools Protocol (CDP).
            listens: subscribe to requests as well; see `listen`.

        """
        self = cls(page)
        for event, listener in {
            "Page.frameStartedLoading": self._on_started,
            "Page.frameRequestedNavigation": self._on_started,
            "Page.frameNavigated": self._on_navigated,
            "Page.navigatedWithinDocument": self._on_navigated_within,
            "Page.frameStoppedLoading": self._on_stopped,
            "Page.downloadWillBegin": self._on_download_begin,
            "Page.windowOpen": self._on_window_open,
        }.items():
            session.on(event, listener)
        page.on("dialog", self._on_dialog)
        page.on("crash", self._on_crash)
        page.on("close", lambda _: self.stop_loading())
        page.on("filechooser", self._on_file_chooser)
        page.on("requestfailed", self._on_failed)
        if listens:
            self.listen()
        tree = (await session.send("Page.getFrameTree"))["frameTree"]
        self._frame = tree["frame"]["id"]
        await session.send("Page.enable")
        return self

    def listen(self) -> None:
        """Subscribe to requests, which costs time for each."""
        if not self._is_listening:
            self._is_listening = True
            self._page.on("request", self._on_request)
            self._page.on("requestfinished", self._on_finished)

    def forget(self) -> None:
        """Forget messages and requests of the pages before the current one."""
        self.notices.clear()
        self.requests.clear()
        self.file_chooser, self.has_failed_request, self.failed_navigation_url = None, False, ""
        self.requested_windows.clear()

    def ignore_pending_requests(self) -> None:
        """Treat all pending GET requests as endless, such as long polling, and stop waiting for them."""
        self._endless.update(_request_key(request) for request in self.requests if request.method == "GET")
        self.requests.clear()
        self._request_counts.clear()

    async def progress(self) -> None:
        """Wait until no request is pending and the page has loaded."""
        while self.requests or not self.load_event.is_set():
            self.progress_event.clear()
            await self.progress_event.wait()

    async def downloads(self) -> None:
        """Wait until all requested downloads have ended."""
        while self.expected_downloads > 0 or self.active_downloads > 0:
            self._download_event.clear()
            await self._download_event.wait()

    def end_download(self) -> None:
        """Record the end of a download."""
        self.active_downloads = max(0, self.active_downloads - 1)
        self._download_event.set()

    def start_loading(self) -> None:
        """Record the start of a navigation."""
        self.navigation_event.set()
        self.load_event.clear()
        self.document_event.clear()

    def stop_loading(self) -> None:
        """Record the end of loading."""
        self.load_event.set()
        self.document_event.set()
        self.progress_event.set()

    def _on_started(self, event: dict[str, Any]) -> None:
        if event["frameId"] == self._frame and event.get("disposition", "currentTab") == "currentTab":
            self.start_loading()

    def _on_navigated(self, event: dict[str, Any]) -> None:
        if event["frame"]["id"] == self._frame:
            self.unreachable_url = event["frame"].get("unreachableUrl", "")
            self.has_new_document = True
            self._endless.clear()
            self.history_event.set()
            self.document_event.set()

    def _on_navigated_within(self, event: dict[str, Any]) -> None:
        if event["frameId"] == self._frame:
            self.history_event.set()

    def _on_stopped(self, event: dict[str, Any]) -> None:
        if event["frameId"] == self._frame:
            self.stop_loading()

    def _on_download_begin(self, event: dict[str, Any]) -> None:
        self.expected_downloads -= 1
        self.active_downloads += 1
        self._on_stopped(event)

    def _on_window_open(self, event: dict[str, Any]) -> None:
        self.requested_windows.append(event["url"])

    def _on_file_chooser(self, chooser: "FileChooser") -> None:
        self.file_chooser = chooser

    def _on_crash(self, _: object) -> None:
        self.crash_event.set()
        self.stop_loading()

    async def _on_dialog(self, dialog: "Dialog") -> None:
        default = dialog.default_value
        if self.dialog_event is not None and dialog.type in ("confirm", "prompt"):
            self.dialog, self.dialog_text = dialog, default
            self.dialog_event.set()
            return
        answer = f'"{default}"' if default else "OK"
        self.notices.append(f"{dialog.type.title()} dialog, answered with {answer}: {dialog.message}")
        with suppress(PlaywrightError):
            await dialog.accept(default)

    def _on_request(self, request: "Request") -> None:
        if request.resource_type in self.awaited_types:
            key = _request_key(request)
            self._request_counts[key] += 1
            if key not in self._endless and self._request_counts[key] <= _MAX_REPEATS:
                self.requests.add(request)

    def _on_finished(self, request: "Request") -> None:
        self.requests.discard(request)
        self.progress_event.set()

    def _on_failed(self, request: "Request") -> None:
        self._on_finished(request)
        # Leaving a page aborts its pending images, which is no sign of a dead process.
        if request.failure != "net::ERR_ABORTED" or request.resource_type in _AWAITED_TYPES:
            self.has_failed_request = True
        if request.is_navigation_request() and request.frame == self._page.main_frame:
            self.navigation_error, self.failed_navigation_url = request.failure or "", request.url


def _request_key(request: "Request") -> str:
    """Return the method and URL without query, which identify repeated requests."""
    return f"{request.method} {request.url.partition('?')[0]}"


def dialog_page(signals: Signals) -> str:
    """Return the HTML of a page that shows the open dialog."""
    dialog = signals.dialog
    assert dialog is not None
    field = f'<p><input aria-label="Answer" value="{escape(signals.dialog_text)}"></p>' if dialog.type == "prompt" else ""
    return f"<dialog open><p>{escape(dialog.message)}</p>{field}<button>OK</button> <button>Cancel</button></dialog>"
