"""A browser context: its tabs, its cookies and its only way out; and how all that is saved and brought back."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from webarena_gym.browsers.base import NO_STORAGE, Storage
from webarena_gym.browsers.chromium.driver import Driver, PlaywrightError
from webarena_gym.browsers.chromium.gate import Gate, HttpResponse, is_document, serve_network
from webarena_gym.browsers.chromium.signals import Signals
from webarena_gym.browsers.chromium.tab import BLANK_URL, CRASHED, QUIET_S, NodeLocation, Tab
from webarena_gym.browsers.chromium.window import STYLE, capture
from webarena_gym.browsers.forms import file_type
from webarena_gym.browsers.http import is_web, save_download
from webarena_gym.errors import BrowserError, ScriptError
from webarena_gym.observation.pictures import Capture, PictureFormat
from webarena_gym.pages.page import Network, Traffic

CHANGES = """() => {
  const elements = [...document.querySelectorAll("input, textarea, option, details")];
  const changes = [];
  elements.forEach((element, index) => {
    if (element.localName === "option") changes.push([index, element.selected]);
    else if (element.localName === "details") changes.push([index, element.open]);
    else if (["checkbox", "radio"].includes(element.type)) changes.push([index, element.checked]);
    else if (element.type === "file") changes.push([index, [...element.files].map(({name}) => name)]);
    else if (element.type !== "hidden") changes.push([index, element.value]);
  });
  const all = [...document.querySelectorAll("*")];
  const scrolled = all.flatMap(({scrollLeft, scrollTop}, index) => scrollLeft || scrollTop ? [[index, scrollLeft, scrollTop]] : []);
  return [changes, all.indexOf(document.activeElement), scrolled];
}"""
"""A JavaScript function that returns what a person may have changed in a document, where the focus is, and what was scrolled how far."""

CHANGE = """([changes, focused, scrolled = []]) => {
  const elements = [...document.querySelectorAll("input, textarea, option, details")];
  for (const [index, value] of changes) {
    const element = elements[index];
    if (!element || Array.isArray(value)) continue;
    if (element.localName === "option") element.selected = value;
    else if (element.localName === "details") element.open = value;
    else if (["checkbox", "radio"].includes(element.type)) element.checked = value;
    else element.value = value;
  }
  const all = [...document.querySelectorAll("*")];
  if (focused >= 0 && all[focused] !== document.body) all[focused]?.focus?.({preventScroll: true});
  for (const [index, left, top] of scrolled) all[index]?.scrollTo?.({left, top, behavior: "instant"});
}"""
"""A JavaScript function that makes these changes again, but for files."""
_FIELD = '(index) => document.querySelectorAll("input, textarea, option, details")[index]'


class SavedTab(NamedTuple):
    """A tab as a picklable value: its history (see `tab.History`), and what was entered on the page that it shows.

    `documents` are the pages of the history as they were answered, None where that is not known.
    """

    urls: tuple[str, ...]
    documents: tuple[HttpResponse | None, ...]
    position: int
    changes: Any
    mouse: tuple[int, int] | None = None


class Session(NamedTuple):
    """Everything that a ChromiumBrowser remembers, as a picklable value."""

    tabs: tuple[SavedTab, ...]
    active: int
    cookies: tuple[Mapping[str, Any], ...]
    geolocation: Mapping[str, float] | None = None
    downloads: Mapping[str, bytes] = MappingProxyType({})
    storage: Storage = NO_STORAGE


T = TypeVar("T")

_TIME = (Path(__file__).parent / "time.js").read_text(encoding="utf-8")
_OPEN_SHADOWS = """{
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (how) { return attach.call(this, {...how, mode: "open"}); };
}"""
POPUP_S = 10.0
OPENING_S = 20.0  # how long a new page may take to be there
_SCRIPT = re.compile(rb"<script|javascript:|<i?frame|<object|<embed|[\s'/\x22]on[a-z]+\s*=", re.IGNORECASE)


def dialog_page(asking: Signals) -> str:
    """Return an open dialog as a page."""
    dialog = asking.dialog
    field = f'<p><input aria-label="Answer" value="{escape(asking.entered)}"></p>' if dialog.type == "prompt" else ""
    return f"<dialog open><p>{escape(dialog.message)}</p>{field}<button>OK</button> <button>Cancel</button></dialog>"


class Context:
    """One browser context at a time; `open` begins a new one. All methods run on the driver's thread."""

    def __init__(
        self,
        driver: Driver,
        network: Network | None,
        hosts: frozenset[str],
        viewport: tuple[int, int],
        how: tuple[bool, bool],
        *,
        records: bool = False,
        asks: bool = False,
        draws: bool = False,
        static: bool = False,
        images: bool = True,
    ) -> None:
        self._driver = driver
        self._draws, self._static, self._images = draws, static, images
        self._asks = asks
        self._asked = asyncio.Event()
        self._unfinished: asyncio.Future[Any] | None = None  # what goes on once a dialog is answered
        self.downloads: dict[str, bytes] = {}
        self._records = records
        self._how = how
        self._network = network
        self._serve = None if network is None else serve_network(network)
        self._sites = frozenset(() if network is None else network.hosts)
        self._clock, self._shown = ("", "") if network is None else (network.clock, network.ready_selector)
        self._hosts = hosts
        self._viewport = viewport
        self._gate: Gate | None = None
        self._context: Any = None
        self._name = ""  # of the context, in Chromium's protocol
        self._network_process: int | None = None  # with which the context began
        self._popups: list[Any] = []
        self._has_saved = False  # a download, since something was done last
        self._spare: Tab | None = None  # a cleared one
        self._answers: dict[str, HttpResponse] = {}
        self._replayed: dict[str, HttpResponse] = {}
        self._geolocation: Mapping[str, float] | None = None
        self._ran_scripts = False  # or may have: what they can keep is more than cookies
        self.tabs: list[Tab] = []
        self.active = 0
        self.traffic: Traffic | None = None  # of the session, where it is recorded

    @property
    def tab(self) -> Tab:
        """The active tab."""
        return self.tabs[self.active]

    @property
    def asking(self) -> Signals | None:
        """The signals of the tab in which a dialog waits for an answer."""
        return next((tab.signals for tab in self.tabs if tab.signals.dialog is not None), None)

    @property
    def files(self) -> dict[str, bytes]:
        """The files at hand."""
        return {**(self._network.files if self._network else {}), **self.downloads}

    async def until_asked(self, work: Awaitable[T]) -> T | None:
        """Return what some work comes to; None where a dialog comes up, after which it goes on."""
        if not self._asks:
            return await work
        self._unfinished = doing = asyncio.ensure_future(work)
        asked = asyncio.ensure_future(self._asked.wait())
        try:
            await asyncio.wait((doing, asked), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            doing.cancel()
            raise
        finally:
            asked.cancel()
        if not doing.done():
            return None
        self._unfinished = None
        return doing.result()

    async def answer(self, *, accept: bool) -> None:
        """Answer the dialog that is open, and wait for what follows."""
        asking = self.asking
        assert asking is not None
        dialog, asking.dialog = asking.dialog, None
        self._asked.clear()
        await (dialog.accept(asking.entered) if accept else dialog.dismiss())
        await self.until_asked(self._unfinished or self.tab.act(lambda: asyncio.sleep(0)))

    async def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what some work of the methods below comes to; the sites answer only while there is some.

        What a site raises is raised here, as it is by the in-process browser. Raises BrowserError when Chromium has lost its way
        to the sites.
        """
        try:
            done = await self._unless_crashed(self._admitted(work))
            if any(tab.signals.is_doubtful for tab in self.tabs):
                await self._check()
            return done
        finally:
            if self._gate is not None:
                self._gate.shut()
                self._gate.check()

    async def _admitted(self, work: Coroutine[Any, Any, T]) -> T:
        # Nothing comes between, so that work which begins anew can forget what has been waiting before that is let in.
        if self._gate is not None:
            self._gate.let_in()
        return await work

    async def _unless_crashed(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what some work comes to. Raises BrowserError when the renderer of the active tab dies, which may never answer."""
        if not self.tabs or self.tab.signals.crashed.is_set():
            return await work
        doing, crash = asyncio.ensure_future(work), asyncio.ensure_future(self.tab.signals.crashed.wait())
        try:
            await asyncio.wait((doing, crash), return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                raise BrowserError(CRASHED)
            return doing.result()
        finally:
            crash.cancel()
            doing.cancel()

    async def _check(self) -> None:
        """Raise BrowserError when a part of Chromium has died without which this context cannot go on.

        That is the process that knew its proxy and its cookies, or the one that begets those of pages: then Chromium cannot even
        say that an address cannot be reached.
        """
        if await self._driver.network_process() != self._network_process:
            await self._end()
            raise BrowserError("Chromium's network process has died, and with it what this session knew")
        for tab in self.tabs:
            url, tab.signals.missed_url, tab.signals.is_doubtful = tab.signals.missed_url, "", False
            if is_web(url) and not (self._is_known(url) or tab.has_failed or tab.is_scripted):
                await self._driver.discard(self._context.browser)
                raise BrowserError(f"Chromium shows no page for {url}, not even that it cannot be reached")

    async def open(
        self,
        cookies: Mapping[str, Mapping[str, str]],
        storage: Storage = NO_STORAGE,
        stored: Sequence[Mapping[str, Any]] = (),
        geolocation: Mapping[str, float] | None = None,
    ) -> None:
        """Forget everything and begin a context with these cookies, by host, that storage, others as they were stored, and at that place."""
        await self._begin(geolocation, storage)
        jar = [
            {"name": name, "value": value, "url": f"http://{host}/"}
            for host, held in cookies.items()
            for name, value in held.items()
        ]
        jar.extend(dict(cookie) for cookie in stored)
        if jar:
            await self._context.add_cookies(jar)

    async def _begin(self, geolocation: Mapping[str, float] | None, storage: Storage) -> None:
        self.downloads.clear()
        if self._gate is not None:
            self._gate.forget()
        if geolocation == self._geolocation and not storage and await self._clear():
            return
        if self._gate is not None:
            await self._gate.close()  # what pages have sent and nobody has read, or send as they end, reaches nothing
        await self._end()
        self._geolocation = geolocation
        if self._gate is None:
            self._gate = Gate(None if self._serve is None else self._answer, self._hosts, self._network)
        self._proxy = await self._gate.open()
        if self._records:
            self.traffic = self._gate.traffic = Traffic()
        origins = [
            {"origin": origin, "localStorage": [{"name": name, "value": value} for name, value in held.items()]}
            for origin, held in storage.items()
        ]
        self._context, self._name = await self._driver.new_context(
            storage_state={"cookies": [], "origins": origins},
            proxy={"server": self._proxy, "bypass": "<-loopback>"},
            viewport={"width": self._viewport[0], "height": self._viewport[1]},
            locale="en-US",
            timezone_id="UTC",
            reduced_motion="reduce",
            service_workers="block",
            geolocation=geolocation,
            permissions=["geolocation"] if geolocation else [],
            ignore_https_errors=False,
        )
        self._network_process = await self._driver.network_process()
        self._context.on("page", self._on_page)
        start = datetime.fromisoformat(self._clock).timestamp() * 1000 if self._clock else None
        await self._context.add_init_script(f"({_TIME})({json.dumps(start)})")
        if self._how[0]:
            await self._context.add_init_script(_OPEN_SHADOWS)
        if self._draws:
            await self._context.add_init_script(STYLE)
        if self._records:
            self._context.on("requestfailed", self._on_failed)

    async def _clear(self) -> bool:
        """Make the context as good as new, in a fraction of the time that a new one takes; return False if that cannot be.

        Without scripts a context keeps nothing but cookies, a cache, and what its tabs went through.
        """
        if self._context is None or self._serve is None or self._records or self._ran_scripts or not self.tabs:
            return False
        try:
            for tab in self.tabs[1:]:
                await tab.page.close()
            await self.tabs[0].clear()  # with the cookies and the cache of all
        except (PlaywrightError, BrowserError):
            return False
        self._spare, self.tabs, self.active, self._popups = self.tabs[0], [], 0, []
        self._answers, self._replayed = {}, {}
        return True

    def _on_page(self, page: Any) -> None:
        self._popups.append(page)
        page.on("download", self._on_download)

    async def _on_download(self, download: Any) -> None:
        """Keep a file; Chromium tells it of the tab from which another one was opened for it."""
        name, content, self._has_saved = download.suggested_filename, None, True
        tab = next((tab for tab in self.tabs if tab.page is download.page), self.tab)
        tab.signals.saved.clear()
        with suppress(PlaywrightError):
            content = Path(await download.path()).read_bytes()
            await download.delete()
        kept = None if content is None else save_download(name, content, self.downloads)
        tab.signals.notices.append(kept or f"Download not kept: {name}")
        tab.signals.saved.set()

    def _on_failed(self, request: Any) -> None:
        """Record what never got to a server: a script asks for another host, or for a port not in use."""
        if self.traffic is not None and not self._is_known(request.url):
            self.traffic.record_request(request.method, request.url, request.headers, request.post_data_buffer or b"")

    def _is_known(self, url: str) -> bool:
        """Return whether an address leads to a site, or to a real server that may be reached."""
        host = urlsplit(url).netloc
        return host in self._sites or (self._gate is not None and self._gate.is_allowed(host))

    async def _end(self) -> None:
        context, self._context = self._context, None
        if self._unfinished is not None:
            self._unfinished.cancel()
        self._unfinished = None
        self._asked.clear()
        self.tabs, self.active, self._popups, self._spare = [], 0, [], None
        self._answers, self._replayed, self._ran_scripts = {}, {}, False
        if context is not None:
            with suppress(PlaywrightError):
                await context.close()

    def _answer(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> HttpResponse:
        """Answer one request for a page or a part of it; documents are kept, so that a saved session can show them again."""
        assert self._serve is not None
        replayed = self._replayed.pop(url, None) if is_document(headers) else None
        answer = replayed or self._serve(method, url, headers, body)
        self._ran_scripts = self._ran_scripts or _SCRIPT.search(answer.body) is not None
        if is_document(headers) and answer.status not in range(300, 400):
            self._answers[url] = answer
        if not self._images:
            return answer._replace(headers=[*answer.headers, ("Content-Security-Policy", "img-src 'none'")])
        return answer

    async def new_tab(self, url: str = BLANK_URL) -> None:
        """Open a tab behind the last one, make it active and go to a URL. Raises ActionError for one that is none."""
        tab, self._spare = self._spare, None
        if tab is None:
            page = await self._new_page()
            self._popups.remove(page)
            tab = await self._tab_of(page)
        self.tabs.append(tab)
        self.active = len(self.tabs) - 1
        if url != BLANK_URL or tab.is_stale:
            await self.act(lambda tab: self.navigate(tab, url))

    async def _tab_of(self, page: Any) -> Tab:
        try:
            how = {"listens": self._serve is None, "static": self._static}
            tab = await asyncio.wait_for(Tab.of(page, self._how, self._shown, **how), OPENING_S)
        except TimeoutError as error:  # a dead renderer answers nothing
            raise BrowserError(f"a page that was opened says nothing within {OPENING_S:g} s: its renderer has died") from error
        tab.signals.asked = self._asked if self._asks else None
        return tab

    async def _new_page(self) -> Any:
        chromium = self._context.browser
        try:
            return await asyncio.wait_for(self._driver.new_page(self._context, self._name), OPENING_S)
        except (PlaywrightError, TimeoutError) as error:
            await self._driver.discard(chromium)
            raise BrowserError("Chromium opens no new page; another one is started for who needs it next") from error

    async def close_tab(self) -> None:
        """Close the active tab; the one before it becomes active."""
        tab = self.tabs.pop(self.active)
        self.active = max(0, self.active - 1)
        await tab.page.close()

    async def navigate(self, tab: Tab, url: str) -> None:
        """Open a URL in a tab; what is neither a site nor blank is not opened, as no such thing is there."""
        if url != BLANK_URL and not is_web(url):
            await tab.refuse(url)
        else:
            await tab.open(url)

    async def act(self, action: Callable[[Tab], Awaitable[Any]]) -> None:
        """Do something in the active tab, wait for what follows, and turn to the tab that it opened, if it did.

        What opens a dialog goes on when that is answered.
        """
        self.tab.signals.notices.clear()
        self.tab.signals.chooser = None
        self._has_saved = False
        await self.until_asked(self._act(self.tab, action))

    async def _act(self, tab: Tab, action: Callable[[Tab], Awaitable[Any]]) -> None:
        await tab.act(lambda: action(tab))
        if tab.signals.is_opening:
            with suppress(TimeoutError):
                async with asyncio.timeout(POPUP_S):
                    while not self._popups:
                        await self._context.wait_for_event("page")
            tab.signals.is_opening = False
        await tab.remember(self._answers)
        while self._popups:
            page = self._popups.pop(0)
            if self._has_saved and not page.url:  # which was opened for the download
                await page.close()
                continue
            opened = await self._tab_of(page)
            self.tabs.append(opened)
            self.active = len(self.tabs) - 1
            with suppress(PlaywrightError):
                await opened.page.wait_for_load_state("load")
            await opened.settle()
            await opened.remember(self._answers)
        if not tab.signals.saved.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(tab.signals.saved.wait(), QUIET_S)
            tab.signals.saved.set()
        closed = [each for each in self.tabs if each.page.is_closed()]
        for each in closed:
            self.tabs.remove(each)
            self.active = max(0, min(self.active, len(self.tabs) - 1))
        if not self.tabs:
            await self.new_tab()

    async def travel(self, distance: int) -> bool:
        """Go back or forward in the active tab; return False when there is no such page."""
        self.tab.signals.notices.clear()
        self.tab.signals.chooser = None
        moved = await self.until_asked(self.tab.travel(distance))
        return moved is not False

    async def cookies(self) -> list[dict[str, Any]]:
        """Return all cookies, as Playwright's storage states hold them."""
        return [dict(cookie) for cookie in await self._context.cookies()]

    async def storage(self) -> Storage:
        """Return what scripts have stored."""
        if not self._ran_scripts:
            return {}
        popups = list(self._popups)
        state = await self._context.storage_state()
        self._popups = popups  # without those that were opened to look
        return {each["origin"]: {item["name"]: item["value"] for item in each["localStorage"]} for each in state["origins"]}

    async def run_script(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the active tab. Raises ScriptError when it throws."""
        self._ran_scripts = True
        if self.asking is not None:
            await self.answer(accept=False)
        self.tab.check()
        self.tab.said = None
        try:
            return await self.tab.page.evaluate(f"() => ({expression}\n)")
        except PlaywrightError as error:
            self.tab.check()
            if "crashed" in error.message or "has been closed" in error.message:
                raise
            raise ScriptError(f"{expression!r} threw {error.message.splitlines()[0]}") from error

    def payloads(self, names: Iterable[str]) -> list[dict[str, Any]]:
        """Return files at hand as Playwright takes them."""
        files = self.files
        return [{"name": name, "mimeType": file_type(name), "buffer": files[name]} for name in names if name in files]

    async def screenshot(self) -> bytes:
        """Return a picture of the active tab, or of the dialog that covers it."""
        if self.asking is None:
            return await self.tab.screenshot()
        page = await self._new_page()
        self._popups.remove(page)
        await page.set_content(dialog_page(self.asking))
        picture: bytes = await page.screenshot(type="png")
        await page.close()
        return picture

    async def capture(self, elements: Mapping[int, NodeLocation], kind: PictureFormat) -> Capture:
        """Return a picture of the active tab with the boxes of its elements, or of the dialog that covers it."""
        if self.asking is not None:
            return Capture(await self.screenshot())
        return await capture(self.tab, elements, kind)

    async def save(self) -> Session:
        """Return everything as a value. Raises BrowserError when Chromium has lost some of it."""
        tabs = []
        for tab in self.tabs:
            history = await tab.history()
            changes = await tab.page.evaluate(CHANGES)
            documents = tuple(map(tab.documents.get, history.ids))
            tabs.append(SavedTab(tuple(history.urls), documents, history.position, changes, tab.mouse))
        cookies = tuple(await self._context.cookies())
        await self._check()
        return Session(tuple(tabs), self.active, cookies, self._geolocation, {**self.downloads}, await self.storage())

    async def restore(self, session: Session) -> None:
        """Bring a saved session back in a new context: each page of each tab is shown as it was served then."""
        await self._begin(session.geolocation, session.storage)
        self.downloads.update(session.downloads)
        await self._context.add_cookies(list(session.cookies))
        for saved in session.tabs:
            await self.new_tab()
            for url, document in zip(saved.urls, saved.documents, strict=True):
                if document is not None:
                    self._replayed[url.partition("#")[0]] = document
                await self.tab.act(partial(self.navigate, self.tab, url))
                self._replayed.clear()
                if self.tab.has_failed:  # the page says so, and `_check` need not ask for it once another one is shown
                    self.tab.signals.missed_url = ""
                await self.tab.remember(self._answers)
            distance = saved.position - (await self.tab.history()).position
            if distance:
                await self.tab.travel(distance)
            if self._draws:
                await self.tab.until_whole()  # a page has its height, and can be scrolled, once its images are there
            await self.tab.page.evaluate(CHANGE, saved.changes)
            for index, value in saved.changes[0]:
                if isinstance(value, list) and value:
                    field = (await self.tab.page.evaluate_handle(_FIELD, index)).as_element()
                    await field.set_input_files(self.payloads(value))
            if saved.mouse is not None:
                async with self.tab.drawn():
                    await self.tab.page.mouse.move(*saved.mouse)
                self.tab.mouse = saved.mouse
            self.tab.said = None
        await self._context.clear_cookies()
        await self._context.add_cookies(list(session.cookies))
        self.active = session.active

    async def close(self) -> None:
        """End the context and its way out."""
        if self._gate is not None:
            self._gate.forget()
        await self._end()
        if self._gate is not None:
            await self._gate.close()
            self._gate = None
