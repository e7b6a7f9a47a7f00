"""Waits for pages at rest: changes of frames, pending requests, busy pages, and their limits."""

import asyncio
from types import SimpleNamespace

import pytest

from tests import needs
from tests.browsers.chromium.pages import HOME, press, seen
from webarena_gym.browsers.chromium import rest
from webarena_gym.browsers.chromium.driver import PlaywrightError
from webarena_gym.browsers.chromium.rest import RestMonitor

BUSY = "[aria-busy=true]"


def watched(**values):
    """Return the result of rest.js for a frame."""
    return {"isReal": False, "hasChanged": False, "elapsed": 0.0, "downloads": 0} | values


class Frame:
    """A frame whose calls of rest.js return these results in order, the last one for all further calls."""

    def __init__(self, *results):
        self.results, self.calls = list(results), []

    async def evaluate(self, _, arguments):
        self.calls.append(arguments)
        result = self.results.pop(0) if len(self.results) > 1 else self.results[0]
        if isinstance(result, Exception):
            raise result
        return result


class Selector:
    """The waits for a selector by state: each returns, or raises the next error of its list."""

    def __init__(self, attached=(), detached=()):
        self.errors, self.calls = {"attached": list(attached), "detached": list(detached)}, []

    async def wait(self, selector, *, state, timeout):
        self.calls.append((selector, state, timeout))
        errors = self.errors[state]
        if errors and (error := errors.pop(0)) is not None:
            raise error


def timed_out():
    error = PlaywrightError("Timeout exceeded")
    error._name = "TimeoutError"
    return error


class Clock:
    """Virtual time that records the pages whose requests are no longer awaited."""

    def __init__(self):
        self.ignored = []

    async def ignore_pending(self, page):
        self.ignored.append(page)


@pytest.fixture
def signals():
    made = SimpleNamespace(requests=set(), load_event=asyncio.Event(), notices=[], expected_downloads=0, ignored=0)
    made.load_event.set()

    def ignore():
        made.ignored += 1

    async def progress():
        made.requests.pop()

    made.ignore_pending_requests, made.progress = ignore, progress
    return made


def monitor(signals, *frames, selector=None, time=None):
    page = SimpleNamespace(frames=list(frames), wait_for_selector=selector and selector.wait)
    return RestMonitor(page, signals, BUSY, time)


def test_the_times_and_downloads_of_all_frames_are_recorded(signals):
    main, inner = Frame(watched(elapsed=30.0, downloads=1)), Frame(watched(elapsed=20.0, downloads=2, isReal=True))
    watching = monitor(signals, main, inner)
    asyncio.run(watching.wait_for_rest(2.0))
    assert watching.elapsed_ms == {main: 30.0, inner: 20.0}
    assert (watching.used_real_time, signals.expected_downloads) == (True, 3)
    assert main.calls == [[2000.0, rest.RESTLESS_S * 1000]]
    watching.start()
    assert (watching.used_real_time, watching.elapsed_ms) == (False, {})


def test_frames_are_awaited_until_none_has_changed(signals):
    main = Frame(watched(), watched(), watched(hasChanged=True), watched())
    frames = (main, Frame(watched(hasChanged=True), watched(hasChanged=True), watched()))
    asyncio.run(monitor(signals, *frames, time=Clock()).wait_until_quiet())
    assert len(main.calls) == 4, "twice with changes and once without, after the first one"
    main.calls.clear()
    asyncio.run(monitor(signals, *frames).wait_until_quiet())
    assert len(main.calls) == 1, "in real time, frames share their clock"


def test_passes_over_frames_that_change_each_other_for_ever_are_limited(signals):
    main = Frame(watched(hasChanged=True))
    asyncio.run(monitor(signals, main, Frame(watched()), time=Clock()).wait_until_quiet())
    assert len(main.calls) == 1 + rest.MAX_PASSES


def test_pending_requests_are_awaited_in_virtual_time(signals):
    signals.requests = {1, 2}
    frame, clock = Frame(watched()), Clock()
    asyncio.run(monitor(signals, frame, time=clock).wait_until_quiet())
    assert (len(frame.calls), signals.requests, clock.ignored, signals.ignored) == (3, set(), [], 1)


def test_requests_beyond_the_limit_are_no_longer_awaited(signals, monkeypatch):
    monkeypatch.setattr(rest, "QUIET_S", 0.01)
    signals.load_event.clear()
    signals.progress = asyncio.Event().wait  # never set
    watching = monitor(signals, Frame(watched()), time=(clock := Clock()))
    asyncio.run(watching.wait_until_quiet())
    assert (len(clock.ignored), signals.ignored) == (1, 1)


def test_a_page_is_awaited_while_it_becomes_busy_again(signals):
    selector = Selector(attached=[None, None, timed_out()], detached=[timed_out(), None])
    asyncio.run(monitor(signals, Frame(watched()), selector=selector).wait_while_busy())
    assert [(name, state) for name, state, _ in selector.calls] == [(BUSY, "attached"), (BUSY, "detached")] * 2 + [
        (BUSY, "attached")
    ]
    limits = [timeout for _, state, timeout in selector.calls if state == "attached"]
    assert all(rest.MIN_RELAPSE_MS <= limit <= rest.MAX_RELAPSE_MS for limit in limits)
    assert (signals.notices, signals.ignored) == ([], 3)


def test_a_page_that_stays_busy_is_noticed_after_the_limit(signals, monkeypatch):
    monkeypatch.setattr(rest, "LOAD_S", -1.0)
    asyncio.run(monitor(signals, Frame(watched()), selector=Selector()).wait_while_busy())
    assert signals.notices == [f"The page was still busy after -1 s: it has {BUSY}"]


@pytest.mark.parametrize(("message", "count"), [("Unexpected token", 1), ("Frame was detached", 0)])
def test_an_invalid_selector_is_noticed_and_a_navigation_is_not(signals, message, count):
    selector = Selector(attached=[PlaywrightError(message)])
    asyncio.run(monitor(signals, Frame(watched()), selector=selector).wait_while_busy())
    assert signals.notices == [f"The page cannot be searched for {BUSY}: {message}"] * count


@needs.chromium
def test_delayed_effects_are_awaited_and_endless_activity_is_not(browser, monkeypatch):
    for label, text in (("Timer", "late"), ("Fetch", "fetched"), ("Leave", "Other")):
        browser.goto(HOME + "late")
        press(browser, label)
        assert text in seen(browser)
    monkeypatch.setattr("webarena_gym.browsers.chromium.rest.QUIET_S", 0.3)
    browser.goto(HOME + "endless")
    assert int(seen(browser)) > 0
