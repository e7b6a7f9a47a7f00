"""A browser context with its tabs, cookies and proxy, and its snapshots."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from webarena_gym.browsers.base import NO_STORAGE, Storage
from webarena_gym.browsers.chromium.driver import Driver, PlaywrightError
from webarena_gym.browsers.chromium.frames import NodeLocation
from webarena_gym.browsers.chromium.gate import InterceptingProxy, network_handler
from webarena_gym.browsers.chromium.popups import OPENING_S, Popups
from webarena_gym.browsers.chromium.responses import Responses
from webarena_gym.browsers.chromium.rest import QUIET_S
from webarena_gym.browsers.chromium.sessions import SavedTab as SavedTab  # snapshots of earlier versions look for these here
from webarena_gym.browsers.chromium.sessions import Session as Session
from webarena_gym.browsers.chromium.sessions import documents_of, restore_tab, save_tab
from webarena_gym.browsers.chromium.signals import Signals, dialog_page
from webarena_gym.browsers.chromium.tab import BLANK_URL, CRASHED, Tab
from webarena_gym.browsers.chromium.virtual_time import VirtualTime
from webarena_gym.browsers.chromium.window import STYLE, capture
from webarena_gym.browsers.http import is_web, save_download
from webarena_gym.errors import BrowserError, ScriptError
from webarena_gym.observation.pictures import Capture, PictureFormat
from webarena_gym.pages.form_data import file_type
from webarena_gym.pages.page import Network, Traffic

if TYPE_CHECKING:
    from playwright.async_api import Download, FilePayload, Page, Request

T = TypeVar("T")

_TIME = (Path(__file__).parent / "time.js").read_text(encoding="utf-8")
_OPEN_SHADOWS = """{
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (options) { return attach.call(this, {...options, mode: "open"}); };
}"""
NAVIGATION_S = 3.0  # limit for the start of a navigation that an action has requested
REPLY_MS, BUSY_REPLY_MS = 1000, 5000  # real time for a reply by a WebSocket; the latter for applications with the key `busy`
MAX_REQUESTS = 500  # after that many, a reset replaces the context, since Playwright and the renderer free memory only with it


class Context:
    """A browser context, replaced by each call of `open`. All methods run on the driver's thread.

    See `ChromiumBrowser` for the arguments; `reading_mode` is (strict, windowed).
    """

    def __init__(
        self,
        driver: Driver,
        network: Network | None,
        hosts: frozenset[str],
        viewport: tuple[int, int],
        reading_mode: tuple[bool, bool],
        *,
        record_traffic: bool = False,
        show_dialogs: bool = False,
        for_pictures: bool = False,
        static: bool = False,
        load_images: bool = True,
    ) -> None:
        self._driver = driver
        self._for_pictures, self._static = for_pictures, static
        self._show_dialogs = show_dialogs
        self._has_virtual_time = network is not None and network.virtual_time and not static
        self._time: VirtualTime | None = None
        self._dialog_opened = asyncio.Event()
        self._pending_work: asyncio.Future[Any] | None = None  # work suspended by an open dialog
        self.downloads: dict[str, bytes] = {}
        self._record_traffic = record_traffic
        self._reading_mode = reading_mode
        self._network = network
        self._serve = None if network is None else network_handler(network)
        self._sites = frozenset(() if network is None else network.hosts)
        self._clock = "" if network is None else network.clock
        self._selectors = ("", "") if network is None else (network.ready_selector, network.busy_selector)
        self._hosts = hosts
        self._viewport = viewport
        self._interceptor: InterceptingProxy | None = None
        self._context: Any = None
        self._context_id = ""  # in CDP; "" if it is not needed
        self._network_process: int | None = None  # process id at the start of the context
        self._popups = Popups()
        self._responses = Responses(self._serve, self._popups.event.set, load_images=load_images)
        self._has_download = False  # whether the last action started a download
        self._download_order = asyncio.Lock()  # downloads are stored in the order of their starts
        self._spare_tab: Tab | None = None  # a cleared tab of the previous session
        self._geolocation: Mapping[str, float] | None = None
        self.tabs: list[Tab] = []
        self.active = 0
        self.traffic: Traffic | None = None  # record of the session, if enabled

    @property
    def tab(self) -> Tab:
        """The active tab."""
        return self.tabs[self.active]

    @property
    def dialog_signals(self) -> Signals | None:
        """The signals of the tab with an open dialog; None if no dialog is open."""
        return next((tab.signals for tab in self.tabs if tab.signals.dialog is not None), None)

    @property
    def files(self) -> dict[str, bytes]:
        """Files available to file fields, by name."""
        return {**(self._network.files if self._network else {}), **self.downloads}

    async def until_dialog(self, work: Awaitable[T]) -> T | None:
        """Return the result of an awaitable, or None if a dialog opens first; then the work continues in the background."""
        if not self._show_dialogs:
            return await work
        self._pending_work = task = asyncio.ensure_future(work)
        dialog = asyncio.ensure_future(self._dialog_opened.wait())
        try:
            await asyncio.wait((task, dialog), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            dialog.cancel()
        if not task.done():
            return None
        self._pending_work = None
        return task.result()

    async def answer(self, *, accept: bool) -> None:
        """Answer the open dialog and wait for the suspended work, or until the page has settled."""
        signals = self.dialog_signals
        assert signals is not None
        assert signals.dialog is not None
        dialog, signals.dialog = signals.dialog, None
        self._dialog_opened.clear()
        await (dialog.accept(signals.dialog_text) if accept else dialog.dismiss())
        await self.until_dialog(self._pending_work or self.tab.act(lambda: asyncio.sleep(0)))

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine of this class. The sites serve requests only during such calls.

        Raises BrowserError if a real server has not responded to the request for a document, or a process of Chromium that
        this context needs has died.
        """
        try:
            result = await self._unless_crashed(self._with_open_sites(work))
            if any(tab.signals.has_failed_request for tab in self.tabs):
                await self._check_processes()
            return result
        finally:
            if self._interceptor is not None:
                self._interceptor.pause()
                self._interceptor.check()

    async def _with_open_sites(self, work: Coroutine[Any, Any, T]) -> T:
        # No await is between `resume` and `work`, so that a reset can cancel waiting requests before any proceeds.
        if self._interceptor is not None:
            self._interceptor.resume()
        return await work

    async def _unless_crashed(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine. Raises BrowserError if the active tab's renderer dies, as it may never reply."""
        if not self.tabs or self.tab.signals.crash_event.is_set():
            return await work
        task, crash = asyncio.ensure_future(work), asyncio.ensure_future(self.tab.signals.crash_event.wait())
        try:
            await asyncio.wait((task, crash), return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise BrowserError(CRASHED)
            return task.result()
        finally:
            crash.cancel()
            task.cancel()

    async def _check_processes(self) -> None:
        """Raise BrowserError if a process of Chromium that this context needs has died.

        The network process holds its proxy settings and cookies. The zygote process starts renderers; without it Chromium
        cannot even show an error page.
        """
        if await self._driver.network_process() != self._network_process:
            await self._close_context()
            raise BrowserError("Chromium's network process has died, and with it the cookies of this session")
        for tab in self.tabs:
            signals = tab.signals
            url = signals.failed_navigation_url
            signals.failed_navigation_url, signals.has_failed_request = "", False
            if is_web(url) and not (self._is_reachable(url) or tab.has_failed or tab.is_scripted):
                await self._driver.discard(self._context.browser)
                raise BrowserError(f"Chromium shows neither a page nor an error page for {url}")

    async def open(
        self,
        cookies: Mapping[str, Mapping[str, str]],
        storage: Storage = NO_STORAGE,
        stored_cookies: Sequence[Mapping[str, Any]] = (),
        geolocation: Mapping[str, float] | None = None,
    ) -> None:
        """Start a new context; see `ChromiumBrowser.start` for the arguments."""
        await self._start_context(geolocation, storage)
        jar = [
            {"name": name, "value": value, "url": f"http://{host}/"}
            for host, values in cookies.items()
            for name, value in values.items()
        ]
        jar.extend(dict(cookie) for cookie in stored_cookies)
        if jar:
            await self._context.add_cookies(jar)

    async def _start_context(self, geolocation: Mapping[str, float] | None, storage: Storage) -> None:
        self.downloads.clear()
        if self._interceptor is not None:
            self._interceptor.cancel_pending()
        if geolocation == self._geolocation and await self._reuse_context(storage):
            return
        if self._interceptor is not None:
            await self._interceptor.close()  # unread requests, and those sent by closing pages, are dropped
        await self._close_context()
        self._geolocation = geolocation
        if self._interceptor is None:
            self._interceptor = InterceptingProxy(
                None if self._serve is None else self._responses.serve, self._hosts, self._network
            )
        self._proxy_url = await self._interceptor.start()
        if self._record_traffic:
            self.traffic = self._interceptor.traffic = Traffic()
        origins = [
            {"origin": origin, "localStorage": [{"name": name, "value": value} for name, value in items.items()]}
            for origin, items in storage.items()
        ]
        self._context, self._context_id = await self._driver.new_context(
            storage_state={"cookies": [], "origins": origins},
            proxy={"server": self._proxy_url, "bypass": "<-loopback>"},
            viewport={"width": self._viewport[0], "height": self._viewport[1]},
            locale="en-US",
            timezone_id="UTC",
            reduced_motion="reduce",
            service_workers="block",
            geolocation=geolocation,
            permissions=["geolocation"] if geolocation else [],
            ignore_https_errors=False,
        )
        self._responses.count = 0
        self._network_process = await self._driver.network_process()
        self._context.on("page", self._on_page)
        start = datetime.fromisoformat(self._clock).timestamp() * 1000 if self._clock else None
        is_silent = self._network is not None and self._network.is_silent
        reply_ms = BUSY_REPLY_MS if self._selectors[1] else REPLY_MS
        self._time = VirtualTime(start, is_silent=is_silent, reply_ms=reply_ms) if self._has_virtual_time else None
        scripts = (
            f"({_TIME})({json.dumps(start)}, {json.dumps(is_silent)})"
            if self._time is None
            else f"{self._time.init_script} ({_TIME})(null)"
        )
        await self._context.add_init_script(scripts)
        if self._reading_mode[0]:
            await self._context.add_init_script(_OPEN_SHADOWS)
        if self._for_pictures:
            await self._context.add_init_script(STYLE)
        if self._record_traffic:
            self._context.on("requestfailed", self._on_failed)

    async def _reuse_context(self, storage: Storage) -> bool:
        """Reset the context in a fraction of the time of a new one. Return False if that is impossible.

        If no script has run, the state of a context consists of cookies, cache and the histories of its tabs. Otherwise it also contains
        the storage of its sites, which can be cleared if they are known: those of the network.
        """
        if self._context is None or self._serve is None or self._record_traffic or not self.tabs:
            return False
        if self._responses.count >= MAX_REQUESTS:
            return False
        can_clear_scripts = self._can_clear_scripts(storage)
        try:
            for tab in self.tabs[1:]:
                await tab.page.close()
            has_storage = self._responses.ran_scripts or bool(storage)
            if has_storage:
                if not can_clear_scripts:
                    return False
                async with asyncio.timeout(NAVIGATION_S):
                    await self._clear_scripts(self.tabs[0], storage)
            await self.tabs[0].clear(is_blank=has_storage)  # clears cookies and cache of the whole context
            if self._time is not None:
                await self._time.reset(self.tabs[0].session)
        except (PlaywrightError, BrowserError, TimeoutError):
            return False
        self._spare_tab, self.tabs, self.active, self._popups.pages = self.tabs[0], [], 0, []
        self._responses.clear()
        return True

    def _can_clear_scripts(self, storage: Storage) -> bool:
        """Return True if all state that scripts may have left is that of the tab and of the only site, whose storage is then `storage`.

        A page that sends requests while the sites serve none may have more of them in a queue of Chromium, and they would outlive it.
        """
        assert self._interceptor is not None
        is_busy = self._pending_work is not None or self.dialog_signals is not None
        return (
            not (is_busy or self._interceptor.waiting)
            and len(self._sites) == 1
            and {f"http://{site}" for site in self._sites}.issuperset(storage)
        )

    async def _clear_scripts(self, tab: Tab, storage: Storage) -> None:
        """Leave the page of a tab, and replace the storage of the site. The sites serve no requests meanwhile."""
        assert self._interceptor is not None
        self._interceptor.pause()
        origin = f"http://{next(iter(self._sites))}"
        try:
            await tab.replace_storage(origin, storage.get(origin, {}))
            if self._interceptor.waiting:
                raise BrowserError("the page has sent requests while it was left")
            await self._interceptor.drop_connections()  # with requests that the page has sent
        finally:
            self._interceptor.resume()

    def _on_page(self, page: "Page") -> None:
        self._popups.add(page)
        page.on("download", self._on_download)

    async def _on_download(self, download: "Download") -> None:
        """Store a downloaded file. If a tab was opened for the download, Chromium reports it for the opener."""
        name, content, self._has_download = download.suggested_filename, None, True
        tab = next((tab for tab in self.tabs if tab.page is download.page), self.tab)
        tab.signals.active_downloads = max(1, tab.signals.active_downloads)
        async with self._download_order:
            with suppress(PlaywrightError):
                content = Path(await download.path()).read_bytes()
                await download.delete()
            notice = None if content is None else save_download(name, content, self.downloads)
            tab.signals.notices.append(notice or f"Download not kept: {name}")
            tab.signals.end_download()

    def _on_failed(self, request: "Request") -> None:
        """Record a request that reached no server, such as a script's request to another host."""
        if self.traffic is not None and not self._is_reachable(request.url):
            self.traffic.record_request(request.method, request.url, request.headers, request.post_data_buffer or b"")

    def _is_reachable(self, url: str) -> bool:
        """Return True if an address is on a site or on an allowed real server."""
        host = urlsplit(url).netloc
        return host in self._sites or (self._interceptor is not None and self._interceptor.is_allowed(host))

    async def _close_context(self) -> None:
        context, self._context = self._context, None
        if self._pending_work is not None:
            self._pending_work.cancel()
        self._pending_work = None
        self._dialog_opened.clear()
        self.tabs, self.active, self._popups.pages, self._spare_tab = [], 0, [], None
        self._responses.clear()
        if context is not None:
            with suppress(PlaywrightError):
                await context.close()

    async def new_tab(self, url: str = BLANK_URL) -> None:
        """Open a tab after the last one, activate it and navigate to a URL."""
        tab, self._spare_tab = self._spare_tab, None
        if tab is None:
            page = await self._new_page()
            self._popups.pages.remove(page)
            tab = await self._tab_of(page)
        self.tabs.append(tab)
        self.active = len(self.tabs) - 1
        if url != BLANK_URL or tab.is_stale:
            await self.act(lambda tab: self.navigate(tab, url))

    async def _tab_of(self, page: "Page") -> Tab:
        try:
            opening = Tab.of(
                page,
                self._reading_mode,
                self._selectors,
                listens=self._serve is None,
                static=self._static,
                time=self._time,
            )
            tab = await asyncio.wait_for(opening, OPENING_S)
        except TimeoutError as error:  # a dead renderer never replies
            raise BrowserError(f"no reply from a new page within {OPENING_S:g} s: its renderer has died") from error
        tab.signals.dialog_event = self._dialog_opened if self._show_dialogs else None
        return tab

    async def _new_page(self) -> "Page":
        chromium = self._context.browser
        try:
            return await asyncio.wait_for(self._driver.new_page(self._context, self._context_id), OPENING_S)
        except (PlaywrightError, TimeoutError) as error:
            await self._driver.discard(chromium)
            raise BrowserError("Chromium cannot open a new page; the next reset starts another Chromium") from error

    async def close_tab(self) -> None:
        """Close the active tab and activate the one before it."""
        tab = self.tabs.pop(self.active)
        self.active = max(0, self.active - 1)
        await tab.page.close()

    async def navigate(self, tab: Tab, url: str) -> None:
        """Open a URL in a tab. URLs other than http, https and about:blank get an error page."""
        if url != BLANK_URL and not is_web(url):
            await tab.show_unreachable(url)
        else:
            await tab.open(url)

    async def act(self, action: Callable[[Tab], Awaitable[object]], *, names_window: bool = False) -> None:
        """Perform an action in the active tab, wait until the page has settled, and activate the tab that it has opened, if any.

        If the action opens a dialog, the work is suspended until `answer`. If it `names_window`, a tab with this name may be open,
        in which the page is opened. A browser with a window brings that tab to the front.
        """
        self.tab.signals.notices.clear()
        self.tab.signals.file_chooser = None
        self.tab.signals.expected_downloads = max(0, self.tab.signals.expected_downloads)
        self._has_download = False
        await self.until_dialog(self._act(self.tab, action, names_window=names_window))

    async def _act(self, tab: Tab, action: Callable[[Tab], Awaitable[object]], *, names_window: bool) -> None:
        self._popups.event.clear()
        self._responses.start_action()
        for other in self.tabs:
            other.signals.navigation_event.clear()
        await tab.act(lambda: action(tab))
        if names_window and not tab.signals.requested_windows:
            await self._activate_navigated_tab()
        if tab.signals.requested_windows:
            await self._popups.wait_for_windows(tab, self._responses, self._driver)
        await tab.record_document(self._responses.documents)
        while self._popups.pages:
            page = self._popups.pages.pop(0)
            if self._has_download and not page.url:  # a tab that was opened for the download
                await page.close()
                continue
            try:
                await self._add_tab(page)
            except (PlaywrightError, BrowserError):
                if not page.is_closed():
                    raise
        tab.signals.requested_windows.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(tab.signals.downloads(), QUIET_S)
        tab.signals.expected_downloads = tab.signals.active_downloads = 0
        for closed in [tab for tab in self.tabs if tab.page.is_closed()]:
            self.tabs.remove(closed)
            self.active = max(0, min(self.active, len(self.tabs) - 1))
        if not self.tabs:
            await self.new_tab()

    async def _add_tab(self, page: "Page") -> None:
        """Add and activate the tab of a page that has opened by itself, and wait until it has settled."""
        opened = await self._tab_of(page)
        self.tabs.append(opened)
        self.active = len(self.tabs) - 1
        with suppress(PlaywrightError):
            await page.wait_for_load_state("load")
        await opened.settle()
        await opened.record_document(self._responses.documents)

    async def _activate_navigated_tab(self) -> None:
        """Wait until the last action navigates a tab or opens one, and activate the former."""
        waits = {asyncio.ensure_future(tab.signals.navigation_event.wait()): tab for tab in self.tabs}
        opening = asyncio.ensure_future(self._popups.event.wait())
        try:
            done, _ = await asyncio.wait((*waits, opening), timeout=NAVIGATION_S, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in (*waits, opening):
                wait.cancel()
        navigated = next((waits[wait] for wait in done if wait in waits), None)
        if navigated is not None and not self._popups.pages:
            self.active = self.tabs.index(navigated)
            await navigated.settle()
            await navigated.record_document(self._responses.documents)

    async def traverse(self, distance: int) -> bool:
        """Go back or forward in the active tab. Return False if there is no such history entry."""
        self.tab.signals.notices.clear()
        self.tab.signals.file_chooser = None
        has_entry = await self.until_dialog(self.tab.traverse(distance))
        return has_entry is not False

    async def cookies(self) -> list[dict[str, Any]]:
        """Return all cookies in the format of Playwright's storage states."""
        return [dict(cookie) for cookie in await self._context.cookies()]

    async def storage(self) -> Storage:
        """Return the local storage of scripts."""
        if not self._responses.ran_scripts:
            return {}
        with self._popups.ignoring_others():  # Playwright opens pages to read the storage
            state = await self._context.storage_state()
        return {entry["origin"]: {item["name"]: item["value"] for item in entry["localStorage"]} for entry in state["origins"]}

    async def run_script(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the active tab. Raises ScriptError if it throws."""
        self._responses.ran_scripts = True
        if self.dialog_signals is not None:
            await self.answer(accept=False)
        self.tab.check()
        self.tab.reading = None
        try:
            return await self.tab.evaluate_expression(f"() => ({expression}\n)")
        except PlaywrightError as error:
            self.tab.check()
            if "crashed" in error.message or "has been closed" in error.message:
                raise
            raise ScriptError(f"{expression!r} threw {error.message.splitlines()[0]}") from error

    def payloads(self, names: Iterable[str]) -> "list[FilePayload]":
        """Return available files in the format of Playwright's `set_input_files`."""
        files = self.files
        return [{"name": name, "mimeType": file_type(name), "buffer": files[name]} for name in names if name in files]

    async def screenshot(self) -> bytes:
        """Return a PNG screenshot of the active tab, or of the dialog that covers it."""
        if self.dialog_signals is None:
            return await self.tab.screenshot()
        page = await self._new_page()
        self._popups.pages.remove(page)
        await page.set_content(dialog_page(self.dialog_signals))
        picture: bytes = await page.screenshot(type="png")
        await page.close()
        return picture

    async def capture(self, elements: Mapping[int, NodeLocation], picture_format: PictureFormat) -> Capture:
        """Return a screenshot of the active tab with the boxes of elements, or of the dialog that covers it, without boxes."""
        if self.dialog_signals is not None:
            return Capture(await self.screenshot())
        return await capture(self.tab, elements, picture_format)

    async def save(self) -> Session:
        """Return the state of the session. Raises BrowserError if Chromium has lost part of it."""
        tabs = [await save_tab(tab) for tab in self.tabs]
        cookies = tuple(await self._context.cookies())
        await self._check_processes()
        elapsed_ms, documents = (0.0, 0) if self._time is None else (self._time.elapsed_ms, self._time.documents)
        return Session(
            tuple(tabs),
            self.active,
            cookies,
            self._geolocation,
            {**self.downloads},
            await self.storage(),
            elapsed_ms,
            documents,
        )

    async def restore(self, session: Session) -> None:
        """Restore a session in a new context: each history entry of each tab is loaded with its recorded response."""
        await self._start_context(session.geolocation, session.storage)
        self.downloads.update(session.downloads)
        await self._context.add_cookies(list(session.cookies))
        for saved in session.tabs:
            await self.new_tab()
            if self._time is not None:
                await self._time.start_restoring(session.documents, self.tab.session)
            for urls, document in documents_of(saved):
                if document is not None:
                    self._responses.replays[urls[0].partition("#")[0]] = document
                open_entries = partial(self.tab.open_entries, urls)
                await self.tab.act(open_entries if len(urls) > 1 else partial(self.navigate, self.tab, urls[0]))
                self._responses.replays.clear()
                if self.tab.has_failed:  # an expected failure, which `_check_processes` must not see on a later page
                    self.tab.signals.failed_navigation_url = ""
                await self.tab.record_document(self._responses.documents, len(urls))
            distance = saved.position - (await self.tab.history()).position
            if distance:
                await self.tab.traverse(distance)
            if self._for_pictures:
                await self.tab.wait_for_images()  # the height of the page, which limits scrolling, depends on its images
            await restore_tab(self.tab, saved, self.payloads)
        await self._context.clear_cookies()
        await self._context.add_cookies(list(session.cookies))
        self.active = session.active
        if self._time is not None:
            self._time.is_restoring, self._time.elapsed_ms = False, max(self._time.elapsed_ms, session.elapsed_ms)
            for tab in self.tabs:
                await self._time.synchronize(dict.fromkeys(tab.page.frames, 0.0), tab.session, has_new_document=True)

    async def close(self) -> None:
        """Close the context and its proxy."""
        if self._interceptor is not None:
            self._interceptor.cancel_pending()
        await self._close_context()
        if self._interceptor is not None:
            await self._interceptor.close()
            self._interceptor = None
