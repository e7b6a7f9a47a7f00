"""Requests to JSON APIs: redirects, time limits, and pauses that servers ask for."""

import socket
import threading

import pytest
from werkzeug.wrappers import Request, Response

from tests.errors import expect_error
from tests.serving import serving
from webarena_gym.clients import rest
from webarena_gym.clients.rest import RefusedError, request_json, retry_after_s
from webarena_gym.errors import ServerError


def test_a_redirect_is_not_followed_with_a_token_and_no_file_is_read():
    requests = []

    @Request.application
    def app(request):
        requests.append(request.path)
        return Response("", status=302, headers={"Location": "/other"})

    with serving(app) as address, expect_error(RefusedError, 302):
        request_json(address, token="secret")
    assert requests == ["/"]
    with expect_error(ServerError, "'file:///etc/passwd'"):
        request_json("file:///etc/passwd")


def test_a_socket_that_times_out_before_the_timer_reports_the_same_limit(monkeypatch):
    class NeverFires(threading.Timer):
        def run(self):
            pass

    monkeypatch.setattr(rest.threading, "Timer", NeverFires)
    with socket.create_server(("127.0.0.1", 0)) as listener, expect_error(rest.RefusedError, "0.05"):
        rest.request(f"http://127.0.0.1:{listener.getsockname()[1]}/", headers={}, timeout_s=0.05)


@pytest.mark.parametrize("text", ["", "soon", "-1", "Mon, 99 Jan 2023", "1e9"])
def test_times_that_are_none_are_no_pause(text):
    assert retry_after_s({"retry-after": text, "date": "Mon, 02 Jan 2023 10:00:00 GMT"}) == 0.0
