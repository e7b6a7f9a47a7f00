"""One tab of Chromium: what it shows, what is done in it, and when the page has settled after that."""

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from lxml import etree
from lxml.html import HtmlElement, HtmlElementClassLookup

from webarena_gym.browsers.chromium.driver import PlaywrightError
from webarena_gym.browsers.chromium.gate import HttpResponse
from webarena_gym.browsers.chromium.signals import Signals
from webarena_gym.browsers.document import parse
from webarena_gym.browsers.http import failure_page
from webarena_gym.errors import ActionError, BrowserError

SCRIPT = (Path(__file__).parent / "page.js").read_text(encoding="utf-8")
"""A JavaScript function of five flags: whether layout decides what can be used, whether only what the window shows is read, whether
the document may still be loading: then its style sheets are waited for, and where scripts or layout need all of a page, `early` is
all that is said of it; whether the tab has just turned to the document or to a place of it; and whether nobody draws it meanwhile: then
`undrawn` is all that is said where drawing decides the focus."""


_PARSER = etree.XMLParser(huge_tree=True, resolve_entities=False, no_network=True)
_PARSER.set_element_class_lookup(HtmlElementClassLookup())
NodeLocation = tuple[Any, int]
"""The location of an element: its frame, and its index among the elements that the frame keeps."""


def tree_of(
    said: Sequence[dict[str, Any]], frames: Sequence[Any]
) -> tuple[HtmlElement, dict[HtmlElement, NodeLocation], HtmlElement | None]:
    """Return the root of a page, where each of its elements is found, and the focused element.

    `said` has what `page.js` returned in each of the `frames`, the main one first, with the place of its `iframe` element in
    `within` (the index of the frame around it, and of the element there). The body of a frame stands inside its `iframe`.
    """
    locations: dict[HtmlElement, NodeLocation] = {}
    kept: list[list[HtmlElement]] = []
    for what, frame in zip(said, frames, strict=True):
        elements = list(etree.fromstring(what["xml"], _PARSER).iter())
        kept.append(elements)
        locations.update((element, (frame, index)) for index, element in enumerate(elements))
    for what, elements in zip(said[1:], kept[1:], strict=True):
        around, index = what["within"]
        body = elements[0].find("body")
        if body is not None:
            kept[around][index].append(body)
    root = kept[0][0]
    if root.find("body") is None:
        etree.SubElement(root, "body")
    focused = kept[0][said[0]["focused"]] if said[0]["focused"] >= 0 else None
    return root, locations, focused


BLANK_URL = "about:blank"
CRASHED = "the page's renderer has crashed"
LOAD_S = 30.0  # a page that takes longer is shown as far as it came
QUIET_S = 5.0  # how long what a page has asked for may take before it is shown without
RESTLESS_S = 1.5  # how long scripts may keep changing a page before it is shown as it is
WAIT_S = 3.0  # how long one who waits is patient with a page that does not change
MAX_WAIT_S = 10.0
ACTION_MS = 5_000.0  # how long Chromium may try to reach an element
_FOLDER = Path(__file__).parent
_HAND, _REST, _SCROLL = ((_FOLDER / name).read_text(encoding="utf-8") for name in ("hand.js", "rest.js", "scroll.js"))
_LISTENERS = 'typeof getEventListeners === "function" ? getEventListeners : null'  # of the console, while a script starts
_REFUSED = "http://refused.invalid/"  # no gate knows that host; behind it stands what was refused
_ELEMENT = '(index) => window[Symbol.for("webarena_gym")][index]'
_END_CARET = """async () => {
  const field = document.activeElement;
  if (typeof field?.selectionStart === "number" && field.selectionStart === field.selectionEnd)
    field.setSelectionRange(field.value.length, field.value.length);
}"""
_IMAGES = """async (waits) => {
  const absent = [...document.images].filter((image) => {
    const box = image.getBoundingClientRect();
    return !image.complete && box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth;
  });
  const ended = (image) => new Promise((end) => ["load", "error"].forEach((event) => image.addEventListener(event, end, {once: true})));
  if (waits) await Promise.all(absent.map(ended));
  return absent.length > 0;
}"""
"""A JavaScript function that says whether the window lacks images, and waits for those: lazy ones are asked for when they are drawn."""
_READY = 'async () => window[Symbol.for("webarena_gym.time")]?.ready()'
_GONE = re.compile("context was destroyed|navigat|frame was detached|Target.{0,80}closed|has been closed", re.IGNORECASE)


class History(NamedTuple):
    """The history of a tab, without the blank page that it may have begun with, and where it is; -1 is on that page."""

    urls: list[str]
    ids: list[int]
    position: int


class Tab:
    """A Playwright page; its `signals` say when it has settled."""

    def __init__(
        self, page: Any, session: Any, signals: Signals, how: tuple[bool, bool], shown: str, *, is_static: bool
    ) -> None:
        self.page = page
        self.signals = signals
        self.is_scripted = False  # as of the last time it settled
        self.is_stale = False  # its page and history are of an earlier session
        self.document: HttpResponse | None = None  # what was answered for the page, where that is known
        self.documents: dict[int, HttpResponse] = {}  # the same for the entries of its history
        self.mouse: tuple[int, int] | None = None  # the place in the window to which the mouse was moved, in pixels
        self.session = session
        self._how, self._shown = list(how), shown
        self.is_static = is_static  # it is drawn for `picture` and within `drawn` alone
        self.said: dict[str, Any] | None = (
            None  # of the page as it is; None where something else than an action may have changed it
        )
        self._title = ""

    @classmethod
    async def of(cls, page: Any, how: tuple[bool, bool], shown: str, *, listens: bool, static: bool) -> "Tab":
        """Return a tab for a page, which is read as `how` says (see SCRIPT) and whose requests are watched at once if it `listens`.

        `shown` is a CSS selector of what scripts build in each document (see `Network`). A page that is `static` is drawn on demand, where
        Chromium can do that: a headless shell, in pages that it was told to open so.
        """
        session = await page.context.new_cdp_session(page)
        signals = await Signals.of(page, session, listens=listens)
        is_static = False
        if static:
            with suppress(PlaywrightError):
                await session.send("HeadlessExperimental.beginFrame")
                is_static = True
        return cls(page, session, signals, how, shown, is_static=is_static)

    @property
    def has_failed(self) -> bool:
        """True if the tab shows that an address could not be shown, instead of a page."""
        return bool(self.signals.failed_url) and str(self.page.url).startswith("chrome-error:")

    def failure_root(self) -> HtmlElement:
        """Return the page that is shown for an address that could not be."""
        return parse(failure_page(self.url, too_many_redirects="TOO_MANY_REDIRECTS" in self.signals.failure))

    async def open(self, url: str) -> None:
        """Go to an address, until its document or an error's is there."""
        await self._navigate(url)
        if self.is_stale:
            if not self.signals.has_moved:  # a download, or another place in the page that is to be forgotten
                await self._navigate(BLANK_URL)
                await self._navigate(url)
            self.is_stale = False
            with suppress(PlaywrightError):  # the renderer tells of a new page before the history has it, but answers after
                await self.evaluate("async () => null")
            await self.session.send("Page.resetNavigationHistory")

    async def refuse(self, url: str) -> None:
        """Show of an address that it cannot be reached, without trying."""
        await self.open(_REFUSED + quote(url, safe=""))

    async def _navigate(self, url: str) -> None:
        said = await self.session.send("Page.navigate", {"url": url})
        if "loaderId" in said and not said.get("isDownload"):
            await self._wait(self.signals.arrived)

    async def clear(self) -> None:
        """Forget all that is kept where no script ran: cookies and cache of the context, and the page, once another is opened."""
        self.check()
        await asyncio.gather(
            self.session.send("Network.clearBrowserCookies"),
            self.session.send("Network.clearBrowserCache"),
            self.session.send("Network.setCacheDisabled", {"cacheDisabled": True}),  # empties the renderer's own cache
            self.session.send("Network.setCacheDisabled", {"cacheDisabled": False}),
        )
        if self.mouse is not None:
            async with self.drawn():
                await self.page.mouse.move(-1, -1)  # nothing of the next page is under it
        self.is_stale, self.signals.has_moved, self.mouse = True, False, None
        self.document, self.documents = None, {}

    async def until_whole(self) -> None:
        """Wait until the page is there with all its images, lazy ones where the window shows them."""
        self.check()
        await self._wait(self.signals.stopped)
        with suppress(PlaywrightError, TimeoutError):  # the page may go away, and an image may not come
            if await self.evaluate(_IMAGES, False):
                async with self.drawn(), asyncio.timeout(QUIET_S):
                    await self.evaluate(_IMAGES, True)

    async def screenshot(self) -> bytes:
        """Return a picture of the window as PNG, with all images of the page."""
        await self.until_whole()
        return await self.picture({"format": "png"})

    async def picture(self, how: Mapping[str, Any]) -> bytes:
        """Return a picture of the window in that format of Chromium's protocol. Raises BrowserError where none can be drawn."""
        if not self.is_static:
            return base64.b64decode((await self.session.send("Page.captureScreenshot", how))["data"])
        taken: dict[str, Any] = {}
        try:
            async with asyncio.timeout(LOAD_S):
                while "screenshotData" not in taken:  # a new document may not be there to be drawn yet
                    taken = await self.session.send("HeadlessExperimental.beginFrame", {"screenshot": how})
        except TimeoutError as error:
            raise BrowserError(f"Chromium has drawn no picture of the page within {LOAD_S:g} s") from error
        return base64.b64decode(taken["screenshotData"])

    @asynccontextmanager
    async def drawn(self) -> AsyncIterator[None]:
        """Draw the page again and again while something is done, as the mouse, and what waits for a page to stand still, need it."""
        if not self.is_static:
            yield
            return
        is_over = False

        async def draw() -> None:
            with suppress(PlaywrightError):  # the page may go away
                while not is_over:
                    await self.session.send("HeadlessExperimental.beginFrame")

        drawing = asyncio.ensure_future(draw())
        try:
            yield
        finally:
            is_over = True
            await drawing

    async def act(self, action: Callable[[], Awaitable[Any]]) -> None:
        """Do something and wait until the page has settled. Raises ActionError for what could not be done."""
        self.check()
        if self.is_scripted:
            with suppress(PlaywrightError):  # another page takes its place
                await self.evaluate(_READY)
        try:
            await action()
        except PlaywrightError as error:
            if self.signals.crashed.is_set() or not self.page.context.browser.is_connected():
                raise
            if not _GONE.search(error.message):
                raise ActionError(_reason(error)) from error
        await self.settle()

    async def settle(self) -> None:
        """Wait until navigations that have begun are over, and scripts, if any, have come to rest."""
        self.said = None
        for _ in range(10):  # a page may lead on to the next by itself
            is_patient = await self._wait(self.signals.arrived)
            with suppress(PlaywrightError, TimeoutError):  # the page may go away while it is asked
                said = await asyncio.wait_for(self._ask(is_patient=is_patient), LOAD_S if is_patient else QUIET_S)
                if said.get("undrawn"):
                    async with self.drawn():
                        said = await asyncio.wait_for(self._ask(is_patient=is_patient, is_drawn=True), QUIET_S)
                if said.get("early") and not self.is_scripted:
                    await self._wait(self.signals.stopped)
                    said = await asyncio.wait_for(self._ask(is_patient=False), QUIET_S)
                self.said = said
            if self.signals.arrived.is_set() or self.page.is_closed():
                break
        if self.signals.crashed.is_set():
            self.check()
        if self.is_scripted and not self.page.is_closed():
            self.signals.listen()
            await self._wait(self.signals.stopped)
            if self._shown and self.signals.has_moved and not self.has_failed:
                try:
                    await self.page.wait_for_selector(self._shown, state="attached", timeout=LOAD_S * 1000)
                except PlaywrightError as error:
                    if not _GONE.search(error.message):
                        self.signals.notices.append(f"The page has nothing of {self._shown}: {_reason(error)}")
            await self._quieten()
            self.said = None

    async def wait(self, for_ms: float | None) -> None:
        """Let time pass, where it can change something: see `Browser.wait`. What follows must still settle."""
        if not self.is_scripted or for_ms == 0:
            return
        self.signals.listen()
        if for_ms is None:
            await self._rest(WAIT_S)
        else:
            await asyncio.sleep(min(for_ms / 1000, MAX_WAIT_S))

    async def scroll(self, part: float, *, to_end: bool) -> None:
        """Scroll the page, or the box in it that scrolls, by a part of its height, or to its end."""
        if self.is_scripted or not to_end:
            await self.evaluate(_SCROLL, part, to_end, self.is_scripted)

    async def _wait(self, event: asyncio.Event) -> bool:
        """Wait for a part of a navigation; after LOAD_S, stop it and return False."""
        try:
            await asyncio.wait_for(event.wait(), LOAD_S)
        except TimeoutError:
            self.signals.notices.append(f"The page was still loading after {LOAD_S:g} s.")
            await self.session.send("Page.stopLoading")
            self.signals.stop()
            return False
        return True

    async def _ask(self, *, is_patient: bool, is_drawn: bool = False) -> dict[str, Any]:
        """Return what `page.js` says of the main frame."""
        how = (*self._how, is_patient, self.signals.turned.is_set(), self.is_static and not is_drawn)
        said: dict[str, Any] = await self.evaluate(SCRIPT, *how, listeners=self.is_scripted)
        self.is_scripted = said["scripted"]
        self._title = said.get("title", "")
        return said

    async def evaluate(self, script: str, *arguments: Any, listeners: bool = False) -> Any:
        """Return the value of an asynchronous JavaScript function in the main frame, with the least that the protocol needs.

        With `listeners`, its last argument is the console's function that tells which events an element listens to.
        """
        given = [*map(json.dumps, arguments), *([_LISTENERS] if listeners else [])]
        told = {
            "expression": f"({script})({', '.join(given)})",
            "awaitPromise": True, "returnByValue": True, "userGesture": True, "includeCommandLineAPI": listeners,
        }  # fmt: skip
        answer = await self.session.send("Runtime.evaluate", told)
        if "exceptionDetails" in answer:
            raise PlaywrightError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    async def _quieten(self) -> None:
        """Wait until nothing is asked for any more and the page has not changed for a moment; at most QUIET_S."""
        with suppress(TimeoutError):
            async with asyncio.timeout(QUIET_S):
                await self._rest()
                while self.signals.requests or not self.signals.stopped.is_set():
                    await self._rest()
        self.signals.give_up()

    async def _rest(self, patience_s: float = 0.0) -> None:
        """Wait until no frame has changed for a moment (see `rest.js`); with patience, until one of them has, at first."""

        async def watch(frame: Any) -> None:
            with suppress(PlaywrightError):  # another page takes its place
                await frame.evaluate(
                    f"([patience, limit]) => ({_REST})(patience, limit)", [patience_s * 1000, RESTLESS_S * 1000]
                )

        watching = [asyncio.ensure_future(watch(frame)) for frame in self.page.frames]
        until = asyncio.FIRST_COMPLETED if patience_s else asyncio.ALL_COMPLETED
        try:
            await asyncio.wait(watching, timeout=patience_s + QUIET_S, return_when=until)
        finally:
            for each in watching:
                each.cancel()

    async def read(self) -> tuple[list[dict[str, Any]], list[Any]]:
        """Return what `page.js` says in each frame, and the frames; see `tree_of`."""
        self.check()  # a renderer that has died answers nothing
        for _ in range(5):
            try:
                return await self._read_frames()
            except PlaywrightError as error:
                self.check()
                if not _GONE.search(error.message):
                    raise
                await self.settle()
        raise BrowserError(f"the page at {self.page.url} does not come to rest")

    async def _read_frames(self) -> tuple[list[dict[str, Any]], list[Any]]:
        frames = [self.page.main_frame]
        first, self.said = self.said, None  # what was said when the page had settled is still true
        said = [first or await self._ask(is_patient=False)]
        for place, frame in enumerate(frames):  # grows while it is walked
            for child in frame.child_frames:
                with suppress(PlaywrightError):  # a frame may be gone, or have no document yet
                    owner = await child.frame_element()
                    index = await owner.evaluate('(owner) => window[Symbol.for("webarena_gym")].indexOf(owner)')
                    if index >= 0:
                        inner = await child.evaluate(f"(how) => ({SCRIPT})(...how)", [*self._how, False, False, False])
                        said.append(inner | {"within": (place, index)})
                        frames.append(child)
        return said, frames

    @property
    def title(self) -> str:
        """The title of the page, with single spaces, as it was when the page was last looked at."""
        return str(self.failure_root().findtext(".//title")) if self.has_failed else " ".join(self._title.split())

    @property
    def url(self) -> str:
        """The address of the page, also of one that could not be reached."""
        return _meant(self.signals.failed_url) if self.has_failed else str(self.page.url)

    async def history(self) -> "History":
        """Return the addresses that the tab went through."""
        self.check()
        said = await self.session.send("Page.getNavigationHistory")
        first = int(said["entries"][0]["url"] == BLANK_URL)
        entries = said["entries"][first:]
        return History(
            [_meant(entry["url"]) for entry in entries], [entry["id"] for entry in entries], said["currentIndex"] - first
        )

    async def use(self, frame: Any, index: int, what: str, argument: Any = None) -> bool:
        """Do something with an element by script (`hand.js`); return False where a page's script could tell, and nothing was done."""
        if self.is_scripted or frame is not self.page.main_frame:
            return False
        done: bool = await self.evaluate(_HAND, index, what, argument)
        return done

    async def press(self, key: str, written: str) -> None:
        """Press a key in a field. Where no script could tell, the caret goes behind the text first, unless all of it is selected."""
        keyboard = self.page.keyboard
        if not self.is_scripted:
            await self.evaluate(_END_CARET)
        if written.isascii():
            await keyboard.press(written if written and not self.is_scripted else key)
        else:
            await keyboard.insert_text(written)  # no key of an American keyboard writes it

    async def element(self, frame: Any, index: int) -> Any:
        """Return a handle of an element that was read."""
        handle = (await frame.evaluate_handle(_ELEMENT, index)).as_element()
        if handle is None:
            raise ActionError("the element is no longer on the page")
        return handle

    async def grip(self, frame: Any, index: int) -> tuple[Any, dict[str, float] | None]:
        """Return what the mouse must go to for an element, and where in it: itself, or a label of a box that cannot be hit."""
        handle = await self.element(frame, index)
        grip = await frame.evaluate(f"(index) => ({_HAND})(index, 'grip')", index)
        if grip is None:
            return handle, None
        label = await handle.evaluate_handle("(element, place) => element.labels[place]", grip["place"])
        return label.as_element(), {"x": grip["x"], "y": grip["y"]}

    async def note_mouse(self, handle: Any, at: Mapping[str, float] | None) -> None:
        """Keep the place to which the mouse is about to be moved: one in an element, or its middle."""
        with suppress(PlaywrightError):  # what is about to be done says why it cannot be
            await handle.scroll_into_view_if_needed(timeout=ACTION_MS)
            if box := await handle.bounding_box():
                x, y = (at["x"], at["y"]) if at else (box["width"] / 2, box["height"] / 2)
                self.mouse = round(box["x"] + x), round(box["y"] + y)

    async def drag(self, source: tuple[Any, int], target: tuple[Any, int]) -> None:
        """Drag an element with the mouse and drop it in the middle of another."""
        held, position = await self.grip(*source)
        goal, _ = await self.grip(*target)
        mouse = self.page.mouse
        await held.hover(position=position, timeout=ACTION_MS)
        x, y = await _middle(held)
        await mouse.down()
        try:
            await mouse.move(x + 4, y + 4, steps=2)  # it is taken up where it is, before anything scrolls
            await goal.scroll_into_view_if_needed(timeout=ACTION_MS)
            x, y = await _middle(goal)
            await mouse.move(x, y, steps=10)
            await mouse.move(x, y)  # a page is told what is dragged over only when the mouse moves there
        finally:
            await mouse.up()

    async def travel(self, distance: int) -> bool:
        """Go back or forward in the tab's history; return False when there is no such page.

        A document that is known is shown as it was, whatever has been answered for its address since: Chromium's cache would
        show the newest.
        """
        history = await self.history()
        place = history.position + distance
        if not 0 <= place < len(history.urls):
            return False
        answer = self.documents.get(history.ids[place])
        if answer is None or answer is self.document:
            moved = await self._travel(history, place)
        else:
            async with self._answered(answer):
                moved = await self._travel(history, place)
        if moved:
            self.document = answer
        return True

    async def remember(self, answers: Mapping[str, HttpResponse]) -> None:
        """Keep what was answered for the page that the tab has turned to, as its history may lead back; `answers` are by address."""
        if self.page.is_closed() or not self.signals.turned.is_set():
            return
        if self.signals.has_moved:
            self.document = None if self.has_failed else answers.get(self.url.partition("#")[0])
        self.signals.has_moved = False
        self.signals.turned.clear()
        history = await self.history()
        if history.position >= 0 and self.document is not None:
            entry = history.ids[history.position]
            old = self.documents.get(entry, self.document)
            self.documents = {key: self.document if each is old else each for key, each in self.documents.items()}
            self.documents[entry] = self.document

    async def _travel(self, history: History, place: int) -> bool:
        """Go to a place in the history; return whether that has brought another document."""
        self.signals.begin()
        self.signals.has_moved = False
        self.signals.turned.clear()
        await self.session.send("Page.navigateToHistoryEntry", {"entryId": history.ids[place]})
        with suppress(TimeoutError):
            await asyncio.wait_for(self.signals.turned.wait(), LOAD_S)
        moved = self.signals.has_moved
        if not moved:
            self.signals.stop()  # within one document nothing is loaded
        await self.settle()
        self.signals.has_moved = False
        self.signals.turned.clear()
        return moved

    @asynccontextmanager
    async def _answered(self, answer: HttpResponse) -> AsyncIterator[None]:
        """Give an answer to what the tab asks for a document meanwhile, before caches and servers are asked."""
        told = {
            "responseCode": answer.status,
            "responseHeaders": [
                {"name": name, "value": value} for name, value in answer.headers if name.lower() != "set-cookie"
            ],
            "body": base64.b64encode(answer.body).decode(),
        }
        asked: list[asyncio.Task[Any]] = []

        def fulfil(event: dict[str, Any]) -> None:
            given = {"requestId": event["requestId"], **told}
            asked.append(asyncio.ensure_future(self.session.send("Fetch.fulfillRequest", given)))

        self.session.on("Fetch.requestPaused", fulfil)
        await self.session.send("Fetch.enable", {"patterns": [{"resourceType": "Document"}]})
        try:
            yield
        finally:
            self.session.remove_listener("Fetch.requestPaused", fulfil)
            with suppress(PlaywrightError):
                await self.session.send("Fetch.disable")
            await asyncio.gather(*asked, return_exceptions=True)

    def check(self) -> None:
        """Raise BrowserError when the page has crashed or was closed by something else."""
        if self.signals.crashed.is_set():
            raise BrowserError(CRASHED)
        if self.page.is_closed():
            raise BrowserError("the page was closed")


async def _middle(handle: Any) -> tuple[float, float]:
    box = await handle.bounding_box()
    if box is None:
        raise ActionError("the element is not shown")
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def _meant(url: str) -> str:
    """Return the address that was refused by opening this one, or the same."""
    return unquote(url.removeprefix(_REFUSED)) if url.startswith(_REFUSED) else url


def _reason(error: PlaywrightError) -> str:
    """Say in one line why Chromium could not do what was asked."""
    lines = [line.strip(" -") for line in error.message.splitlines()]
    blocking = next((line for line in lines if "intercepts pointer events" in line), "")
    if blocking:
        return f"something covers the element: {blocking}"
    return next((line for line in lines if line and "Timeout" not in line and "Call log" not in line), lines[0])
