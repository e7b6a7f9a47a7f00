"""One tab of Chromium: reading its page, acting on it, and waiting until the page has settled."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import quote, unquote

from lxml.html import HtmlElement

from webarena_gym.browsers.chromium.driver import PlaywrightError, has_left, reason_of
from webarena_gym.browsers.chromium.frames import NodeLocation
from webarena_gym.browsers.chromium.gate import HttpResponse
from webarena_gym.browsers.chromium.responses import responding_with
from webarena_gym.browsers.chromium.rest import LOAD_S, QUIET_S, RestMonitor
from webarena_gym.browsers.chromium.signals import LOADED_TYPES, Signals
from webarena_gym.browsers.chromium.virtual_time import HAS_ELEMENT, IS_READY, VirtualTime
from webarena_gym.browsers.document import parse
from webarena_gym.browsers.http import failure_page
from webarena_gym.errors import ActionError, BrowserError

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Frame, Page

SCRIPT = (Path(__file__).parent / "page.js").read_text(encoding="utf-8")
"""JavaScript function that returns the document as XML with its live state. Its arguments are five flags:

1. `strict`: layout decides which elements are hidden.
2. `windowed`: only content in the window is read.
3. `isPatient`: the document may still be loading. The function waits for style sheets. If scripts may still change the page, or layout
   needs the complete page, it returns only {early: true, scripted}, if possible with the title.
4. `isTurned`: the tab has just navigated to the document or to a fragment of it.
5. `isUndrawn`: nothing draws the page during the call. If drawing decides the focus, the function returns only
   {undrawn: true, scripted}."""


T = TypeVar("T")
BLANK_URL = "about:blank"
CRASHED = "the page's renderer has crashed"
WAIT_S = 3.0  # how long the action wait waits for the first change
MAX_WAIT_S = 10.0  # limit for a wait of a given duration
READY_MS = 3_000.0  # virtual time for the first timers of a document
PATIENCE_S = 1.0  # after that, an action may wait for timers of the page
_SCROLL = (Path(__file__).parent / "scroll.js").read_text(encoding="utf-8")
_LISTENERS = 'typeof getEventListeners === "function" ? getEventListeners : null'  # exists only in the console
_REFUSED = "http://refused.invalid/"  # a host that no proxy serves, followed by the quoted address that cannot be opened
_IMAGES = """async (waits) => {
  const absent = [...document.images].filter((image) => {
    const box = image.getBoundingClientRect();
    return !image.complete && box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth;
  });
  const ended = (image) => new Promise((end) => ["load", "error"].forEach((event) => image.addEventListener(event, end, {once: true})));
  if (waits) await Promise.all(absent.map(ended));
  return absent.length > 0;
}"""
"""JavaScript function that returns true if images in the window are missing and, if `waits`, waits for them.

Lazy images are requested only when they are drawn."""
_EMPTY = HttpResponse(200, [("Content-Type", "text/html")], b"")
_REMOVE_LISTENERS = "async () => { document.open(); document.close(); }"
"""JavaScript function that removes all event listeners of a document and its window."""
_CLEAR_NAME = 'async () => { window.name = ""; }'
_REPLACE_STORAGE = """async (items) => {
  sessionStorage.clear();
  for (const [key, value] of Object.entries(items)) localStorage.setItem(key, value);
}"""
"""JavaScript function that sets the local storage, which must be empty, and clears the storage of the tab."""
_QUEUED = 'async () => new Promise((done) => (window[Symbol.for("webarena_gym.clock")]?.real ?? window).setTimeout(done))'
"""JavaScript function that returns after tasks that an action has queued, such as the submission of a form."""
_READY = 'async () => window[Symbol.for("webarena_gym.time")]?.ready()'


class StaleElementError(ActionError):
    """An element is no longer in the document, because scripts have replaced or removed it since the page was read."""

    def __init__(self) -> None:
        super().__init__("the element is no longer on the page: scripts have replaced or removed it")


class InvalidField(NamedTuple):
    """A field because of which Chromium did not send a form: its location, its validity flag ("" for another) and Chromium's message."""

    location: NodeLocation
    flag: str
    message: str


class TabHistory(NamedTuple):
    """The history of a tab without its initial blank page: URLs, Chromium's entry ids and the current index (-1: blank page)."""

    urls: list[str]
    ids: list[int]
    position: int


class Tab:
    """A Playwright page with its event state (`signals`) and the documents of its history."""

    def __init__(
        self,
        page: "Page",
        session: "CDPSession",
        signals: Signals,
        reading_mode: tuple[bool, bool],
        selectors: tuple[str, str],
        *,
        is_static: bool,
        time: VirtualTime | None = None,
    ) -> None:
        self.page = page
        self.signals = signals
        self.is_scripted = False  # whether the page had scripts when it last settled
        self.is_stale = False  # page and history belong to an earlier session
        self.document: HttpResponse | None = None  # response of the current document, if known
        self.documents: dict[int, HttpResponse] = {}  # response by history entry id
        self.mouse: tuple[int, int] | None = None  # position of the mouse in the window in pixels
        self.session = session
        self._reading_mode = list(reading_mode)
        self._ready_selector, self._busy_selector = selectors
        self._rest = RestMonitor(page, signals, self._busy_selector, time)
        self.time = time  # None: real time
        self._is_ready = False  # the first timers of the document have run
        self.is_static = is_static  # the page is drawn only in `picture` and within `drawing`
        # Result of page.js for the main frame; None if anything may have changed the page since.
        self.reading: dict[str, Any] | None = None
        self.invalid_field: InvalidField | None = None
        """The field that prevented the last click or key press of `hand.watch_validation` or `hand.act_by_script` from sending a form."""
        self._title = ""

    @classmethod
    async def of(
        cls,
        page: "Page",
        reading_mode: tuple[bool, bool],
        selectors: tuple[str, str],
        *,
        listens: bool,
        static: bool,
        time: VirtualTime | None = None,
    ) -> "Tab":
        """Return the tab of a page.

        Args:
            page: Playwright page.
            reading_mode: (strict, windowed); see SCRIPT.
            selectors: CSS selectors of elements that scripted documents must have, and must not have, once they are at rest; see
                `ready_selector` and `busy_selector` of `Network`.
            listens: watch requests from the start.
            static: draw the page only on demand, if possible: in a headless shell with begin-frame control.
            time: virtual time of the context; None for real time.

        """
        session = await page.context.new_cdp_session(page)
        signals = await Signals.of(page, session, listens=listens)
        is_static = False
        if static:
            with suppress(PlaywrightError):
                await session.send("HeadlessExperimental.beginFrame")
                is_static = True
        if time is not None:
            signals.awaited_types = LOADED_TYPES  # the clocks of documents wait for other requests
            await time.attach(session)
        return cls(page, session, signals, reading_mode, selectors, is_static=is_static, time=time)

    @property
    def used_real_time(self) -> bool:
        """True if the scripts followed the real time, at least in part, when the page last settled."""
        return self._rest.used_real_time

    @property
    def has_failed(self) -> bool:
        """True if the tab shows an error page for an unreachable address."""
        return bool(self.signals.unreachable_url) and str(self.page.url).startswith("chrome-error:")

    def failure_root(self) -> HtmlElement:
        """Return the tree of the error page for an unreachable address."""
        return parse(failure_page(self.url, too_many_redirects="TOO_MANY_REDIRECTS" in self.signals.navigation_error))

    async def open(self, url: str) -> None:
        """Navigate to an address and wait until its document, or an error page, is shown."""
        await self._navigate(url)
        if self.is_stale:
            if not self.signals.has_new_document:  # a download, or a fragment of the page of the earlier session
                await self._navigate(BLANK_URL)
                await self._navigate(url)
            self.is_stale = False
            with suppress(PlaywrightError):  # a new page is in the history only once the renderer evaluates scripts
                await self.evaluate("async () => null")
            await self.session.send("Page.resetNavigationHistory")

    async def open_entries(self, urls: Sequence[str]) -> None:
        """Navigate to a document in which scripts find these history entries from the start: addresses that differ only in their fragments."""
        first, *others = map(json.dumps, urls)
        source = f"if (window === top && location.href === {first}) for (const url of [{', '.join(others)}]) history.pushState(null, '', url)"
        script = await self.session.send("Page.addScriptToEvaluateOnNewDocument", {"source": source})
        try:
            await self.open(urls[0])
        finally:
            await self.session.send("Page.removeScriptToEvaluateOnNewDocument", script)

    async def show_unreachable(self, url: str) -> None:
        """Show the error page for an address without requesting it."""
        await self.open(_REFUSED + quote(url, safe=""))

    async def _navigate(self, url: str) -> None:
        result = await self.session.send("Page.navigate", {"url": url})
        if "loaderId" in result and not result.get("isDownload"):
            await self._wait(self.signals.document_event)

    async def hover_nowhere(self) -> None:
        """Move the mouse out of the window, so that it hovers over no element. In a new renderer process it is at the top left corner."""
        async with self.drawing():
            await self.page.mouse.move(-1, -1)

    async def clear(self, *, is_blank: bool) -> None:
        """Clear cookies and cache, and mark the page for replacement unless it is blank. The tab keeps no other state if no script has run."""
        self.check()
        await asyncio.gather(
            self.session.send("Network.clearBrowserCookies"),
            self.session.send("Network.clearBrowserCache"),
            self.session.send("Network.setCacheDisabled", {"cacheDisabled": True}),  # empties the renderer's own cache
            self.session.send("Network.setCacheDisabled", {"cacheDisabled": False}),
        )
        if self.mouse is not None:
            await self.hover_nowhere()
        self.is_stale, self.signals.has_new_document, self.mouse = not is_blank, False, None
        self.document, self.documents = None, {}

    async def replace_storage(self, origin: str, items: Mapping[str, str]) -> None:
        """Leave the page without running its handlers, for a blank one, and replace all storage of an origin by the local storage `items`."""
        self.check()
        *_, is_empty = await asyncio.gather(  # the session processes these in order
            self.session.send("Emulation.setScriptExecutionDisabled", {"value": True}),
            self.evaluate(_REMOVE_LISTENERS),  # a page that is left can run scripts again
            self._clear_session_storage(origin),
        )
        if is_empty and not items:  # no page of the origin is needed
            await self._navigate(BLANK_URL)
            await asyncio.gather(self._enable_scripts(origin), self.evaluate(_CLEAR_NAME))
        else:
            async with responding_with(_EMPTY, self.session):
                await self._navigate(f"{origin}/")
            await self._enable_scripts(origin)
            await self.evaluate(_REPLACE_STORAGE, dict(items))
            await self._navigate(BLANK_URL)
            await self.evaluate(_CLEAR_NAME)
        await self.session.send("Page.resetNavigationHistory")
        self.signals.forget()
        self.is_scripted = False

    async def _clear_session_storage(self, origin: str) -> bool:
        """Clear the storage of the tab for an origin. Return False if its page has another origin."""
        with suppress(PlaywrightError):
            await self.session.send("DOMStorage.clear", {"storageId": {"securityOrigin": origin, "isLocalStorage": False}})
            return True
        return False

    async def _enable_scripts(self, origin: str) -> None:
        """Enable scripts, which the left page can no longer run, and clear the storage of an origin, to which it can no longer write."""
        await asyncio.gather(
            self.session.send("Emulation.setScriptExecutionDisabled", {"value": False}),
            self.session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"}),
        )

    async def wait_for_images(self) -> None:
        """Wait until the page has loaded with all images, including lazy ones in the window."""
        self.check()
        await self._wait(self.signals.load_event)
        with suppress(PlaywrightError, TimeoutError):  # the page may navigate, and an image may never arrive
            if await self.evaluate(_IMAGES, False):
                async with self.drawing(), asyncio.timeout(QUIET_S):
                    await self.evaluate(_IMAGES, True)

    async def screenshot(self) -> bytes:
        """Return a PNG screenshot of the window with all images loaded."""
        await self.wait_for_images()
        return await self.picture({"format": "png"})

    async def picture(self, parameters: dict[str, Any]) -> bytes:
        """Return a screenshot of the window, with the parameters of CDP's `Page.captureScreenshot`. Raises BrowserError."""
        if not self.is_static:
            return base64.b64decode((await self.session.send("Page.captureScreenshot", parameters))["data"])
        frame: dict[str, Any] = {}
        try:
            async with asyncio.timeout(LOAD_S):
                while "screenshotData" not in frame:  # a new document may not be ready to be drawn
                    frame = await self.session.send("HeadlessExperimental.beginFrame", {"screenshot": parameters})
        except TimeoutError as error:
            raise BrowserError(f"Chromium returned no screenshot of the page within {LOAD_S:g} s") from error
        return base64.b64decode(frame["screenshotData"])

    @asynccontextmanager
    async def drawing(self) -> AsyncIterator[None]:
        """Draw frames continuously within the context. Mouse input and Playwright's stability checks need frames."""
        if not self.is_static:
            yield
            return
        is_over = False

        async def draw() -> None:
            with suppress(PlaywrightError):  # the page may close
                while not is_over:
                    await self.session.send("HeadlessExperimental.beginFrame")

        drawing = asyncio.ensure_future(draw())
        try:
            yield
        finally:
            is_over = True
            await drawing

    async def act(self, action: Callable[[], Awaitable[object]]) -> None:
        """Await an action and wait until the page has settled. Raises ActionError if the action is impossible, or StaleElementError."""
        self.check()
        if self.is_scripted and not self._is_ready:
            with suppress(PlaywrightError):  # the page may navigate
                await (self.evaluate(_READY) if self.time is None else self.evaluate(IS_READY, READY_MS))
                self._is_ready = True
        try:
            await self._with_passing_time(action())
        except PlaywrightError as error:
            browser = self.page.context.browser
            if self.signals.crash_event.is_set() or browser is None or not browser.is_connected():
                raise
            if "not attached to the DOM" in error.message:
                raise StaleElementError from error
            if not has_left(error):
                raise ActionError(reason_of(error)) from error
        await self.settle()

    async def settle(self) -> None:
        """Wait until all navigations have ended and scripts, if any, are at rest."""
        self.reading = None
        keeps_document = self.time is not None and self.is_scripted and not self.signals.has_new_document
        for _ in range(10):  # a page may navigate to another one by itself
            is_patient = await self._wait(self.signals.document_event)
            with suppress(PlaywrightError, TimeoutError):  # the page may navigate during the call
                if keeps_document:
                    await asyncio.wait_for(self.evaluate(_QUEUED), QUIET_S)
                    if self.signals.document_event.is_set() and not self.signals.has_new_document:
                        break
                    await self._wait(self.signals.document_event)
                keeps_document = False
                reading = await asyncio.wait_for(
                    self._read_main_frame(is_patient=is_patient), LOAD_S if is_patient else QUIET_S
                )
                if reading.get("undrawn"):
                    async with self.drawing():
                        reading = await asyncio.wait_for(self._read_main_frame(is_patient=is_patient, is_drawn=True), QUIET_S)
                if reading.get("early") and not self.is_scripted:
                    await self._wait(self.signals.load_event)
                    reading = await asyncio.wait_for(self._read_main_frame(is_patient=False), QUIET_S)
                self.reading = reading
            if self.signals.document_event.is_set() or self.page.is_closed():
                break
        if self.signals.crash_event.is_set():
            self.check()
        if self.signals.has_new_document:
            self._is_ready = False
        if self.is_scripted and not self.page.is_closed():
            await self._settle_scripts()

    async def _settle_scripts(self) -> None:
        """Wait until the scripts of the page are at rest."""
        self.signals.listen()
        self._rest.start()
        await self._wait(self.signals.load_event)
        if self.signals.has_new_document and self.mouse is None:
            with suppress(PlaywrightError):  # the page may navigate
                await self.hover_nowhere()
        if self._ready_selector and self.signals.has_new_document and not self.has_failed:
            try:
                if self.time is not None:
                    with suppress(PlaywrightError):  # an invalid selector, or the page has navigated
                        await self.evaluate(HAS_ELEMENT, self._ready_selector, LOAD_S * 1000)
                await self.page.wait_for_selector(self._ready_selector, state="attached", timeout=LOAD_S * 1000)
            except PlaywrightError as error:
                if not has_left(error):
                    self.signals.notices.append(f"The page has no element {self._ready_selector}: {reason_of(error)}")
        await self._rest.wait_until_quiet()
        if self._busy_selector and not self.has_failed:
            await self._rest.wait_while_busy()
        if self.time is not None:
            has_new_document = self.signals.has_new_document
            await self.time.synchronize(self._rest.elapsed_ms, self.session, has_new_document=has_new_document)
        self.reading = None

    async def wait(self, for_ms: float | None) -> None:
        """Let time pass on a scripted page; see `Browser.wait`. The caller must call `settle` afterwards."""
        if not self.is_scripted or for_ms == 0:
            return
        self.signals.listen()
        if for_ms is None:
            await self._rest.wait_for_rest(WAIT_S)
        else:
            duration_s = min(for_ms / 1000, MAX_WAIT_S)
            await (asyncio.sleep(duration_s) if self.time is None else self.time.advance(self.page, duration_s * 1000))

    async def _with_passing_time(self, work: Awaitable[T]) -> T:
        """Return the result of work in the page. If it takes long, it may wait for timers, so virtual time then follows real time."""
        if self.time is None or not self.is_scripted:
            return await work
        task = asyncio.ensure_future(work)
        try:
            while not (await asyncio.wait((task,), timeout=PATIENCE_S))[0] and self.signals.dialog is None:
                await self.time.advance(self.page, PATIENCE_S * 1000)
            return await task
        finally:
            task.cancel()

    async def scroll(self, part: float, *, to_end: bool) -> None:
        """Scroll the page, or the largest scrollable box in it, by a fraction of its height, or to its end."""
        if self.is_scripted or not to_end:
            await self.evaluate(_SCROLL, part, to_end, self.is_scripted)

    async def _wait(self, event: asyncio.Event) -> bool:
        """Wait for an event of a navigation. After LOAD_S, stop loading and return False."""
        try:
            await asyncio.wait_for(event.wait(), LOAD_S)
        except TimeoutError:
            self.signals.notices.append(f"The page was still loading after {LOAD_S:g} s.")
            await self.session.send("Page.stopLoading")
            self.signals.stop_loading()
            return False
        return True

    async def _read_main_frame(self, *, is_patient: bool, is_drawn: bool = False) -> dict[str, Any]:
        """Return the result of `page.js` for the main frame."""
        flags = (*self._reading_mode, is_patient, self.signals.history_event.is_set(), self.is_static and not is_drawn)
        reading: dict[str, Any] = await self.evaluate(SCRIPT, *flags, listeners=self.is_scripted)
        self.is_scripted = reading["scripted"]
        self._title = reading.get("title", "")
        return reading

    async def evaluate(self, script: str, *arguments: object, listeners: bool = False) -> Any:
        """Return the value of an asynchronous JavaScript function in the main frame, with one CDP call.

        With `listeners`, its last argument is the console's `getEventListeners`.
        """
        values = [*map(json.dumps, arguments), *([_LISTENERS] if listeners else [])]
        parameters = {
            "expression": f"({script})({', '.join(values)})",
            "awaitPromise": True, "returnByValue": True, "userGesture": True, "includeCommandLineAPI": listeners,
        }  # fmt: skip
        reply = await self.session.send("Runtime.evaluate", parameters)
        if "exceptionDetails" in reply:
            raise PlaywrightError(str(reply["exceptionDetails"]))
        return reply["result"].get("value")

    async def evaluate_expression(self, function: str) -> Any:
        """Return the value of a function in the main frame, which may wait for timers."""
        return await self._with_passing_time(self.page.evaluate(function))

    async def read(self) -> "tuple[list[dict[str, Any]], list[Frame]]":
        """Return the results of `page.js` for all frames, and the frames; see `frames.build_tree`."""
        self.check()  # a dead renderer never replies
        for _ in range(5):
            try:
                return await self._read_frames()
            except PlaywrightError as error:
                self.check()
                if not has_left(error):
                    raise
                await self.settle()
        raise BrowserError(f"the page at {self.page.url} does not come to rest")

    async def _read_frames(self) -> "tuple[list[dict[str, Any]], list[Frame]]":
        frames = [self.page.main_frame]
        main, self.reading = self.reading, None  # the reading of `settle` is still valid
        readings = [main or await self._read_main_frame(is_patient=False)]
        for parent, frame in enumerate(frames):  # the list grows during the iteration
            for child in frame.child_frames:
                with suppress(PlaywrightError):  # a frame may be detached or have no document yet
                    owner = await child.frame_element()
                    index = await owner.evaluate('(owner) => window[Symbol.for("webarena_gym")].indexOf(owner)')
                    if index >= 0:
                        flags = [*self._reading_mode, False, False, False]
                        reading = await child.evaluate(f"(flags) => ({SCRIPT})(...flags)", flags)
                        readings.append(reading | {"within": (parent, index)})
                        frames.append(child)
        return readings, frames

    @property
    def title(self) -> str:
        """The title of the page at the last reading, with white space normalized."""
        return str(self.failure_root().findtext(".//title")) if self.has_failed else " ".join(self._title.split())

    @property
    def url(self) -> str:
        """The address of the page, or the requested address if it is unreachable."""
        return _original_url(self.signals.unreachable_url) if self.has_failed else str(self.page.url)

    async def history(self) -> "TabHistory":
        """Return the history of the tab."""
        self.check()
        reply = await self.session.send("Page.getNavigationHistory")
        first = int(reply["entries"][0]["url"] == BLANK_URL)
        entries = reply["entries"][first:]
        return TabHistory(
            [_original_url(entry["url"]) for entry in entries],
            [entry["id"] for entry in entries],
            reply["currentIndex"] - first,
        )

    async def traverse(self, distance: int) -> bool:
        """Go back or forward in the tab's history. Return False if there is no such entry.

        A known document is shown as it was received, while Chromium's cache would show the latest response of its address.
        """
        history = await self.history()
        index = history.position + distance
        if not 0 <= index < len(history.urls):
            return False
        response = self.documents.get(history.ids[index])
        if response is None or response is self.document:
            is_new_document = await self._traverse(history, index)
        else:
            async with responding_with(response, self.session):
                is_new_document = await self._traverse(history, index)
        if is_new_document:
            self.document = response
        return True

    async def record_document(self, responses: Mapping[str, HttpResponse], count: int = 1) -> None:
        """Record the response of the current document for its last `count` history entries; `responses` are by URL."""
        if self.page.is_closed() or not self.signals.history_event.is_set():
            return
        if self.signals.has_new_document:
            self.document = None if self.has_failed else responses.get(self.url.partition("#")[0])
        self.signals.has_new_document = False
        self.signals.history_event.clear()
        history = await self.history()
        if history.position >= 0 and self.document is not None:
            entries = history.ids[max(0, history.position + 1 - count) : history.position + 1]
            old = self.documents.get(entries[-1], self.document)
            self.documents = {key: self.document if value is old else value for key, value in self.documents.items()}
            self.documents |= dict.fromkeys(entries, self.document)

    async def _traverse(self, history: TabHistory, index: int) -> bool:
        """Go to a history entry. Return True if it is in another document."""
        self.signals.start_loading()
        self.signals.has_new_document = False
        self.signals.history_event.clear()
        await self.session.send("Page.navigateToHistoryEntry", {"entryId": history.ids[index]})
        with suppress(TimeoutError):
            await asyncio.wait_for(self.signals.history_event.wait(), LOAD_S)
        is_new_document = self.signals.has_new_document
        if not is_new_document:
            self.signals.stop_loading()  # within one document, nothing is loaded
        await self.settle()
        self.signals.has_new_document = False
        self.signals.history_event.clear()
        return is_new_document

    def check(self) -> None:
        """Raise BrowserError if the page has crashed or was closed by something other than an action."""
        if self.signals.crash_event.is_set():
            raise BrowserError(CRASHED)
        if self.page.is_closed():
            raise BrowserError("the page was closed")


def _original_url(url: str) -> str:
    """Return the address for which `show_unreachable` opened `url`, or `url` itself."""
    return unquote(url.removeprefix(_REFUSED)) if url.startswith(_REFUSED) else url
