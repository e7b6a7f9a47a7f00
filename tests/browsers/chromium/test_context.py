"""Contexts that are used again: what a new start forgets."""

import gc
import json

import pytest
from werkzeug.wrappers import Request, Response

from tests import needs
from tests.browsers.chromium.pages import HOME, make_browser, press, seen
from tests.errors import expect_error
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.chromium.context import Context
from webarena_gym.errors import ActionError
from webarena_gym.observation import observe
from webarena_gym.pages.page import Network

pytestmark = needs.chromium


def counted_contexts(monkeypatch):
    """Return a list that grows with each new context."""
    contexts = []
    begin = Context._close_context
    monkeypatch.setattr(Context, "_close_context", lambda self: contexts.append(1) or begin(self))
    return contexts


def test_a_new_start_in_the_same_window_forgets_everything(opened, monkeypatch):
    calls = []

    def remembering(environ, start_response):
        request = Request(environ)
        calls.append((request.path, request.cookies.get("seen", "")))
        headers = {"Cache-Control": "max-age=86400", "Set-Cookie": "seen=yes; Path=/"}
        body = f"<!doctype html><title>T</title><p>{len(calls)}<p><input aria-label=Word><a href=/two>Two</a>"
        return Response(body, content_type="text/html", headers=headers)(environ, start_response)

    contexts = counted_contexts(monkeypatch)
    browser = opened(ChromiumBrowser(Network({"app.test": remembering})))
    for _ in range(3):
        browser.start([HOME, HOME + "two"], {"app.test": {"own": "1"}})
        assert calls == [("/", ""), ("/two", "yes")]
        assert [cookie["name"] for cookie in browser.cookies()] == ["own", "seen"]
        with expect_error(ActionError, "back"):
            browser.go_back()
        browser.type(observe(browser.page(), elements="label").element("Word"), "lamp")
        press(browser, "Two")
        assert len(browser.page().tabs) == 2
        calls.clear()
    browser.start([], {})
    assert (browser.page().url, browser.cookies(), len(browser.page().tabs)) == ("about:blank", [], 1)
    assert len(contexts) == 1


KEEPING = """<!doctype html><title>T</title><p id=out></p><button onclick="history.pushState(0, '', '/deep')">Deep</button><script>
    const opening = indexedDB.open("kept");
    let isNew = false;
    opening.onupgradeneeded = () => { isNew = true; opening.result.createObjectStore("rows"); };
    const open = new Promise((done) => opening.onsuccess = done);
    open.then(() => {
      const {type} = performance.getEntriesByType("navigation")[0];
      out.textContent = [localStorage.a, sessionStorage.a, window.name, document.cookie, isNew, history.length, history.state, type,
        document.referrer].join();
      localStorage.a = sessionStorage.a = window.name = "kept";
      document.cookie = "a=kept";
    });
    for (const event of ["pagehide", "beforeunload", "visibilitychange", "unload"])
      addEventListener(event, (event) => { event.preventDefault(); localStorage.b = event.type; navigator.sendBeacon("/state", event.type); });
    new EventSource("/events");
    Storage.prototype.clear = () => {};
</script>"""


@pytest.mark.parametrize("has_virtual_time", [False, True])
def test_script_storage_is_cleared_and_beacons_are_dropped_at_a_reset(opened, monkeypatch, has_virtual_time):
    contexts, requests = counted_contexts(monkeypatch), []

    @Request.application
    def keeping(request):
        if request.path == "/state":
            requests.append(request.data)
        return Response(KEEPING if request.path == "/" else "", content_type="text/html")

    network = Network({"app.test": keeping})
    network.virtual_time, network.clock = has_virtual_time, "2024-03-05T09:00:00+00:00"
    browser = opened(ChromiumBrowser(network))
    pages = []
    for _ in range(3):
        requests.clear()
        browser.start([HOME], {})
        assert requests == []
        is_early = has_virtual_time and browser.run_script(
            "Date.now() < Date.parse('2024-03-05T09:00:05Z')"
        )  # a second document begins later
        pages.append((seen(browser), browser.cookies(), is_early))
        press(browser, "Deep")
        browser.goto(HOME)
        assert "kept,kept,kept,a=kept,false" in seen(browser)
    assert pages[1:] == pages[:1] * 2
    assert is_early == has_virtual_time
    assert len(contexts) == 1


def test_a_page_that_does_not_let_itself_be_left_gets_another_context(opened, monkeypatch):
    monkeypatch.setattr("webarena_gym.browsers.chromium.context.NAVIGATION_S", 0.0)
    contexts = counted_contexts(monkeypatch)
    page = "<!doctype html><title>T</title><p id=out></p><script>out.textContent = localStorage.a; localStorage.a = 1</script>"
    browser = opened(ChromiumBrowser(Network({"app.test": Response(page, content_type="text/html")})))
    for count in (1, 2, 3):
        browser.start([HOME], {})
        assert seen(browser) == ""
        assert len(contexts) == count


@pytest.mark.parametrize("has_virtual_time", [False, True])
def test_local_storage_is_replaced_in_a_context_that_is_used_again(opened, monkeypatch, has_virtual_time):
    contexts = counted_contexts(monkeypatch)
    page = "<!doctype html><title>T</title><p id=out></p><script>out.textContent = JSON.stringify(localStorage); localStorage.b = 1</script>"
    network = Network({"app.test": Response(page, content_type="text/html")})
    network.virtual_time = has_virtual_time
    browser = opened(ChromiumBrowser(network))
    browser.start([HOME], {})
    snapshot = browser.snapshot()
    for items in ({"a": "1"}, {"c": "2"}, {}):
        browser.start([HOME], {}, storage={"http://app.test": items})
        assert seen(browser) == json.dumps(items, separators=(",", ":"))
    assert len(contexts) == 1
    browser.restore(snapshot)
    assert seen(browser) == '{"b":"1"}'
    assert len(contexts) == 1
    browser.start([HOME], {}, storage={"http://other.test": {"a": "1"}})
    assert len(contexts) == 2


def test_requests_of_earlier_episodes_are_freed(opened, monkeypatch):
    monkeypatch.setattr("webarena_gym.browsers.chromium.context.MAX_REQUESTS", 6)
    browser = opened(make_browser())

    def kept(resets):
        for _ in range(resets):
            browser.start([HOME + "late"], {})  # with scripts
            browser.start([HOME], {})
        gc.collect()
        return sum(type(item).__name__ == "Request" and "playwright" in type(item).__module__ for item in gc.get_objects())

    assert kept(3) > 0
    assert kept(9) <= 2 * 6
