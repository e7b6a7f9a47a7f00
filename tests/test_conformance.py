"""The in-process browser held against Chromium: the same pages, the same solutions, the same observations and rewards."""

from typing import get_args

import pytest
from werkzeug.wrappers import Request, Response

from tests import needs
from tests.awkward_pages import DIFFERENT, PAGES
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.observation import Style, observe
from webarena_gym.pages.page import Network

pytestmark = needs.chromium


def awkward_site(environ, start_response):
    request = Request(environ)
    body = (PAGES | DIFFERENT)[request.args["name"]]
    answer = Response(f"<!doctype html><title>Page</title>{body}", content_type="text/html; charset=utf-8")
    return answer(environ, start_response)


@pytest.fixture(scope="module")
def browsers():
    network = Network({"awkward.test": awkward_site})
    pair = InProcessBrowser(network), ChromiumBrowser(network, static=True)
    for browser in pair:
        browser.start([], {})
    yield pair
    for browser in pair:
        browser.close()


def open_both(browsers, name):
    for browser in browsers:
        browser.goto(f"http://awkward.test/?name={name}")


@pytest.mark.parametrize("name", PAGES)
def test_awkward_pages_are_read_alike(browsers, name):
    open_both(browsers, name)
    for style in get_args(Style):
        for elements in ("id", "label"):
            one, other = (observe(browser.page(), style=style, elements=elements) for browser in browsers)
            assert one.text == other.text
            assert [node.element.tag for node in one.nodes.values()] == [node.element.tag for node in other.nodes.values()]


@pytest.mark.parametrize("name", DIFFERENT)
def test_the_known_differences_are_still_there(browsers, name):
    open_both(browsers, name)
    one, other = (observe(browser.page()).text for browser in browsers)
    assert one != other
