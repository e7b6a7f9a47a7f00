"""Pages that open by themselves: windows that the page of a tab requests, until they become tabs."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from webarena_gym.browsers.chromium.driver import Driver, PlaywrightError
from webarena_gym.browsers.chromium.responses import Responses
from webarena_gym.browsers.chromium.tab import Tab

if TYPE_CHECKING:
    from playwright.async_api import Page

POPUP_S = 10.0  # limit for the windows that an action has requested
OPENING_S = 20.0  # limit for opening a page


class Popups:
    """The pages of a context that are not in a tab yet, in the order of their opening."""

    def __init__(self) -> None:
        self.pages: list[Page] = []
        self.event = asyncio.Event()  # set when a page opens, or a site sends no content in place of a document

    def add(self, page: "Page") -> None:
        """Add a page that has opened."""
        self.pages.append(page)
        self.event.set()

    @contextmanager
    def ignoring_others(self) -> Iterator[None]:
        """Drop pages that open within the context, which Playwright opens itself."""
        pages = list(self.pages)
        yield
        self.pages = pages

    async def wait_for_windows(self, tab: Tab, responses: Responses, driver: Driver) -> None:
        """Wait for the windows that the page of a tab has requested. Those that get no content never become tabs, and are closed."""
        windows = tab.signals.requested_windows
        with suppress(TimeoutError):
            async with asyncio.timeout(POPUP_S):
                count = 0
                while count < len(windows):
                    while len(self.pages) + responses.count_empty(windows) < len(windows):
                        await self._wait()
                    count = len(windows)
                    with suppress(PlaywrightError):  # the script may request more windows until this call; the page may close
                        await tab.evaluate("async () => null")
        if len(self.pages) >= len(windows):
            return
        with self.ignoring_others():
            expected = len(self.pages) + await driver.close_empty_windows(tab.session)
            with suppress(TimeoutError):
                async with asyncio.timeout(OPENING_S):
                    while len(self.pages) < expected:  # Playwright reports them when they close
                        await self._wait()
            with suppress(PlaywrightError):  # until the page knows that they are closed, it would open links in them
                await tab.evaluate("async () => null")

    async def _wait(self) -> None:
        self.event.clear()
        await self.event.wait()
