"""Restored histories of Chromium's tabs: documents whose entries differ in their fragments."""

import pickle

from tests import needs
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.browsers.chromium.gate import HttpResponse
from webarena_gym.browsers.chromium.sessions import SavedTab, documents_of
from webarena_gym.observation import observe
from webarena_gym.pages.page import Network

PAGE = """<ul id=shown></ul><a href="#one">One</a> <a href="#two">Two</a> <a href="#three">Three</a><script>
    const show = () => shown.insertAdjacentHTML("beforeend", `<li>${location.hash || "start"}</li>`);
    addEventListener("hashchange", show);
    show();
</script>"""
SCRIPTED, STATIC = (HttpResponse(200, [], body) for body in (b"<script>show()</script>", b"<p>Text</p>"))


def documents(*entries):
    return documents_of(SavedTab(tuple(url for url, _ in entries), tuple(response for _, response in entries), 0, None))


def test_entries_that_differ_in_their_fragments_belong_to_one_document_with_scripts():
    page = "http://a.test/"
    entries = [(page, SCRIPTED), (f"{page}#x", SCRIPTED), (f"{page}#y", SCRIPTED)]
    assert documents(*entries) == [([page, f"{page}#x", f"{page}#y"], SCRIPTED)]
    other = SCRIPTED._replace(status=201)
    assert documents(*entries[:2], (f"{page}#y", other)) == [([page, f"{page}#x"], SCRIPTED), ([f"{page}#y"], other)]
    for later in [(page, SCRIPTED), ("http://a.test/b#y", SCRIPTED)]:
        assert len(documents(entries[1], later)) == 2, "it is another document"
    assert len(documents((page, STATIC), (f"{page}#x", STATIC))) == 2, "the fragment moves its window"
    assert len(documents((page, None), (f"{page}#x", None))) == 2, "its response is not known"


def serve(_, start_response):
    start_response("200 OK", [("Content-Type", "text/html; charset=utf-8")])
    return [PAGE.encode()]


def text(browser):
    return observe(browser.page(), elements="label").text


@needs.chromium
def test_a_document_with_fragments_is_loaded_once_and_keeps_its_history():
    network = Network({"app.test": serve})
    browser, other = ChromiumBrowser(network), ChromiumBrowser(network)
    browser.start(["http://app.test/"], {})
    for name in ("One", "Two", "Three"):
        browser.click(next(link for link in browser.page().root.iter("a") if link.text == name))
    browser.go_back()
    snapshot = pickle.loads(pickle.dumps(browser.snapshot()))
    for _ in range(2):  # in a new context, and in one that is used again
        other.restore(snapshot)
        assert "URL: http://app.test/#two" in text(other)
        assert other.run_script("[...shown.children].map((item) => item.textContent)") == ["#three", "#two"]
        other.go_back()
        assert "http://app.test/#one" in text(other)
        other.go_back()
        assert "URL: http://app.test/\n" in text(other)
        other.go_forward()
        assert "http://app.test/#one" in text(other)
    browser.close()
    other.close()
