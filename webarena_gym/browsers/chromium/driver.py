"""The Chromium of a process, driven by Playwright on a separate thread. The only module that imports Playwright.

The thread runs an event loop, so browsers work in synchronous code, inside another running event loop, and on any number of
threads. Chromium starts with the first browser and is closed with the last one.
"""

import asyncio
import atexit
import os
import re
import shutil
import socket
import threading
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from webarena_gym.errors import BrowserError

try:
    from playwright.async_api import Error as PlaywrightError
    from playwright.async_api import async_playwright
except ImportError:  # an optional extra; `Driver` raises an error with the install command

    class PlaywrightError(Exception):  # type: ignore[no-redef]
        """Placeholder for Playwright's Error."""

    async_playwright = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, CDPSession, Page, Playwright

__all__ = [
    "ARGUMENTS",
    "INSTALLED",
    "SHARED",
    "SHELLS",
    "Driver",
    "PlaywrightError",
    "find_executable",
    "has_left",
    "reason_of",
]

T = TypeVar("T")

_GONE = re.compile("context was destroyed|navigat|frame was detached|Target.{0,80}closed|has been closed", re.IGNORECASE)

INSTALLED = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
"""Commands of Chromium-based browsers in the order of the search."""
NOT_FOUND = "no Chromium was found"
"""The beginning of the error where no browser is installed."""
SHELLS = ("chromium-headless-shell", "chrome-headless-shell")
"""Commands of headless shells, which take half the time. They are tried first if no window is needed."""
ARGUMENTS = (
    "--disable-gpu",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
)
# Disable connections and DNS look-ups that bypass a context's proxy: WebRTC, QUIC and prefetching.
_NO_BYPASS = (
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    "--dns-prefetch-disable",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--proxy-bypass-list=<-loopback>",
)
_STATIC = ("--run-all-compositor-stages-before-draw",)  # a screenshot contains everything that the page has at the request
_CALL_TIMEOUT_S = 60.0
_CLOSE_TIMEOUT_S = 10.0


def find_executable(*, headless: bool = True) -> str | None:
    """Return the path of an installed Chromium or Chrome: $WEBARENA_GYM_CHROMIUM, or the first on $PATH; None if there is none."""
    configured = os.environ.get("WEBARENA_GYM_CHROMIUM")
    if configured:
        return configured
    names = (*SHELLS, *INSTALLED) if headless else INSTALLED
    return next((path for name in names if (path := shutil.which(name))), None)


def has_left(error: PlaywrightError) -> bool:
    """Return True for the error of a call to a page that navigated or closed during the call."""
    return _GONE.search(error.message) is not None


def reason_of(error: PlaywrightError) -> str:
    """Return a one-line reason for a failed Playwright action."""
    lines = [line.strip(" -") for line in error.message.splitlines()]
    blocking = next((line for line in lines if "intercepts pointer events" in line), "")
    if blocking:
        return f"something covers the element: {blocking}"
    causes = (line for line in reversed(lines) if line.startswith("element ") and not line.startswith("element is visible"))
    cause = next(causes, "")  # such as "element is not visible"
    return cause or next((line for line in lines if line and "Timeout" not in line and "Call log" not in line), lines[0])


class Driver:
    """A thread with an event loop, Playwright and one Chromium, which is restarted after a crash.

    Args:
        headless: show no window.
        static: draw pages of `new_page` only on request (begin-frame control). Only headless shells support it; others ignore
            it.

    """

    def __init__(self, *, headless: bool = True, static: bool = False) -> None:
        if async_playwright is None:
            raise BrowserError("Chromium needs Playwright: pip install 'webarena-gym[chromium]'")
        self._headless = headless
        self._static = static
        self._draws_on_demand = False
        self._loop = asyncio.new_event_loop()
        self._playwright: Playwright | None = None
        self._chromium: Browser | None = None
        self._session: Any = None  # CDP session of the running Chromium
        self._start_lock = asyncio.Lock()
        self._context_lock = asyncio.Lock()
        # Default proxy without a listener: a request that has lost its context's proxy reaches nothing.
        self._dead_proxy = socket.socket()
        self._dead_proxy.bind(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._loop.run_forever, name="chromium", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T], timeout_s: float | None = None, *, is_shielded: bool = False) -> T:
        """Run a coroutine on the driver's thread and return its result.

        Args:
            work: the coroutine.
            timeout_s: time limit in seconds; None for 60.
            is_shielded: let the coroutine finish if this call is interrupted, e.g. by KeyboardInterrupt; by default it is
                cancelled.

        Raises:
            BrowserError: if Chromium fails or does not reply in time.

        """
        if threading.current_thread() is self._thread:
            work.close()
            raise BrowserError("browsers cannot be used on the thread of their driver")
        timeout_s = _CALL_TIMEOUT_S if timeout_s is None else timeout_s
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(timeout_s)
        except TimeoutError as error:
            if future.done():
                raise  # the coroutine raised it
            future.cancel()
            raise BrowserError(f"Chromium did not answer within {timeout_s:g} s") from error
        except PlaywrightError as error:
            raise BrowserError(f"Chromium failed: {error.message.splitlines()[0]}") from error
        except BaseException:
            if not is_shielded:
                future.cancel()
            raise

    async def chromium(self) -> "Browser":
        """Return the running Chromium; start it if necessary, also after a crash. Raises BrowserError if it does not start."""
        async with self._start_lock:
            if self._playwright is None:
                self._playwright = await async_playwright().start()
            if self._chromium is None or not self._chromium.is_connected():
                self._chromium = await self._launch(self._playwright)
                self._session = await self._chromium.new_browser_cdp_session()
            return self._chromium

    async def new_context(self, **options: Any) -> "tuple[BrowserContext, str]":
        """Return a new context and its CDP id, or "" for the id if pages draw by themselves."""
        chromium = await self.chromium()
        if not self._draws_on_demand:
            return await chromium.new_context(**options), ""

        async def context_ids() -> set[str]:
            return set((await self._session.send("Target.getBrowserContexts"))["browserContextIds"])

        async with self._context_lock:  # so that only one new id appears
            before = await context_ids()
            context = await chromium.new_context(**options)
            return context, (await context_ids() - before).pop()

    async def new_page(self, context: "BrowserContext", context_id: str) -> "Page":
        """Return a new page of a context with this CDP id; see `Tab.drawing` for when it is drawn."""
        if not self._draws_on_demand:
            return await context.new_page()
        async with context.expect_page() as page_event:
            parameters = {"url": "about:blank", "browserContextId": context_id, "enableBeginFrameControl": True}
            await self._session.send("Target.createTarget", parameters)
        return await page_event.value

    async def close_empty_windows(self, session: "CDPSession") -> int:
        """Close the windows without a document, which Playwright does not report, in the context of a page with this CDP session.

        Return their number.
        """
        context_id = (await session.send("Target.getTargetInfo"))["targetInfo"]["browserContextId"]
        targets = (await self._session.send("Target.getTargets"))["targetInfos"]
        empty = [
            target["targetId"]
            for target in targets
            if (target["type"], target["url"], target.get("browserContextId")) == ("page", "", context_id)
        ]
        for target_id in empty:
            await self._session.send("Target.closeTarget", {"targetId": target_id})
        return len(empty)

    async def network_process(self) -> int | None:
        """Return the id of Chromium's network process, which serves all contexts; None if it is not running."""
        processes = (await self._session.send("SystemInfo.getProcessInfo"))["processInfo"]
        return next((process["id"] for process in processes if "NetworkService" in process["type"]), None)

    async def discard(self, chromium: "Browser") -> None:
        """Close a Chromium that cannot open pages any more, with all its contexts. The next call of `chromium` starts another."""
        if self._chromium is chromium:
            self._chromium = None
        with suppress(PlaywrightError, TimeoutError):
            await asyncio.wait_for(chromium.close(), _CLOSE_TIMEOUT_S)

    async def _launch(self, playwright: "Playwright") -> "Browser":
        bundled = Path(playwright.chromium.executable_path)
        path = os.environ.get("WEBARENA_GYM_CHROMIUM") or (
            None if bundled.exists() else find_executable(headless=self._headless)
        )
        if path is None and not bundled.exists():
            raise BrowserError(
                f"{NOT_FOUND}; install one with `playwright install chromium` or `apt-get install chromium`, "
                "or set WEBARENA_GYM_CHROMIUM to its path"
            )
        proxy = f"--proxy-server=http://127.0.0.1:{self._dead_proxy.getsockname()[1]}"
        self._draws_on_demand = self._static and "headless" in Path(path or bundled).name
        arguments = [
            *ARGUMENTS,
            *_NO_BYPASS,
            *(_STATIC if self._draws_on_demand else ()),
            proxy,
            *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
        ]
        try:
            return await playwright.chromium.launch(executable_path=path, headless=self._headless, args=arguments)
        except PlaywrightError as error:
            raise BrowserError(f"Chromium at {path or bundled} does not start: {error.message.splitlines()[0]}") from error

    def close(self) -> None:
        """Stop Chromium, Playwright and the thread."""
        if not self._thread.is_alive():
            return

        async def stop() -> None:
            if self._chromium is not None and self._chromium.is_connected():
                await self._chromium.close()
            if self._playwright is not None:
                await self._playwright.stop()
            rest = asyncio.all_tasks() - {asyncio.current_task()}  # connections of browsers that are not closed
            for task in rest:
                task.cancel()
            await asyncio.gather(*rest, return_exceptions=True)

        try:
            with suppress(BrowserError):  # Chromium is dead or hangs; Playwright's process kills it when this process ends
                self.run(stop(), _CLOSE_TIMEOUT_S)
        finally:  # also after KeyboardInterrupt
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(5.0)
            if not self._thread.is_alive():
                self._loop.close()
            self._dead_proxy.close()


class _SharedDrivers:
    """The drivers of this process with their reference counts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._drivers: dict[tuple[int, bool, bool], tuple[Driver, int]] = {}

    def acquire(self, *, headless: bool, static: bool = False) -> Driver:
        """Return the driver shared by all browsers of this process; a forked child gets its own."""
        key = (os.getpid(), headless, static)
        with self._lock:
            driver, users = self._drivers.get(key) or (Driver(headless=headless, static=static), 0)
            self._drivers[key] = (driver, users + 1)
        return driver

    def release(self, driver: Driver) -> None:
        """Release a driver. The last release closes it."""
        with self._lock:
            key, (_, users) = next((key, entry) for key, entry in self._drivers.items() if entry[0] is driver)
            if users > 1:
                self._drivers[key] = (driver, users - 1)
                return
            del self._drivers[key]
        driver.close()

    def close(self) -> None:
        """Close all drivers at the exit of the process."""
        with self._lock:
            drivers = [driver for (pid, _, _), (driver, _) in self._drivers.items() if pid == os.getpid()]
            self._drivers.clear()
        for driver in drivers:
            driver.close()


SHARED = _SharedDrivers()
atexit.register(SHARED.close)
