"""A browser context: its tabs, its cookies and its only way out; and how all that is saved and brought back."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from webarena_gym.browsers import urls
from webarena_gym.browsers.chromium.driver import Driver, PlaywrightError
from webarena_gym.browsers.chromium.gate import Answer, Gate, serve_network
from webarena_gym.browsers.chromium.tab import BLANK_URL, Tab
from webarena_gym.errors import ScriptError
from webarena_gym.network import Network

POPUP_S = 10.0

# What a person changed in a document, and how to change it again.
_CHANGES = """() => {
  const elements = [...document.querySelectorAll("input, textarea, option, details")];
  const changes = [];
  elements.forEach((element, index) => {
    if (element.localName === "option") changes.push([index, element.selected]);
    else if (element.localName === "details") changes.push([index, element.open]);
    else if (["checkbox", "radio"].includes(element.type)) changes.push([index, element.checked]);
    else if (element.type !== "file" && element.type !== "hidden") changes.push([index, element.value]);
  });
  const all = [...document.querySelectorAll("*")];
  return [changes, all.indexOf(document.activeElement)];
}"""
_CHANGE = """([changes, focused]) => {
  const elements = [...document.querySelectorAll("input, textarea, option, details")];
  for (const [index, value] of changes) {
    const element = elements[index];
    if (!element) continue;
    if (element.localName === "option") element.selected = value;
    else if (element.localName === "details") element.open = value;
    else if (["checkbox", "radio"].includes(element.type)) element.checked = value;
    else element.value = value;
  }
  const all = [...document.querySelectorAll("*")];
  if (focused >= 0 && all[focused] !== document.body) all[focused]?.focus?.();
}"""


class SavedTab(NamedTuple):
    """A tab as a picklable value: the addresses of its history, where it is in it, and what was entered on that page."""

    urls: tuple[str, ...]
    position: int
    changes: Any


class Session(NamedTuple):
    """Everything that a ChromiumBrowser remembers, as a picklable value. `answers` are the documents as they were served."""

    tabs: tuple[SavedTab, ...]
    active: int
    cookies: tuple[Mapping[str, Any], ...]
    answers: Mapping[str, tuple[int, tuple[tuple[str, str], ...], bytes]]


class Context:
    """One browser context at a time; `open` begins a new one. All methods run on the driver's thread."""

    def __init__(
        self,
        driver: Driver,
        network: Network | None,
        hosts: frozenset[str],
        viewport: tuple[int, int],
        how: tuple[bool, bool],
    ) -> None:
        self._driver = driver
        self._how = how
        self._serve = None if network is None else serve_network(network)
        self._hosts = hosts
        self._viewport = viewport
        self._gate: Gate | None = None
        self._context: Any = None
        self._popups: list[Any] = []
        self._answers: dict[str, Answer] = {}
        self._replayed: dict[str, Answer] = {}
        self.tabs: list[Tab] = []
        self.active = 0

    @property
    def tab(self) -> Tab:
        """The active tab."""
        return self.tabs[self.active]

    async def open(self, cookies: Mapping[str, Mapping[str, str]], stored: Sequence[Mapping[str, Any]] = ()) -> None:
        """Forget everything and begin a context with these cookies, by host, and with others as they were stored."""
        await self._begin()
        jar = [
            {"name": name, "value": value, "url": f"http://{host}/"}
            for host, held in cookies.items()
            for name, value in held.items()
        ]
        jar.extend(dict(cookie) for cookie in stored)
        if jar:
            await self._context.add_cookies(jar)

    async def _begin(self) -> None:
        await self._end()
        chromium = await self._driver.chromium()
        if self._gate is None:
            self._gate = Gate(None if self._serve is None else self._answer, self._hosts)
            self._proxy = await self._gate.open()
        self._context = await chromium.new_context(
            proxy={"server": self._proxy, "bypass": "<-loopback>"},
            viewport={"width": self._viewport[0], "height": self._viewport[1]},
            locale="en-US",
            timezone_id="UTC",
            reduced_motion="reduce",
            service_workers="block",
            ignore_https_errors=False,
        )
        self._context.on("page", self._on_page)

    def _on_page(self, page: Any) -> None:
        self._popups.append(page)

    async def _end(self) -> None:
        context, self._context = self._context, None
        self.tabs, self.active, self._popups = [], 0, []
        self._answers, self._replayed = {}, {}
        if context is not None:
            with suppress(PlaywrightError):
                await context.close()

    def _answer(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Answer one request for a page or a part of it; documents are kept, so that a saved session can show them again."""
        assert self._serve is not None
        is_document = headers.get("Sec-Fetch-Dest", "document") in ("document", "iframe")
        if is_document and url in self._replayed:
            return self._replayed.pop(url)
        answer = self._serve(method, url, headers, body)
        if is_document and answer.status not in range(300, 400):
            self._answers[url] = answer
        return answer

    async def new_tab(self) -> None:
        """Open a blank tab behind the last one and make it active."""
        page = await self._context.new_page()
        self._popups.remove(page)
        self.tabs.append(await Tab.of(page, self._how))
        self.active = len(self.tabs) - 1

    async def close_tab(self) -> None:
        """Close the active tab; the one before it becomes active."""
        tab = self.tabs.pop(self.active)
        self.active = max(0, self.active - 1)
        await tab.page.close()

    async def navigate(self, tab: Tab, url: str) -> None:
        """Open a URL in a tab; what is neither a site nor blank is not opened, as no such thing is there."""
        if url != BLANK_URL and not urls.is_web(url):
            await tab.page.goto(BLANK_URL)
            tab.fail(url)
            return
        try:
            await tab.page.goto(url, wait_until="commit")
        except PlaywrightError as error:
            if "net::ERR_ABORTED" not in error.message and "net::" not in error.message:
                raise

    async def act(self, action: Callable[[Tab], Awaitable[Any]]) -> None:
        """Do something in the active tab, wait for what follows, and turn to the tab that it opened, if it did."""
        tab = self.tab
        tab.notices.clear()
        await tab.act(lambda: action(tab))
        if tab.is_opening:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._popup(), POPUP_S)
            tab.is_opening = False
        while self._popups:
            opened = await Tab.of(self._popups.pop(0), self._how)
            self.tabs.append(opened)
            self.active = len(self.tabs) - 1
            with suppress(PlaywrightError):
                await opened.page.wait_for_load_state("load")
            await opened.settle()
        closed = [each for each in self.tabs if each.page.is_closed()]
        for each in closed:
            self.tabs.remove(each)
            self.active = max(0, min(self.active, len(self.tabs) - 1))
        if not self.tabs:
            await self.new_tab()

    async def _popup(self) -> None:
        while not self._popups:
            await self._context.wait_for_event("page")

    async def travel(self, distance: int) -> bool:
        """Go back or forward in the active tab; return False when there is no such page."""
        self.tab.notices.clear()
        return await self.tab.travel(distance)

    async def cookies(self) -> list[dict[str, Any]]:
        """Return all cookies, as Playwright's storage states hold them."""
        return [dict(cookie) for cookie in await self._context.cookies()]

    async def run_script(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the active tab. Raises ScriptError when it throws."""
        self.tab.check()
        self.tab.forget()
        try:
            return await self.tab.page.evaluate(f"() => ({expression}\n)")
        except PlaywrightError as error:
            self.tab.check()
            if "crashed" in error.message or "has been closed" in error.message:
                raise
            raise ScriptError(f"{expression!r} threw {error.message.splitlines()[0]}") from error

    async def save(self) -> Session:
        """Return everything as a value."""
        tabs = []
        for tab in self.tabs:
            history = await tab.history()
            changes = await tab.page.evaluate(_CHANGES)
            tabs.append(SavedTab(tuple(history.urls), history.position, changes))
        wanted = {url.partition("#")[0] for tab in tabs for url in tab.urls}
        answers = {
            url: (answer.status, tuple(answer.headers), answer.body) for url, answer in self._answers.items() if url in wanted
        }
        return Session(tuple(tabs), self.active, tuple(await self._context.cookies()), answers)

    async def restore(self, session: Session) -> None:
        """Bring a saved session back in a new context: each page of each tab is shown as it was served then."""
        await self._begin()
        await self._context.add_cookies(list(session.cookies))
        answers = {url: Answer(status, list(headers), body) for url, (status, headers, body) in session.answers.items()}
        for saved in session.tabs:
            await self.new_tab()
            for url in saved.urls:
                if url == BLANK_URL:
                    continue
                document = url.partition("#")[0]
                if document in answers:
                    self._replayed[document] = answers[document]
                await self.tab.act(partial(self.navigate, self.tab, url))
                self._replayed.clear()
            distance = saved.position - (await self.tab.history()).position
            if distance:
                await self.tab.travel(distance)
            await self.tab.page.evaluate(_CHANGE, saved.changes)
            self.tab.forget()
        await self._context.clear_cookies()
        await self._context.add_cookies(list(session.cookies))
        self._answers |= answers
        self.active = session.active

    async def close(self) -> None:
        """End the context and its way out."""
        await self._end()
        if self._gate is not None:
            await self._gate.close()
            self._gate = None
