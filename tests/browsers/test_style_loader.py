"""The style sheets that the in-process browser requests."""

import pytest

from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.pages.page import Network

PANEL = "<p class=x>Inside<p>After"
HIDING = ".x { display: none }"


class Site:
    """A page with links to style sheets, which records its requests."""

    def __init__(self, head):
        self.head, self.requests = head, []
        self.answers = {
            "/a.css": ("200 OK", [("Content-Type", "text/css; charset=utf-8")], '@import "b.css"; @import "/c/d.css";'),
            "/b.css": ("200 OK", [("Content-Type", "text/css")], HIDING),
            "/c/d.css": ("200 OK", [("Content-Type", "text/css")], '@import "../b.css";'),
            "/moved.css": ("302 Found", [("Location", "/c/d.css")], ""),
            "/round.css": ("302 Found", [("Location", "/round.css")], ""),
            "/text.css": ("200 OK", [("Content-Type", "text/plain")], HIDING),
            "/failed.css": ("500 Internal Server Error", [("Content-Type", "text/css")], HIDING),
        }

    def __call__(self, environ, start_response):
        self.requests.append((environ["HTTP_HOST"] + environ["PATH_INFO"], environ))
        page = f"<!doctype html><title>Page</title>{self.head}{PANEL}"
        status, headers, body = self.answers.get(
            environ["PATH_INFO"], ("200 OK", [("Content-Type", "text/html"), ("Set-Cookie", "theme=dark")], page)
        )
        start_response(status, headers)
        return [body.encode()]


@pytest.fixture
def visited(opened):
    def visit(head, url="http://app.test/page"):
        site = Site(head)
        browser = opened(InProcessBrowser(Network({"app.test": site}), strict=True))
        browser.start([url], {})
        return site, browser, "hidden" in browser.page().root.find_class("x")[0].attrib

    return visit


@pytest.mark.parametrize(
    ("head", "hides", "requested"),
    [
        ("<link rel=stylesheet href=b.css>", True, ["/b.css"]),
        ("<base href=/c/><link rel=stylesheet href=d.css>", True, ["/c/d.css", "/b.css"]),
        ("<link rel=stylesheet href=/a.css>", True, ["/a.css", "/b.css", "/c/d.css"]),
        ("<style>@import url(/c/d.css);</style>", True, ["/c/d.css", "/b.css"]),
        ("<link rel=stylesheet href=/moved.css>", True, ["/moved.css", "/c/d.css", "/b.css"]),
        ("<link rel=stylesheet href=/text.css>", False, ["/text.css"]),
        ("<link rel=stylesheet href=/failed.css>", False, ["/failed.css"]),
        ("<link rel=stylesheet href=http://elsewhere.test/b.css>", False, []),
        ("<link rel=stylesheet href=data:text/css,.x>", False, []),
        ("<link rel=stylesheet><link rel=icon href=/b.css>", False, []),
        ("<link rel=stylesheet media=print href=/b.css>", False, []),
    ],
)
def test_style_sheets_are_requested_at_their_addresses(visited, head, hides, requested):
    site, _, is_hidden = visited(head)
    assert is_hidden is hides
    assert [address for address, _ in site.requests] == ["app.test/page", *(f"app.test{path}" for path in requested)]


def test_redirects_without_an_end_are_given_up(visited):
    site, _, is_hidden = visited("<link rel=stylesheet href=/round.css>")
    assert not is_hidden
    assert len(site.requests) == 22  # the page, and twenty redirects


def test_a_style_sheet_is_requested_with_cookies_and_the_referrer_of_its_page(visited):
    site, *_ = visited("<link rel=stylesheet href=/b.css>")
    environ = site.requests[1][1]
    assert environ["HTTP_COOKIE"] == "theme=dark"
    assert environ["HTTP_REFERER"] == "http://app.test/page"
    assert environ["HTTP_ACCEPT"].startswith("text/css")


def test_each_style_sheet_is_requested_once_in_an_episode(visited):
    site, browser, _ = visited("<link rel=stylesheet href=/b.css>")
    browser.goto("http://app.test/other")
    assert [address for address, _ in site.requests] == ["app.test/page", "app.test/b.css", "app.test/other"]
    assert "hidden" in browser.page().root.find_class("x")[0].attrib
    browser.start(["http://app.test/page"], {})
    assert [address for address, _ in site.requests[3:]] == ["app.test/page", "app.test/b.css"]


def test_without_strict_no_style_sheet_is_requested(opened):
    site = Site("<link rel=stylesheet href=/b.css>")
    browser = opened(InProcessBrowser(Network({"app.test": site})))
    browser.start(["http://app.test/page"], {})
    assert len(site.requests) == 1
    assert "hidden" not in browser.page().root.find_class("x")[0].attrib
