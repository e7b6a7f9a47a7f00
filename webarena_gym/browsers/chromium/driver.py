"""The one Chromium of a process, driven by Playwright on a thread of its own. The only module that imports Playwright.

The thread runs an event loop, so that browsers can be used from plain code, from inside somebody else's running loop, and from
any number of threads. Chromium starts with the first browser that needs it and is closed with the last.
"""

import asyncio
import atexit
import os
import shutil
import socket
import threading
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from webarena_gym.errors import BrowserError

try:
    from playwright.async_api import Error as PlaywrightError
    from playwright.async_api import async_playwright
except ImportError:  # an optional extra; `Driver` says how to get it

    class PlaywrightError(Exception):  # type: ignore[no-redef]
        """Stands for what Playwright would raise."""

    async_playwright = None  # type: ignore[assignment]

__all__ = ["ARGUMENTS", "INSTALLED", "SHARED", "SHELLS", "Driver", "PlaywrightError", "find_executable"]

T = TypeVar("T")

INSTALLED = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
"""Commands that start a browser of Chromium's family, in the order in which they are tried."""
SHELLS = ("chromium-headless-shell", "chrome-headless-shell")
"""Commands that start one without any window, which takes half the time; tried first where no window is wanted."""
ARGUMENTS = (
    "--disable-gpu",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--process-per-site",  # else a page may be given to the process of one that is being closed, and dies with it
)
# What leads past the proxy of a context, or finds names without it: WebRTC, QUIC, and Chromium's own look-ups.
_CLOSED = (
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    "--dns-prefetch-disable",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--proxy-bypass-list=<-loopback>",
)
_STATIC = ("--run-all-compositor-stages-before-draw",)  # a picture is of all that is there when it is asked for
_PATIENCE_S = 60.0  # for one call; what takes longer has hung
_CLOSING_S = 10.0


def find_executable(*, headless: bool = True) -> str | None:
    """Return the path of an installed Chromium or Chrome: $WEBARENA_GYM_CHROMIUM, else the first on the path."""
    given = os.environ.get("WEBARENA_GYM_CHROMIUM")
    if given:
        return given
    names = (*SHELLS, *INSTALLED) if headless else INSTALLED
    return next((path for name in names if (path := shutil.which(name))), None)


class Driver:
    """A thread with an event loop, Playwright and one Chromium, which is started again when it has died.

    With `static`, pages of `new_page` are drawn only when they are told to, where Chromium is a headless shell; no other can do that.
    """

    def __init__(self, *, headless: bool = True, static: bool = False) -> None:
        if async_playwright is None:
            raise BrowserError("Chromium needs Playwright: pip install 'webarena-gym[chromium]'")
        self._headless = headless
        self._static = static
        self._draws_on_demand = False
        self._loop = asyncio.new_event_loop()
        self._playwright: Any = None
        self._chromium: Any = None
        self._session: Any = None  # speaks the protocol of the Chromium that runs
        self._starting = asyncio.Lock()
        self._naming = asyncio.Lock()
        # Nobody listens here, and nobody else can, so that what has lost the proxy of its context reaches nothing.
        self._nowhere = socket.socket()
        self._nowhere.bind(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._loop.run_forever, name="chromium", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T], timeout_s: float = _PATIENCE_S, *, goes_on: bool = False) -> T:
        """Do some work on the driver's thread and return its result. Raises BrowserError when Chromium fails or hangs.

        Where this call is interrupted, the work is given up, unless it `goes_on`.
        """
        if threading.current_thread() is self._thread:
            work.close()
            raise BrowserError("a browser was used from its driver's own thread")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(timeout_s)
        except TimeoutError as error:
            if future.done():
                raise  # the work's own
            future.cancel()
            raise BrowserError(f"Chromium did not answer within {timeout_s:g} s") from error
        except PlaywrightError as error:
            raise BrowserError(f"Chromium failed: {error.message.splitlines()[0]}") from error
        except BaseException:
            if not goes_on:
                future.cancel()
            raise

    async def chromium(self) -> Any:
        """Return the running browser; it is started when it does not run, also after a crash. Raises BrowserError."""
        async with self._starting:
            if self._playwright is None:
                self._playwright = await async_playwright().start()
            if self._chromium is None or not self._chromium.is_connected():
                self._chromium = await self._launch()
                self._session = await self._chromium.new_browser_cdp_session()
            return self._chromium

    async def new_context(self, **options: Any) -> tuple[Any, str]:
        """Return a new context of the running browser, and its name in Chromium's protocol, "" where pages draw by themselves."""
        chromium = await self.chromium()
        if not self._draws_on_demand:
            return await chromium.new_context(**options), ""

        async def known() -> set[str]:
            return set((await self._session.send("Target.getBrowserContexts"))["browserContextIds"])

        async with self._naming:  # so that what is new is this one
            before = await known()
            context = await chromium.new_context(**options)
            return context, (await known() - before).pop()

    async def new_page(self, context: Any, name: str) -> Any:
        """Return a new page of a context of that name; see `Tab.drawn` for when it is drawn."""
        if not self._draws_on_demand:
            return await context.new_page()
        async with context.expect_page() as opened:
            how = {"url": "about:blank", "browserContextId": name, "enableBeginFrameControl": True}
            await self._session.send("Target.createTarget", how)
        return await opened.value

    async def network_process(self) -> int | None:
        """Return the id of the process that does the networking of all contexts; None where there is none at the moment."""
        processes = (await self._session.send("SystemInfo.getProcessInfo"))["processInfo"]
        return next((process["id"] for process in processes if "NetworkService" in process["type"]), None)

    async def discard(self, chromium: Any) -> None:
        """End a Chromium that opens no pages any more, and with it all that is open in it; the next one to ask gets another."""
        if self._chromium is chromium:
            self._chromium = None
        with suppress(PlaywrightError, TimeoutError):
            await asyncio.wait_for(chromium.close(), _CLOSING_S)

    async def _launch(self) -> Any:
        bundled = Path(self._playwright.chromium.executable_path)
        path = os.environ.get("WEBARENA_GYM_CHROMIUM") or (
            None if bundled.exists() else find_executable(headless=self._headless)
        )
        if path is None and not bundled.exists():
            raise BrowserError(
                "no Chromium was found; install one with `playwright install chromium` or `apt-get install chromium`, "
                "or name one in WEBARENA_GYM_CHROMIUM"
            )
        proxy = f"--proxy-server=http://127.0.0.1:{self._nowhere.getsockname()[1]}"
        self._draws_on_demand = self._static and "headless" in Path(path or bundled).name
        arguments = [
            *ARGUMENTS,
            *_CLOSED,
            *(_STATIC if self._draws_on_demand else ()),
            proxy,
            *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
        ]
        try:
            return await self._playwright.chromium.launch(executable_path=path, headless=self._headless, args=arguments)
        except PlaywrightError as error:
            raise BrowserError(f"Chromium at {path or bundled} does not start: {error.message.splitlines()[0]}") from error

    def close(self) -> None:
        """End Chromium, Playwright and the thread."""
        if not self._thread.is_alive():
            return

        async def stop() -> None:
            if self._chromium is not None and self._chromium.is_connected():
                await self._chromium.close()
            if self._playwright is not None:
                await self._playwright.stop()

        try:
            with suppress(BrowserError):  # it has died or hangs already; Playwright's own process ends it when this one ends
                self.run(stop(), _CLOSING_S)
        finally:  # also after an interrupt
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(5.0)
            if not self._thread.is_alive():
                self._loop.close()
            self._nowhere.close()


class _Shared:
    """The drivers of this process, and how many browsers use each."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._drivers: dict[tuple[int, bool, bool], tuple[Driver, int]] = {}

    def acquire(self, *, headless: bool, static: bool = False) -> Driver:
        """Return the driver that all browsers of this process share; a forked child gets one of its own."""
        key = (os.getpid(), headless, static)
        with self._lock:
            driver, users = self._drivers.get(key) or (Driver(headless=headless, static=static), 0)
            self._drivers[key] = (driver, users + 1)
        return driver

    def release(self, driver: Driver) -> None:
        """Give a driver back; the last to do so ends it."""
        with self._lock:
            key, (_, users) = next((key, held) for key, held in self._drivers.items() if held[0] is driver)
            if users > 1:
                self._drivers[key] = (driver, users - 1)
                return
            del self._drivers[key]
        driver.close()

    def close(self) -> None:
        """End everything, as this process is about to end."""
        with self._lock:
            drivers = [driver for (pid, _, _), (driver, _) in self._drivers.items() if pid == os.getpid()]
            self._drivers.clear()
        for driver in drivers:
            driver.close()


SHARED = _Shared()
atexit.register(SHARED.close)
