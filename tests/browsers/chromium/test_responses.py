"""The responses of a context: recorded, replayed once, counted where they have no content, and forgotten with the session."""

import pytest

from webarena_gym.browsers.chromium.gate import HttpResponse
from webarena_gym.browsers.chromium.responses import Responses

DOCUMENT = {"accept": "text/html,*/*"}
PLAIN = HttpResponse(200, [("Content-Type", "text/html")], b"<p>Plain")


class Site:
    """Handler that counts its requests, and answers them from a table."""

    def __init__(self, **pages):
        self.pages, self.requests = {f"http://a.test/{name}": page for name, page in pages.items()}, []

    def __call__(self, method, url, headers, body):
        self.requests.append((method, url, body))
        return self.pages.get(url, PLAIN)


@pytest.fixture
def calls():
    return []


def opened(site, calls, **options):
    return Responses(site, lambda: calls.append("empty"), **options)


def test_documents_are_recorded_and_their_resources_are_not(calls):
    site = Site()
    responses = opened(site, calls)
    assert responses.serve("GET", "http://a.test/x", DOCUMENT, b"") == PLAIN
    assert responses.serve("POST", "http://a.test/style", {"accept": "text/css"}, b"b") == PLAIN
    assert responses.documents == {"http://a.test/x": PLAIN}
    assert site.requests == [("GET", "http://a.test/x", b""), ("POST", "http://a.test/style", b"b")]


def test_a_replay_replaces_the_next_document_once(calls):
    site, old = Site(), PLAIN._replace(body=b"<p>Old")
    responses = opened(site, calls)
    responses.replays["http://a.test/x"] = old
    assert responses.serve("GET", "http://a.test/x", {"accept": "image/png"}, b"") == PLAIN
    assert responses.serve("GET", "http://a.test/x", DOCUMENT, b"") == old
    assert responses.serve("GET", "http://a.test/x", DOCUMENT, b"") == PLAIN
    assert len(site.requests) == 2


def test_scripts_are_noticed_until_the_session_ends(calls):
    responses = opened(Site(script=PLAIN._replace(body=b"<script>1</script>")), calls)
    responses.serve("GET", "http://a.test/x", DOCUMENT, b"")
    assert not responses.ran_scripts
    responses.serve("GET", "http://a.test/script", DOCUMENT, b"")
    responses.serve("GET", "http://a.test/x", DOCUMENT, b"")
    assert responses.ran_scripts
    responses.clear()
    assert not responses.ran_scripts
    assert responses.documents == {}


def test_windows_without_content_are_counted_through_redirects_since_the_last_action(calls):
    empty, moved = HttpResponse(204, [], b""), HttpResponse(302, [("Location", "/empty#part")], b"")
    responses = opened(Site(empty=empty, moved=moved, loop=HttpResponse(302, [("Location", "loop")], b"")), calls)
    for name in ("moved", "empty", "loop"):
        responses.serve("GET", f"http://a.test/{name}", DOCUMENT, b"")
    assert calls == ["empty"]
    assert "http://a.test/moved" not in responses.documents
    windows = ["http://a.test/moved#top", "http://a.test/moved", "http://a.test/loop", "http://a.test/other"]
    assert responses.count_empty(windows) == 1  # one response of two windows that requested it
    responses.serve("GET", "http://a.test/empty", DOCUMENT, b"")
    assert responses.count_empty(windows) == 2
    responses.start_action()
    assert responses.count_empty(windows) == 0


def test_images_can_be_forbidden(calls):
    headers = opened(Site(), calls, load_images=False).serve("GET", "http://a.test/x", DOCUMENT, b"").headers
    assert headers == [*PLAIN.headers, ("Content-Security-Policy", "img-src 'none'")]
