"""Waiting until the frames of a page are at rest (see `rest.js`) and no request is pending."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from webarena_gym.browsers.chromium.driver import PlaywrightError, has_left, reason_of
from webarena_gym.browsers.chromium.signals import Signals
from webarena_gym.browsers.chromium.virtual_time import VirtualTime

if TYPE_CHECKING:
    from playwright.async_api import Frame, Page

LOAD_S = 30.0  # limit for loading a page; after that it is read incomplete
QUIET_S = 5.0  # limit for pending requests after loading
RESTLESS_S = 1.5  # limit for scripts that keep changing a page
BUSY_MS = 500.0  # real time for messages of the server, between turns of virtual time
MIN_RELAPSE_MS, MAX_RELAPSE_MS = 300.0, 3_000.0  # real time in which a page may become busy (again): as long as it was
MAX_PASSES = 5  # of a page with frames, whose messages to each other may change them
_REST = (Path(__file__).parent / "rest.js").read_text(encoding="utf-8")


class RestMonitor:
    """The waits of a tab for its page, which end when nothing changes the page any more, or at their limits.

    Args:
        page: Playwright page.
        signals: event state of the tab.
        busy_selector: CSS selector of elements that pages at rest do not have; "" for none.
        time: virtual time of the context; None for real time.

    """

    def __init__(self, page: "Page", signals: Signals, busy_selector: str, time: VirtualTime | None) -> None:
        self._page = page
        self._signals = signals
        self._busy_selector = busy_selector
        self._time = time
        self.used_real_time = False  # whether the scripts followed the real time, at least in part, since `start`
        self.elapsed_ms: dict[Frame, float] = {}  # virtual time of each frame
        self._has_changed = False  # whether a frame changed during the last pass over all frames

    def start(self) -> None:
        """Forget the times of earlier waits."""
        self.used_real_time, self.elapsed_ms = False, {}

    async def wait_until_quiet(self) -> None:
        """Wait, at most QUIET_S, until no request is pending and the page is at rest."""
        try:
            async with asyncio.timeout(QUIET_S):
                await self.wait_for_rest()
                for _ in range(MAX_PASSES if self._time is not None and len(self._page.frames) > 1 else 0):
                    self._has_changed = (
                        False  # frames have their own clocks, so one may have had a message after it was at rest
                    )
                    await self.wait_for_rest()
                    if not self._has_changed:
                        break
                while self._signals.requests or not self._signals.load_event.is_set():
                    if self._time is not None:
                        await self._signals.progress()
                    await self.wait_for_rest()
        except TimeoutError:
            if self._time is not None:
                await self._time.ignore_pending(self._page)
        self._signals.ignore_pending_requests()

    async def wait_while_busy(self) -> None:
        """Wait, at most LOAD_S, until no element matches the selector of busy pages for some time, and the page is at rest again."""
        clock = asyncio.get_running_loop().time
        end, busy_ms = clock() + LOAD_S, 0.0
        try:
            while await self._becomes_busy(min(max(busy_ms, MIN_RELAPSE_MS), MAX_RELAPSE_MS)):
                start = clock()
                if start > end:
                    self._signals.notices.append(f"The page was still busy after {LOAD_S:g} s: it has {self._busy_selector}")
                    return
                with suppress(PlaywrightError):  # still busy: timers of the page may have to end it
                    await self._page.wait_for_selector(self._busy_selector, state="detached", timeout=BUSY_MS)
                await self.wait_until_quiet()
                busy_ms += (clock() - start) * 1000
            await self.wait_until_quiet()
        except PlaywrightError as error:  # an invalid selector, or the page has navigated
            if not has_left(error):
                self._signals.notices.append(f"The page cannot be searched for {self._busy_selector}: {reason_of(error)}")

    async def _becomes_busy(self, limit_ms: float) -> bool:
        """Return True if an element matches the selector of busy pages within this real time."""
        try:
            await self._page.wait_for_selector(self._busy_selector, state="attached", timeout=limit_ms)
        except PlaywrightError as error:
            if error.name == "TimeoutError":
                return False
            raise
        return True

    async def wait_for_rest(self, patience_s: float = 0.0) -> None:
        """Wait until all frames are at rest (see `rest.js`). With patience, first wait that long for a change in one of them."""

        async def watch(frame: "Frame") -> None:
            with suppress(PlaywrightError):  # the page may navigate
                arguments = [patience_s * 1000, RESTLESS_S * 1000]
                rest = await frame.evaluate(f"([patience, limit]) => ({_REST})(patience, limit)", arguments)
                self.used_real_time = self.used_real_time or rest["isReal"]
                self._has_changed = self._has_changed or rest["hasChanged"]
                self.elapsed_ms[frame] = rest["elapsed"]
                self._signals.expected_downloads += rest["downloads"]

        tasks = [asyncio.ensure_future(watch(frame)) for frame in self._page.frames]
        condition = asyncio.FIRST_COMPLETED if patience_s else asyncio.ALL_COMPLETED
        try:
            await asyncio.wait(tasks, timeout=patience_s + QUIET_S, return_when=condition)
        finally:
            for task in tasks:
                task.cancel()
