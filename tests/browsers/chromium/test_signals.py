"""Events of a page of Chromium: loading, requests, polling, downloads and dialogs."""

import asyncio
from types import SimpleNamespace

import pytest

from webarena_gym.browsers.chromium.signals import Signals, dialog_page

FRAME = object()


class Dialog:
    """A dialog that records how it was answered."""

    def __init__(self, kind, default_value=""):
        self.type, self.default_value, self.message, self.answers = kind, default_value, "Sure & safe?", []

    async def accept(self, text):
        self.answers.append(text)


class Request:
    """A request of the main frame."""

    frame = FRAME

    def __init__(self, url="http://shop.test/a?n=1", *, method="GET", kind="fetch", failure=None, is_navigation=False):
        self.url, self.method, self.resource_type, self.failure = url, method, kind, failure
        self.is_navigation_request = lambda: is_navigation


@pytest.fixture
def signals():
    made = Signals(SimpleNamespace(main_frame=FRAME))
    made._frame = "main"
    return made


def test_loading_begins_and_ends_with_the_events_of_the_main_frame(signals):
    signals._on_started({"frameId": "other"})
    signals._on_started({"frameId": "main", "disposition": "newTab"})
    assert (signals.load_event.is_set(), signals.navigation_event.is_set()) == (True, False)
    signals._on_started({"frameId": "main"})
    assert (signals.load_event.is_set(), signals.document_event.is_set(), signals.navigation_event.is_set()) == (
        False,
        False,
        True,
    )
    signals._on_navigated({"frame": {"id": "other"}})
    assert not signals.has_new_document
    signals._on_navigated({"frame": {"id": "main", "unreachableUrl": "http://gone.test/"}})
    assert (signals.unreachable_url, signals.has_new_document, signals.document_event.is_set()) == (
        "http://gone.test/",
        True,
        True,
    )
    assert not signals.load_event.is_set()
    signals._on_stopped({"frameId": "other"})
    assert not signals.load_event.is_set()
    signals._on_stopped({"frameId": "main"})
    assert signals.load_event.is_set()


def test_a_page_that_repeats_a_request_is_not_waited_for(signals):
    sent = [Request(url=f"http://shop.test/poll?n={number}") for number in range(25)]
    for item in sent:
        signals._on_request(item)
    assert signals.requests == set(sent[:20])
    signals._on_request(image := Request(kind="image"))
    assert image not in signals.requests
    signals.ignore_pending_requests()
    for item in sent[:2]:
        signals._on_request(item)
    assert signals.requests == set()
    signals._on_navigated({"frame": {"id": "main"}})  # another document may use the address once
    signals._on_request(sent[0])
    assert signals.requests == {sent[0]}


def test_pending_posts_do_not_become_endless(signals):
    signals._on_request(post := Request(method="POST"))
    signals.ignore_pending_requests()
    signals._on_request(post)
    assert signals.requests == {post}


def test_progress_ends_with_the_last_request(signals):
    async def wait():
        first, second = Request("http://shop.test/1"), Request("http://shop.test/2")
        signals._on_request(first)
        signals._on_request(second)
        waiting = asyncio.create_task(signals.progress())
        for item in (first, second):
            await asyncio.sleep(0)
            assert not waiting.done()
            signals._on_finished(item)
        await asyncio.wait_for(waiting, 5)

    asyncio.run(wait())


@pytest.mark.parametrize(
    ("failure", "kind", "is_noted"),
    [("net::ERR_ABORTED", "image", False), ("net::ERR_ABORTED", "fetch", True), ("net::ERR_FAILED", "image", True)],
)
def test_failed_requests_are_noted_except_aborted_images(signals, failure, kind, is_noted):
    signals._on_failed(Request(kind=kind, failure=failure))
    assert (signals.has_failed_request, signals.failed_navigation_url) == (is_noted, "")


def test_a_failed_navigation_has_its_code_and_address_until_pages_are_forgotten(signals):
    signals._on_failed(Request("http://gone.test/", kind="document", failure="net::ERR_FAILED", is_navigation=True))
    assert (signals.navigation_error, signals.failed_navigation_url) == ("net::ERR_FAILED", "http://gone.test/")
    signals.forget()
    assert (signals.has_failed_request, signals.failed_navigation_url) == (False, "")


def test_downloads_end_when_all_that_were_requested_have_ended(signals):
    async def wait():
        signals.expected_downloads = 1
        waiting = asyncio.create_task(signals.downloads())
        await asyncio.sleep(0)
        signals._on_download_begin({"frameId": "main"})
        assert (signals.expected_downloads, signals.active_downloads) == (0, 1)
        signals.end_download()
        await asyncio.wait_for(waiting, 5)
        signals.end_download()
        assert signals.active_downloads == 0

    asyncio.run(wait())


@pytest.mark.parametrize(("kind", "default", "answer"), [("alert", "", "OK"), ("prompt", "Bob", '"Bob"')])
def test_dialogs_are_accepted_with_a_notice(signals, kind, default, answer):
    asyncio.run(signals._on_dialog(dialog := Dialog(kind, default)))
    assert dialog.answers == [default]
    assert signals.notices == [f"{kind.title()} dialog, answered with {answer}: Sure & safe?"]


@pytest.mark.parametrize("kind", ["confirm", "prompt"])
def test_dialogs_stay_open_if_the_agent_answers_them(signals, kind):
    async def ask():
        signals.dialog_event = asyncio.Event()
        await signals._on_dialog(dialog := Dialog(kind, '"x"'))
        assert (dialog.answers, signals.dialog_event.is_set(), signals.dialog) == ([], True, dialog)

    asyncio.run(ask())
    page = dialog_page(signals)
    assert "<p>Sure &amp; safe?</p>" in page
    assert ('value="&quot;x&quot;"' in page) == (kind == "prompt")
