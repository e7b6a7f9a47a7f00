"""Addresses, referrers, encodings and downloads of the in-process browser, with a network of a few pages."""

import pytest

from webarena_gym.browsers import http
from webarena_gym.errors import ActionError
from webarena_gym.pages.page import HostUnknownError, Response


class Network:
    """A network whose responses are a table by address, and which records its requests."""

    clock = ""

    def __init__(self, **pages):
        self.files = {"notes.txt": b"N"}
        self.pages = {f"http://a.test/{name}": response for name, response in pages.items()}
        self.requests = []

    def request(self, method, url, headers, body):
        self.requests.append((method, url, headers, body))
        if url not in self.pages:
            raise HostUnknownError(url)
        return self.pages[url]


def html(text, **headers):
    return Response(
        200,
        [("Content-Type", "text/html; charset=utf-8"), *((name.replace("_", "-"), value) for name, value in headers.items())],
        text.encode(),
    )


def moved(status, location, **headers):
    return Response(
        status, [("Location", location), *((name.replace("_", "-"), value) for name, value in headers.items())], b""
    )


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("http://A.test", "http://a.test/"), ("https://a.test:443/x", "https://a.test/x"), ("http://a.test:81/", "http://a.test:81/"),
        ("http://a.test/a/./b/../c/..", "http://a.test/a/"), ("http://a.test/x|y?z|#|", "http://a.test/x%7Cy?z|#|"), ("http://a.test/%2e%2E/x", "http://a.test/x"), ("http:\\\\a.test\\x", "http://a.test/x"),
        ("http://a.test/x y?q='é\"#`z", "http://a.test/x%20y?q=%27%C3%A9%22#%60z"), ("mailto:a b", "mailto:a b"), ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[::1]:8/", "http://[::1]:8/"), ("http://bücher.test/", "http://xn--bcher-kva.test/"), ("http://a%2Etest/", "http://a.test/"),
    ],
)  # fmt: skip
def test_addresses_are_normalized(url, canonical):
    assert http.canonical_url(url) == canonical
    if canonical.startswith("http"):
        assert http.canonical_url(canonical) == canonical


@pytest.mark.parametrize("url", ["http://", "http://a b/", "http://a.test:99999/", "http://1.2.3.999/", "http://a<b/"])
def test_invalid_addresses_are_refused(url):
    with pytest.raises(ValueError, match=r"host|Port|IPv4|label"):
        http.canonical_url(url)
    assert http.resolve_url("http://a.test/", url) == ""


BASE = "http://a.test/x/y?q=1#f"


@pytest.mark.parametrize(
    ("reference", "url"),
    [
        ("z", "http://a.test/x/z"), ("/z", "http://a.test/z"), ("../z", "http://a.test/z"), ("?p", "http://a.test/x/y?p"), ("", "http://a.test/x/y?q=1"),
        ("#g", "http://a.test/x/y?q=1#g"), ("//b.test/z", "http://b.test/z"), ("http:z", "http://a.test/x/z"), ("https:z", "https://z/"),
        (" \tz\n", "http://a.test/x/z"), ("javascript:1", "javascript:1"), ("\\z", "http://a.test/z"),
    ],
)  # fmt: skip
def test_references_are_resolved(reference, url):
    assert http.resolve_url(BASE, reference) == url


def test_queries_are_encoded_like_the_document():
    assert http.resolve_url("http://a.test/", "?q=é€", "windows-1252") == "http://a.test/?q=%E9%80"
    assert http.resolve_url("http://a.test/", "?q=א", "windows-1252") == "http://a.test/?q=%26%231488%3B"
    assert http.resolve_url("http://a.test/é", "?q=é") == "http://a.test/%C3%A9?q=%C3%A9"


def test_typed_addresses_need_no_scheme():
    assert http.typed_url(" a.test/x ") == "http://a.test/x"
    assert http.typed_url("About:blank#x") == "about:blank"
    for text in ("", "  ", "http://a b"):
        with pytest.raises(ActionError):
            http.typed_url(text)


@pytest.mark.parametrize(
    ("policy", "same", "other", "downgrade"),
    [
        ("", "https://a.test/x?q", "https://a.test/", ""), ("no-referrer", "", "", ""), ("same-origin", "https://a.test/x?q", "", ""),
        ("origin", "https://a.test/", "https://a.test/", "https://a.test/"), ("strict-origin", "https://a.test/", "https://a.test/", ""),
        ("unsafe-url", "https://a.test/x?q", "https://a.test/x?q", "https://a.test/x?q"), ("no-referrer-when-downgrade", "https://a.test/x?q", "https://a.test/x?q", ""),
    ],
)  # fmt: skip
def test_the_referrer_depends_on_the_policy(policy, same, other, downgrade):
    source, targets = "https://a.test/x?q#f", ("https://a.test/y", "https://b.test/y", "http://b.test/y")
    assert tuple(http.referrer_for(source, target, policy) for target in targets) == (same, other, downgrade)


def test_the_last_known_policy_counts():
    assert http.referrer_policy("no-referrer, nonsense") == "no-referrer"
    assert http.referrer_policy("origin, unsafe-url") == "unsafe-url"
    assert (http.referrer_policy("never"), http.referrer_policy("never", in_meta=True)) == ("", "no-referrer")


@pytest.mark.parametrize(
    ("body", "content_type", "text", "encoding"),
    [
        (b"<p>\xe9", "text/html", "\xe9", "windows-1252"), ("<p>\xe9".encode(), "text/html; charset=UTF-8", "\xe9", "UTF-8"),
        (b"\xef\xbb\xbf<p>\xc3\xa9", "text/html; charset=latin1", "\xe9", "UTF-8"), (b"<meta charset=utf8><p>\xc3\xa9", "text/html", "\xe9", "UTF-8"),
        (b"a<b>\r\nc", "text/plain", "a&lt;b&gt;\nc", "windows-1252"), (b'{"a": "\xc3\xa9"}', "application/json", "\xe9", "UTF-8"),
        (b"\x89PNG", "image/png", "image/png, 4 bytes", "UTF-8"), (b"", "text/html", "<body></body>", "UTF-8"),
    ],
)  # fmt: skip
def test_responses_are_shown_as_html_in_utf_8(body, content_type, text, encoding):
    page, found = http.render_response(Response(200, [("Content-Type", content_type)], body))
    assert text in page.decode()
    assert found == encoding


def test_pages_that_need_scripts_are_marked():
    assert http.NEEDS_SCRIPTS in http.render_response(html("<div id=app></div><script>1</script>"))[0].decode()
    assert http.NEEDS_SCRIPTS not in http.render_response(html("<a href=/>x</a><script>1</script>"))[0].decode()
    assert b"<p>after" in http.render_response(html("<p>x</body></html><p>after"))[0]


def test_redirects_are_followed_with_a_new_method_and_the_fragment():
    network = Network(start=moved(303, "/end"), kept=moved(307, "/end"), end=html("<p>End"), loop=moved(302, "loop"))
    client = http.Client(network)
    post = http.Request("http://a.test/start#part", "POST", "text/plain", b"body")
    assert client.load(post).url == "http://a.test/end#part"
    assert [(method, body) for method, _, _, body in network.requests] == [("POST", b"body"), ("GET", b"")]
    client.load(post._replace(url="http://a.test/kept"))
    assert network.requests[-1][::3] == ("POST", b"body")
    assert b"redirects without end" in client.load(http.Request("http://a.test/loop")).html
    assert b"No site was found at b.test" in client.load(http.Request("http://b.test/")).html


def test_cookies_are_kept_and_sent():
    network = Network(one=html("x", Set_Cookie="n=1"), two=html("y"))
    client = http.Client(network)
    for name in ("one", "two"):
        client.load(http.Request(f"http://a.test/{name}", referrer="http://a.test/"))
    assert [headers.get("Cookie") for _, _, headers, _ in network.requests] == [None, "n=1"]
    assert network.requests[0][2]["Referer"] == "http://a.test/"


@pytest.mark.parametrize(
    ("response", "name", "content"),
    [
        (Response(200, [("Content-Type", "text/csv")], b"a,b"), "file.csv", b"a,b"),
        (
            Response(200, [("Content-Type", "text/html"), ("Content-Disposition", 'attachment; filename="x.txt"')], b"X"),
            "x.txt",
            b"X",
        ),
        (Response(200, [("Content-Disposition", 'attachment; filename="a/b\\c.txt"')], b"X"), "c.txt", b"X"),
    ],
)
def test_downloads_are_stored_with_a_notice(response, name, content):
    client = http.Client(Network(file=response))
    assert client.load(http.Request("http://a.test/file")) is None
    assert client.downloads == {name: content}
    assert client.files == {"notes.txt": b"N", name: content}
    assert name in client.notices[0]


def test_large_and_failed_downloads_are_not_stored():
    downloads = {}
    assert "not kept" in http.save_download("a", bytes(2**23 + 1), downloads)
    assert downloads == {}
    assert http.save_download("a.txt", b"one\ntwo", downloads) == "Downloaded a.txt, 7 bytes: one two"
    assert http.save_download("b", b"\0\1", downloads) == "Downloaded b, 2 bytes"
    client = http.Client(Network(file=Response(404, [("Content-Disposition", "attachment")], b"X")))
    assert client.load(http.Request("http://a.test/file")).html == http.failure_page("http://a.test/file")
    assert client.downloads == {}


def test_a_request_of_a_page_has_its_origin():
    request = http.Request("http://b.test/x", "POST").sent_by("http://a.test/y", "")
    assert (request.origin, request.referrer, request.initiator) == ("http://a.test", "http://a.test/", "http://a.test/y")
    assert request.sent_by("http://a.test/y", "no-referrer").origin == "null"
    elsewhere = http.redirect_request(request, moved(302, "http://c.test/"), "http://c.test/")
    assert (elsewhere.method, elsewhere.origin) == ("GET", "null")
