"""Cookies, redirects, headers and URLs of the in-process browser, held against what Chromium does without this package.

`tests/data/network.json` has the version of Chromium. Its URLs were recorded from ada 4, an implementation of the URL standard; hosts of
dots and quotation marks, which no site has, are left out.
"""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from werkzeug.wrappers import Request, Response

from tests import needs
from webarena_gym.browsers.cookies import CookieJar, is_same_site
from webarena_gym.browsers.http import referrer_for, referrer_policy, resolve_url
from webarena_gym.browsers.inprocess import InProcessBrowser
from webarena_gym.pages.page import Network

RECORDED = json.loads((Path(__file__).parent / "data" / "network.json").read_text(encoding="utf-8"))
APP, OTHER = "http://app.test", "http://other.test"
THREE = [
    ("Set-Cookie", "lax=1; SameSite=Lax; path=/"),
    ("Set-Cookie", "strict=1; SameSite=Strict; path=/"),
    ("Set-Cookie", "un=1; path=/"),
]


def test_cookies_are_stored_and_sent_as_chromium_does():
    wrong = []
    for host, headers, *expected in RECORDED["cookies"]:
        jar = CookieJar()
        for header in headers:
            jar.receive(f"http://{host}/dir/set", header)
        sent = [jar.header(f"http://{host}{path}") or None for path in ("/dir/p", "/q")]
        if sent != expected:
            wrong.append((headers, expected, sent))
    assert wrong == []


def as_chromium(url):
    """Return a URL of the standard as Chromium has it, which encodes "|" in the paths of addresses with a host."""
    path = re.match(r"\w+://[^?#]*", url)
    return path[0].replace("|", "%7C") + url[path.end() :] if path else url


def test_urls_are_resolved_by_the_url_standard():
    resolved = [(base, text, as_chromium(url), resolve_url(base, text)) for base, text, url in RECORDED["urls"]]
    assert [case for case in resolved if case[2] != case[3]] == []


class Handler(BaseHTTPRequestHandler):
    """A proxy that answers for every host: the first path sets cookies, and redirects lead through the others."""

    def do_GET(self):
        host, _, path = self.path.removeprefix("http://").partition("/")
        self.server.seen[host, path] = self.headers.get("Cookie")
        following = {"dir/set": "/dir/p", "dir/p": "/q"}.get(path)
        self.send_response_only(302 if following else 200)
        for header in self.server.cookies[host] if path == "dir/set" else ():
            self.send_header("Set-Cookie", header)
        if following:
            self.send_header("Location", following)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        """Write nothing."""


@needs.chromium
def test_the_recorded_cookies_are_those_of_chromium():
    some = RECORDED["cookies"][::6]
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server, needs.opened_chromium() as chromium:
        server.seen, server.cookies = {}, {host: headers for host, headers, *_ in some}
        threading.Thread(target=server.serve_forever, daemon=True).start()
        tab = chromium.new_context(proxy={"server": f"http://127.0.0.1:{server.server_port}"}).new_page()
        for host, *_ in some:
            tab.goto(f"http://{host}/dir/set")
        sent = [(host, server.seen[host, "dir/p"], server.seen[host, "q"]) for host, *_ in some]
        server.shutdown()
    assert sent == [(host, first, second) for host, _, first, second in some]


class Site:
    """A site that logs its requests; `pages` has (status, headers, body) by path."""

    def __init__(self, pages):
        self.pages, self.log = pages, []

    def __call__(self, environ, start_response):
        request = Request(environ)
        self.log.append((f"{request.method} {request.base_url}", request))
        status, headers, body = self.pages.get(request.path, (200, [], "<p>echo"))
        return Response(body, status, headers, content_type="text/html; charset=utf-8")(environ, start_response)


def opened(pages, url=f"{APP}/"):
    site = Site(pages)
    browser = InProcessBrowser(Network({"app.test": site, "other.test": site, "sub.app.test": site}))
    browser.start([url], {})
    site.log.clear()
    return browser, site


def click(browser, tag="button"):
    browser.click(next(browser.page().root.iter(tag)))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("target", [APP, OTHER])
def test_redirects_keep_and_change_what_chromium_does(status, method, target):
    form = f'<form method={method} action="/r"><input name=a value=1><button>x</button></form>'
    browser, site = opened({"/": (200, [], form), "/r": (status, [("Location", f"{target}/end")], "")})
    click(browser)
    _, (line, request) = site.log
    is_post = method == "POST" and status in (307, 308)
    assert line == f"{'POST' if is_post else 'GET'} {target}/end"
    assert request.get_data() == (b"a=1" if is_post else b"")
    assert request.headers.get("Origin") == ((APP if target == APP else "null") if is_post else None)
    assert request.headers.get("Referer") == f"{APP}/"
    assert request.headers.get("Content-Type") == ("application/x-www-form-urlencoded" if is_post else None)


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("//other.test/end", f"{OTHER}/end#old"), ("/end x", f"{APP}/end%20x#old"), ("end#new", f"{APP}/d/end#new"),
        ("", f"{APP}/d/r#old"), ("mailto:a@b", f"{APP}/"), ("javascript:1", f"{APP}/"), ("ftp://x/", f"{APP}/"),
    ],
)  # fmt: skip
def test_locations_lead_where_chromium_goes(location, url):
    browser, _ = opened({"/": (200, [], "<a href='/d/r#old'>x</a>"), "/d/r": (302, [("Location", location)], "<p>body")})
    click(browser, "a")
    assert browser.page().url == url


@pytest.mark.parametrize(
    ("start", "body", "tag", "cookie"),
    [
        (OTHER, f"<a href={APP}/end>x</a>", "a", "lax=1; un=1"),
        (OTHER, f"<a target=_blank href={APP}/end>x</a>", "a", "lax=1; un=1"),
        (OTHER, f"<form action={APP}/end><button>x</button></form>", "button", "lax=1; un=1"),
        (OTHER, f"<form method=post action={APP}/end><button>x</button></form>", "button", "un=1"),
        (APP, f"<form method=post action={APP}/end><button>x</button></form>", "button", "lax=1; strict=1; un=1"),
        ("http://sub.app.test", f"<a href={APP}/end>x</a>", "a", "lax=1; strict=1; un=1"),
    ],
)
def test_cookies_cross_sites_by_their_samesite(start, body, tag, cookie):
    browser, site = opened({"/set": (200, THREE, ""), "/start": (200, [], body)}, f"{APP}/set")
    browser.goto(f"{start}/start")
    click(browser, tag)
    assert site.log[-1][1].headers["Cookie"] == cookie
    browser.goto(f"{APP}/typed")
    assert site.log[-1][1].headers["Cookie"] == "lax=1; strict=1; un=1"


def test_the_site_of_an_address_ignores_its_port():
    assert is_same_site("http://a.test:8080/", "http://a.test:9090/x")
    assert not is_same_site("http://a.test/", "https://a.test/")
    assert not is_same_site("http://10.0.0.1/", "http://11.0.0.1/")


@pytest.mark.parametrize(
    ("date", "is_alive"), [("Fri, 01 Jan 2010 00:00:00 GMT", True), ("Sat, 03 Jan 2015 00:00:00 GMT", False), ("", False)]
)
def test_expires_is_compared_with_the_date_of_the_response(date, is_alive):
    headers = [("Set-Cookie", "a=1; path=/; Expires=Sat, 02 Jan 2010 00:00:00 GMT"), *([("Date", date)] if date else [])]
    browser, _ = opened({"/": (200, headers, "")})
    assert bool(browser.cookies()) == is_alive


@pytest.mark.parametrize(
    ("policy", "same", "other", "origin"),
    [
        ("", "whole", "origin", APP), ("no-referrer", None, None, "null"), ("origin", "origin", "origin", APP), ("same-origin", "whole", None, APP),
        ("unsafe-url", "whole", "whole", APP), ("strict-origin", "origin", "origin", APP), ("no-referrer-when-downgrade", "whole", "whole", APP),
        ("origin-when-cross-origin", "whole", "origin", APP), ("foo", "whole", "origin", APP), ("foo, unsafe-url, bar", "whole", "whole", APP),
    ],
)  # fmt: skip
def test_referrer_policies_of_headers_metas_and_links(policy, same, other, origin):
    sent = {None: None, "whole": f"{APP}/page?q=1", "origin": f"{APP}/"}
    links = (
        f"<a {{}} href=/end>x</a><b><a {{}} href={OTHER}/end>y</a></b><form method=post action=/end><button>z</button></form>"
    )
    header = (200, [("Referrer-Policy", policy)], links.format("", ""))
    meta = (200, [], f'<meta name=referrer content="{policy}">{links.format("", "")}')
    attribute = (200, [], links.format(*(f'referrerpolicy="{policy}"',) * 2))
    for page in (header, meta, attribute) if "," not in policy else (header,):
        for tag, expected in (("a", sent[same]), ("b", sent[other])):
            browser, site = opened({"/page": page}, f"{APP}/page?q=1")
            root = browser.page().root
            browser.click(next(root.iter("a")) if tag == "a" else next(root.iter("b"))[0])
            assert site.log[-1][1].headers.get("Referer") == expected
        if page is not attribute:
            browser, site = opened({"/page": page}, f"{APP}/page?q=1")
            click(browser)
            assert site.log[-1][1].headers["Origin"] == origin


@pytest.mark.parametrize(
    ("html", "referrer"),
    [
        ("<a rel=noreferrer href=/end>x</a>", None),
        ("<a rel=noreferrer download=f href=/end>x</a>", f"{APP}/"),
        ("<a rel=noreferrer referrerpolicy=no-referrer download=f href=/end>x</a>", f"{APP}/"),
        ("<a rel=noreferrer target=win href=/end>x</a>", None),
        ("<form action=/end rel=noreferrer><a><button>x</button></a></form>", f"{APP}/"),
        ("<form action=/end rel=noreferrer target=win><a><button>x</button></a></form>", None),
    ],
)
def test_noreferrer_counts_for_links_and_for_forms_in_a_new_window(html, referrer):
    browser, site = opened({"/": (200, [], html)})
    click(browser, "button" if "button" in html else "a")
    assert site.log[-1][1].headers.get("Referer") == referrer


def test_legacy_policies_count_in_meta_elements_only():
    assert [referrer_policy(name, in_meta=True) for name in ("never", "always", "default")] == ["no-referrer", "unsafe-url", ""]
    assert referrer_policy("never") == ""
    assert referrer_for("https://app.test/x", f"{APP}/") == ""


def test_navigations_have_the_headers_of_chromium():
    browser, site = opened({})
    browser.goto(f"{APP}/next")
    headers = site.log[-1][1].headers
    assert "Chrome/156" in headers["User-Agent"]
    assert headers["Accept"].startswith("text/html,application/xhtml+xml")
    assert (headers["Accept-Language"], headers["Upgrade-Insecure-Requests"]) == ("en-US,en;q=0.9", "1")


@pytest.mark.parametrize("status", ["-1 Odd", "0 Odd", "99 Odd", "101 Switching Protocols", "1000 Odd", "OK"])
def test_an_invalid_status_is_a_fault_of_the_site(status):
    def site(_, start_response):
        start_response(status, [("Content-Type", "text/html")])
        return [b"<p>body"]

    network = Network({"app.test": site})
    assert network.request("GET", f"{APP}/").status == 500
    assert len(network.errors) == 1


@pytest.mark.parametrize(("status", "stays"), [(204, True), (205, True), (304, True), (201, False), (206, False), (600, False)])
def test_responses_without_content_leave_the_page(status, stays):
    browser, _ = opened({"/": (200, [], "<a href=/st>x</a>"), "/st": (status, [], "<p>body")})
    click(browser, "a")
    assert (browser.page().url == f"{APP}/") == stays
