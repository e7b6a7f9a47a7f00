"""Requests of Chromium: addresses outside of the network, failures of sites and servers, and images."""

import socket
import threading

import pytest
from werkzeug.wrappers import Request, Response

from tests import needs
from tests.browsers.chromium.pages import HOME, press, seen
from tests.errors import expect_error
from webarena_gym.browsers.chromium.browser import ChromiumBrowser
from webarena_gym.errors import ActionError, BrowserError
from webarena_gym.pages.page import Network

pytestmark = needs.chromium


def test_requests_outside_of_the_network_are_refused(browser):
    browser.goto(HOME + "outside")
    assert "refused" in seen(browser)
    for url in ("http://127.0.0.1:1/", "https://app.test/", "http://example.com/", "chrome://version"):
        browser.goto(url)
        assert browser.page().title == "This site can't be reached"
    with expect_error(ActionError, '"data:text/html,x"'):
        browser.goto("data:text/html,x")


def test_an_exception_of_a_site_is_a_page_and_is_noted_once(opened):
    def breaking(environ, start_response):
        requests.append(environ["REQUEST_METHOD"])
        if environ["PATH_INFO"] == "/broken":
            return {}["missing"]
        body = "<!doctype html><title>T</title><a href=/broken>Link</a><form method=post action=/broken><button>Send</button></form>"
        return Response(body, content_type="text/html")(environ, start_response)

    requests = []
    network = Network({"app.test": breaking})
    browser = opened(ChromiumBrowser(network))
    browser.start([HOME], {})
    for label in ("Link", "Send"):
        press(browser, label)
        assert browser.page().title == "500 Internal Server Error"
        browser.goto(HOME)
    browser.start([HOME + "broken"], {})
    assert requests == ["GET", "GET", "GET", "POST", "GET", "GET"]
    hosts = [error.partition(": ")[0] for error in network.errors]
    assert hosts == [f"{method} {HOME}broken" for method in ("GET", "POST", "GET")]


def test_aborted_pages_are_errors_and_missing_images_are_not():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        pages = {
            "/": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<title>T</title><a href=/half>On</a><img src=/x>",
            "/half": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n<title>T",
        }

        def answer():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    path = connection.recv(65536).split()[1].decode()
                    connection.sendall(pages.get(path, b""))
                    if path == "/half":
                        server.shutdown(socket.SHUT_RDWR)

        threading.Thread(target=answer, daemon=True).start()
        browser = ChromiumBrowser(None, hosts=frozenset([f"127.0.0.1:{port}"]))
        browser.start([f"http://127.0.0.1:{port}/"], {})
        with expect_error(BrowserError, f"GET http://127.0.0.1:{port}/half"):
            press(browser, "On")
    with expect_error(BrowserError, f"GET http://127.0.0.1:{port}/"):
        browser.goto(f"http://127.0.0.1:{port}/")
    browser.close()


def test_pages_of_a_session_that_is_over_ask_nothing_of_the_next(opened, monkeypatch):
    monkeypatch.setattr("webarena_gym.browsers.chromium.rest.QUIET_S", 0.3)
    requests = []

    def polled(environ, start_response):
        requests.append(environ["PATH_INFO"])
        poll = "<script>setInterval(() => fetch('/poll', {method: 'POST', keepalive: true}), 1)</script>"
        return Response(f"<!doctype html><title>T</title>{poll}", content_type="text/html")(environ, start_response)

    browser = opened(ChromiumBrowser(Network({"app.test": polled})))
    browser.start([HOME], {})
    requests.clear()
    browser.start([], {})
    assert requests == []


@pytest.mark.parametrize("images", [True, False])
def test_images_are_asked_for_where_somebody_looks(images, opened):
    requests = []

    def app(environ, start_response):
        requests.append(environ["PATH_INFO"])
        body = b"\x89PNG" if environ["PATH_INFO"].endswith(".png") else b"<img src=/a.png alt=A><a href=/next>Next</a>"
        return Response(body, content_type="text/html")(environ, start_response)

    browser = opened(ChromiumBrowser(Network({"app.test": app}), load_images=images))
    browser.start([HOME], {})
    press(browser, "Next")
    assert "A" in seen(browser)
    browser.goto("http://app.test/last")
    assert ("/a.png" in requests) is images


@pytest.mark.parametrize(("order_s", "is_overtaken"), [(60.0, False), (0.01, True)])
def test_writes_of_a_page_are_served_in_their_order_unless_one_waits(opened, monkeypatch, order_s, is_overtaken):
    monkeypatch.setattr("webarena_gym.browsers.chromium.gate.ORDER_S", order_s)
    second, overtaken = threading.Event(), []
    page = """<!doctype html><title>T</title><button onclick="Promise.all([1, 2].map((number) =>
        fetch(`/${number}`, {method: 'PUT'}))).then(() => { document.title = 'Sent' })">Send</button>"""

    @Request.application
    def application(request):
        if request.path == "/1":
            overtaken.append(second.wait(30.0 if is_overtaken else 0.5))
        elif request.path == "/2":
            second.set()
        return Response(page, content_type="text/html")

    browser = opened(ChromiumBrowser(Network({"app.test": application}, address=lambda: 9)))
    browser.start([HOME], {})
    press(browser, "Send")
    assert browser.page().title == "Sent"
    assert overtaken == [is_overtaken]
