"""Crashes, locations, and sites that stand still between actions."""

import asyncio
import threading

import pytest
from werkzeug.wrappers import Response

from tests import needs
from tests.browsers.chromium.pages import HOME, make_browser, seen
from tests.serving import serving
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.chromium.tab import Tab
from webarena_gym.errors import BrowserError
from webarena_gym.pages.page import Network

pytestmark = needs.chromium


def test_a_crashed_page_is_an_error_and_the_next_start_works(opened, browser):
    other = opened(make_browser())
    other.start([HOME], {})
    for crash in (browser.crash, browser.page, browser.screenshot, browser.go_back):
        with pytest.raises(BrowserError, match="renderer has crashed"):  # at once, not after the time that an answer may take
            crash()
    assert other.page().url == HOME
    browser.start([HOME], {})
    assert browser.page().url == HOME


def test_a_page_opened_while_another_of_its_site_closes_does_not_die_with_it(browser):
    browser.start([HOME], {})
    for _ in range(5):
        browser.run_script("void window.open('/other', '_blank', 'noopener')")
        browser.wait(50)
        assert browser.page().url == HOME + "other"
        browser.close_tab()


def test_an_opened_page_that_never_answers_is_an_error(browser, monkeypatch):
    browser.start([HOME], {})
    monkeypatch.setattr("webarena_gym.browsers.chromium.context.OPENING_S", 2.0)
    monkeypatch.setattr(Tab, "of", lambda *_, **__: asyncio.sleep(60))
    with pytest.raises(BrowserError, match="its renderer has died"):
        browser.new_tab()


def test_sites_get_no_requests_between_actions(opened, monkeypatch):
    monkeypatch.setattr("webarena_gym.browsers.chromium.rest.QUIET_S", 0.3)
    requests = []

    def polled(environ, start_response):
        requests.append(environ["PATH_INFO"])
        body = "<!doctype html><title>T</title><script>setInterval(() => fetch('/poll?' + Math.random()), 10)</script>"
        return Response(body, content_type="text/html")(environ, start_response)

    browser = opened(ChromiumBrowser(Network({"app.test": polled})))
    browser.start([HOME], {})
    before = list(requests)
    assert not threading.Event().wait(0.5)
    assert requests == before
    browser.wait()
    assert requests[len(before) :][0] == "/poll"
    browser.start([], {})
    assert not threading.Event().wait(0.2)


def test_pages_get_the_geolocation_of_the_task():
    page = """<!doctype html><title>T</title><p id=out></p><script>navigator.geolocation.getCurrentPosition(
        ({coords}) => out.textContent = [coords.latitude, coords.longitude], (error) => out.textContent = error.message)</script>"""
    with serving(Response(page, content_type="text/html")) as url:
        browser = ChromiumBrowser(None, hosts=frozenset([url.removeprefix("http://")]))
        browser.start([url], {}, geolocation={"latitude": 40.44, "longitude": -79.94})
        assert seen(browser) == "40.44,-79.94"
        browser.start([url], {})
        assert "denied" in seen(browser)
        with pytest.raises(BrowserError, match="latitude"):
            browser.start([url], {}, geolocation={"latitude": 100, "longitude": 0})
        browser.close()
