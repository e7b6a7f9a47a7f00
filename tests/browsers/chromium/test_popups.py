"""Windows that an action opens: those with content become tabs, and the others are closed."""

import time

import pytest
from werkzeug.wrappers import Request, Response

from tests import needs
from tests.browsers.chromium.pages import HOME, PAGES, make_browser, press
from tests.serving import serving

pytestmark = needs.chromium

LONG_S = 60.0  # in place of a limit that no action of these tests reaches


@pytest.fixture(scope="module")
def slow_url():
    """Serve a page that takes longer than the other windows of an action."""

    @Request.application
    def page(request):
        time.sleep(0.3)
        return Response("<!doctype html><title>T</title><p>Slow", content_type="text/html")

    with serving(page) as url:
        yield f"{url}/"


WINDOWS = {
    "beside a link without content": ("<a href=/empty onclick=\"window.open('SLOW')\">Go</a>", ["SLOW"]),
    "beside a frame without content": ("<iframe id=f></iframe><a href='javascript:f.src = `/empty`; window.open(`SLOW`); 0'>Go</a>", ["SLOW"]),
    "after a window without content": ("<a href='javascript:window.open(`/empty`); window.open(`SLOW`); 0'>Go</a>", ["SLOW"]),
    "before a window without content": ("<a href='javascript:window.open(`SLOW`); window.open(`/moved`); 0'>Go</a>", ["SLOW"]),
    "two windows": ("<a href='javascript:window.open(`/other`); window.open(`SLOW`); 0'>Go</a>", [HOME + "other", "SLOW"]),
    "closed at once": ("<a href='javascript:window.open(`/other`).close(); 0'>Go</a>", []),
    "without content, closed at once": ("<a href='javascript:window.open(`/empty`).close(); 0'>Go</a>", []),
    "a form without content": ("<form action=/moved?x method=post target=_blank><button>Go</button></form>", []),
    "an address of other characters": ("<a href='/empty?ü#ü' target=_blank>Go</a>", []),
}  # fmt: skip


@pytest.mark.parametrize(("body", "windows"), WINDOWS.values(), ids=WINDOWS)
def test_an_action_opens_all_windows_that_get_content(opened, slow_url, body, windows, monkeypatch):
    monkeypatch.setattr("webarena_gym.browsers.chromium.popups.POPUP_S", LONG_S)
    monkeypatch.setitem(PAGES, "/windows", body.replace("SLOW", slow_url))
    browser = opened(make_browser(hosts=frozenset({slow_url.removeprefix("http://").rstrip("/")})))
    browser.start([HOME + "windows"], {})
    begun = time.monotonic()
    press(browser, "Go")
    assert [tab.url for tab in browser.page().tabs] == [HOME + "windows", *(url.replace("SLOW", slow_url) for url in windows)]
    assert time.monotonic() - begun < LONG_S
