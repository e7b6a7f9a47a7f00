"""Virtual time of pages with scripts: a page's clock passes only while the browser waits for the page, as fast as its scripts run.

So equal actions give equal pages, whatever the load of the machine, and timers cost no real time. `virtual_time.js` implements the clock
of a document, and `random.js` seeds its random numbers. Servers and workers do not follow it: while a document has an event stream, a WebSocket or a worker, real time passes too.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webarena_gym.browsers.chromium.driver import PlaywrightError

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Frame, Page

_FOLDER = Path(__file__).parent
_SCRIPT, _RANDOM = ((_FOLDER / name).read_text(encoding="utf-8") for name in ("virtual_time.js", "random.js"))
_CLOCK = 'window[Symbol.for("webarena_gym.clock")]'
_LEAD_MS = 10_000.0
"""Limit of the time between an action and a new document, at least half of which passes, as that of the old document goes on."""
IS_READY = f"""async (limit) => {{
  let isReady = false;
  window[Symbol.for("webarena_gym.time")].ready().then(() => {{ isReady = true; }});
  await {_CLOCK}.until(() => isReady, limit);
}}"""
"""JavaScript function that lets time pass until the first timers of a document have run, at most `limit` ms."""
HAS_ELEMENT = f"async (selector, limit) => {_CLOCK}.until(() => document.querySelector(selector) !== null, limit)"
"""JavaScript function that lets time pass until a CSS selector matches, at most `limit` ms, and returns true if it does."""


class VirtualTime:
    """The virtual time of a browser context, which the documents of all its tabs share.

    Args:
        start_ms: time of the first document in milliseconds since 1970; None for the real time.
        is_silent: the server sends no messages that matter, so event streams and WebSockets do not make real time pass.
        reply_ms: limit of the real time for the reply to a message that a page sends to a server or worker.

    """

    def __init__(self, start_ms: float | None, *, is_silent: bool, reply_ms: int) -> None:
        self.init_script = f"({_SCRIPT})({json.dumps(start_ms)}, {json.dumps(is_silent)}, {reply_ms}); ({_RANDOM})();"
        self.elapsed_ms = 0.0  # at the end of the last action
        self.documents = 0  # that actions have opened; new documents take their random numbers from it
        self.is_restoring = False  # new documents are those of a snapshot, whose time is set later
        self._starts: dict[CDPSession, float] = {}  # elapsed time of new documents, by CDP session
        self._scripts: dict[
            CDPSession, str
        ] = {}  # identifier of the script that sets the time of new documents, by CDP session

    async def attach(self, session: "CDPSession") -> None:
        """Stop the animations of a tab, which `virtual_time.js` moves, and set the time of its new documents."""
        await session.send("Animation.enable")
        await session.send("Animation.setPlaybackRate", {"playbackRate": 0})
        await self._set_start(session)

    async def reset(self, session: "CDPSession") -> None:
        """Return to the initial time, in a context of which only one tab remains."""
        script = self._scripts.get(session)
        self.elapsed_ms, self.documents, self.is_restoring, self._starts, self._scripts = 0.0, 0, False, {}, {}
        if script is not None:
            await session.send("Page.removeScriptToEvaluateOnNewDocument", {"identifier": script})

    async def start_restoring(self, documents: int, session: "CDPSession") -> None:
        """Prepare a tab for the documents of a snapshot. `documents` is the number of documents that actions had opened before it."""
        self.is_restoring, self.documents = True, documents + 1
        await self._set_start(session)

    async def synchronize(self, elapsed_ms: "Mapping[Frame, float]", session: "CDPSession", *, has_new_document: bool) -> None:
        """Set the clocks of a page's frames, given with their elapsed times, to the latest of them, without running timers."""
        if has_new_document and not self.is_restoring:
            self.documents += 1
            self._starts.pop(session, None)
        self.elapsed_ms = latest = max(self.elapsed_ms, *elapsed_ms.values(), 0.0)
        for frame, elapsed in elapsed_ms.items():
            if elapsed < latest:
                await _evaluate(frame, f"(elapsed) => {_CLOCK}?.moveTo(elapsed)", latest)
        await self._set_start(session)

    async def advance(self, page: "Page", duration_ms: float) -> None:
        """Let time pass in a page. Real time passes too while it has streams or workers."""
        for frame in page.frames:
            await _evaluate(frame, f"(duration) => {_CLOCK}?.advance(duration, true)", duration_ms)

    async def ignore_pending(self, page: "Page") -> None:
        """Stop waiting for the pending requests of a page's scripts, and for later ones with the same address."""
        for frame in page.frames:
            await _evaluate(frame, f"() => {_CLOCK}?.ignorePending()")

    async def _set_start(self, session: "CDPSession") -> None:
        if not (self.elapsed_ms or self.documents) or self._starts.get(session, 0.0) - self.elapsed_ms > _LEAD_MS / 2:
            return
        elapsed = 0.0 if self.is_restoring else self.elapsed_ms + _LEAD_MS
        self._starts[session] = elapsed
        # its order with the context's scripts is undefined
        source = (
            f'window[Symbol.for("webarena_gym.documents")] = {self.documents};'
            f' window[Symbol.for("webarena_gym.elapsed")] = {elapsed}; {_CLOCK}?.moveTo({elapsed})'
        )
        with suppress(PlaywrightError):  # the page may close
            reply = await session.send("Page.addScriptToEvaluateOnNewDocument", {"source": source})
            previous, self._scripts[session] = self._scripts.get(session), reply["identifier"]
            if previous is not None:
                await session.send("Page.removeScriptToEvaluateOnNewDocument", {"identifier": previous})


async def _evaluate(frame: "Frame", script: str, argument: object = None) -> Any:
    """Return the value of a function in a frame; None if the frame has gone."""
    with suppress(PlaywrightError):
        return await frame.evaluate(script, argument)
    return None
