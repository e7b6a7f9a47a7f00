"""One JSON request over HTTP, with the standard library alone: an env needs no HTTP client, and a new connection costs little beside what a model takes."""

import http.client
import json
import logging
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

from webarena_gym.errors import RefusedError as RefusedError
from webarena_gym.errors import ServerError

_MAX_BYTES, _MAX_REFUSAL = 50_000_000, 10_000
_BUSY = (0, 408, 409, 429, 500, 502, 503, 504, 529)  # worth another try; 0 is no answer at all
_FIRST_PAUSE_S = 0.25
_LOG = logging.getLogger(__name__)


class Gate:
    """Earliest time of the next request to a server, shared by all threads that send requests to it."""

    def __init__(self) -> None:
        self._opens = 0.0  # on the monotonic clock
        self._told = 0.0  # until when those that wait were said to wait

    def close_for(self, seconds: float) -> None:
        """Let nobody ask for so many seconds."""
        if seconds > 0:
            self._opens = max(self._opens, time.monotonic() + seconds)

    def left_s(self) -> float:
        """Return how long it is closed yet; 0 when it is open."""
        return max(0.0, self._opens - time.monotonic()) if self._opens else 0.0

    def tell(self, error: RefusedError, wait_s: float, left_s: float) -> None:
        """Log that somebody asks again, and why, unless a wait as long was told of already."""
        if (until := time.monotonic() + wait_s) > self._told:
            self._told = until + 1.0  # threads that wait alike are told of once
            _LOG.warning("%s; asked again in %.3g s, and for at most %.0f s", error, wait_s, left_s)


class _Request(urllib.request.Request):
    """A request that can be cut off, however slowly its answer comes."""

    sock: socket.socket | None = None
    is_cut = False

    def connect(self, connect: Callable[[], None], connection: http.client.HTTPConnection) -> None:
        """Connect, and note the socket: urllib forgets it."""
        connect()
        self.sock = connection.sock
        if self.is_cut:
            raise TimeoutError

    def cut(self) -> None:
        self.is_cut = True
        if self.sock is not None:
            with suppress(OSError):  # it has ended by itself
                self.sock.shutdown(socket.SHUT_RDWR)


class _Handler(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Lets each request note its socket."""

    def do_open(self, http_class: Any, req: Any, **arguments: Any) -> Any:
        def connection(*args: Any, **options: Any) -> Any:
            made = http_class(*args, **options)
            made.connect = partial(req.connect, made.connect, made)
            return made

        return super().do_open(connection, req, **arguments)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect could carry a token to another host, so none is followed."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects, _Handler)


def request_json(url: str, payload: Any = None, *, token: str = "", timeout_s: float = 30.0, method: str | None = None) -> Any:
    """Return the JSON that a server answers; with a payload it is posted, unless a method is named. Raises RefusedError, and ServerError for other than JSON."""
    headers = {"Accept": "application/json", "User-Agent": "webarena-gym"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    if payload is not None:
        headers["Content-Type"] = "application/json"
    body = None if payload is None else json.dumps(payload).encode()
    content = request(url, body, headers=headers, timeout_s=timeout_s, method=method)
    try:
        return json.loads(content)
    except ValueError as error:
        raise ServerError(f"{url} answered with what is no JSON: {content[:200]!r}") from error


def request_json_patiently(
    url: str,
    payload: Any = None,
    *,
    token: str = "",
    timeout_s: float = 60.0,
    deadline_s: float = 180.0,
    unreachable_s: float | None = None,
    stopped: threading.Event | None = None,
    gate: Gate | None = None,
    is_final: Callable[[RefusedError], bool] = lambda _: False,
) -> Any:
    """Return the JSON that a server answers; one that is busy or gone is asked again until the deadline, which is logged.

    The pauses are as long as the server says, or a quarter of a second, doubled each time. A pause that the server asks for closes
    the `gate`, behind which all wait that share it. A server that gives no answer at all is given up after `unreachable_s`, by
    default at the deadline. `stopped` ends the pauses from another thread. A refusal that `is_final` is not tried again.

    Raises as `request_json` does, with the last refusal.
    """
    stopped, gate = stopped or threading.Event(), gate or Gate()
    start = time.monotonic()
    end = start + deadline_s
    gone = end if unreachable_s is None else min(end, start + unreachable_s)
    pause_s = _FIRST_PAUSE_S
    while True:
        if closed_s := gate.left_s():
            if time.monotonic() + closed_s >= end or stopped.wait(closed_s):
                raise RefusedError(f"{url} has asked to be left alone for {closed_s:.0f} s more", 429, {})
            continue  # it may have been closed for longer meanwhile
        try:
            left_s = end - time.monotonic()
            return request_json(url, payload, token=token, timeout_s=max(0.001, min(timeout_s, left_s)))
        except RefusedError as error:
            asked_s = retry_after_s(error.headers)
            gate.close_for(asked_s)
            wait_s = max(pause_s, asked_s)
            left_s = (gone if error.status == 0 else end) - time.monotonic()
            if error.status not in _BUSY or is_final(error) or wait_s >= left_s:
                raise
            gate.tell(error, wait_s, left_s)
            if stopped.wait(wait_s):
                raise
            pause_s *= 2


def retry_after_s(headers: Mapping[str, str]) -> float:
    """Return for how many seconds a server asks to be left alone, by the headers of its answer; 0 when it does not.

    A date is read by the clock of the server, which stands in the same headers.

    >>> retry_after_s({"retry-after": "2"}), retry_after_s({"retry-after-ms": "500", "retry-after": "1"}), retry_after_s({})
    (2.0, 0.5, 0.0)
    >>> retry_after_s({"date": "Mon, 02 Jan 2023 10:00:00 GMT", "retry-after": "Mon, 02 Jan 2023 10:01:30 GMT"})
    90.0
    """
    if milliseconds := _number(headers.get("retry-after-ms", "")):
        return milliseconds / 1000
    text = headers.get("retry-after", "")
    try:
        until, now = (parsedate_to_datetime(value) for value in (text, headers.get("date", "")))
        return max(0.0, (until - now).total_seconds())
    except (TypeError, ValueError):
        return _number(text)


def request(
    url: str, body: bytes | None = None, *, headers: Mapping[str, str], timeout_s: float, method: str | None = None
) -> bytes:
    """Return the body that a server answers with success, all of it within `timeout_s`. Raises RefusedError."""
    if not url.startswith(("http://", "https://")):
        raise ServerError(f"{url!r} is no address of a server; expected http:// or https://")
    asked = _Request(url, body, dict(headers), method=method)
    timer = threading.Timer(timeout_s, asked.cut)  # the socket's own limit is of one read, and a byte a second never reaches it
    timer.daemon = True
    timer.start()
    try:
        with _OPENER.open(asked, timeout=timeout_s) as answer:
            content = bytes(answer.read(_MAX_BYTES))
        if asked.is_cut:
            raise TimeoutError
    except urllib.error.HTTPError as error:
        said = ""
        with error, suppress(OSError, http.client.HTTPException):
            said = error.read(_MAX_REFUSAL).decode("utf-8", "replace")
        told = {name.lower(): value for name, value in error.headers.items()}
        raise RefusedError(f"{url} answered {error.code} {error.reason}: {said[:300]!r}", error.code, told, said) from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = f"timed out after {timeout_s:.3g} s" if asked.is_cut else getattr(error, "reason", error)
        raise RefusedError(f"{url} did not answer: {reason or type(error).__name__}", 0, {}) from error
    finally:
        timer.cancel()
    return content


def _number(text: str) -> float:
    return float(text) if text.replace(".", "", 1).isdecimal() else 0.0
