"""A JSON client for HTTP servers, with retries, rate limits and time limits.

It uses only the standard library, so that an env needs no HTTP client. Each request opens a new connection. That costs little
compared to the time that a model takes to answer.
"""

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
_RETRYABLE = (0, 408, 409, 429, 500, 502, 503, 504, 529)  # statuses; 0 means no response
_FIRST_PAUSE_S = 0.25
_LOG = logging.getLogger(__name__)


class RateLimiter:
    """Earliest time of the next request to a server, shared by all threads that send requests to it."""

    def __init__(self) -> None:
        self._blocked_until = 0.0  # on the monotonic clock
        self._logged_until = 0.0  # end of the longest wait that was logged

    def block_for(self, seconds: float) -> None:
        """Block requests of all threads for this time; a longer block that is active remains."""
        if seconds > 0:
            self._blocked_until = max(self._blocked_until, time.monotonic() + seconds)

    def remaining_s(self) -> float:
        """Return the remaining seconds of the block; 0 if there is none."""
        return max(0.0, self._blocked_until - time.monotonic()) if self._blocked_until else 0.0

    def log_retry(self, error: RefusedError, wait_s: float, remaining_s: float) -> None:
        """Log a warning about a retry and its cause, unless one of another thread covers the same wait."""
        if (until := time.monotonic() + wait_s) > self._logged_until:
            self._logged_until = until + 1.0  # other threads wait about as long
            _LOG.warning("%s; next try in %.3g s, last try in at most %.0f s", error, wait_s, remaining_s)


class _Request(urllib.request.Request):
    """A request that another thread can abort, at any stage of the response."""

    sock: socket.socket | None = None
    is_aborted = False

    def connect(self, connect: Callable[[], None], connection: http.client.HTTPConnection) -> None:
        """Connect, and store the socket, which urllib does not expose."""
        connect()
        self.sock = connection.sock
        if self.is_aborted:
            raise TimeoutError

    def abort(self) -> None:
        self.is_aborted = True
        if self.sock is not None:
            with suppress(OSError):  # already closed
                self.sock.shutdown(socket.SHUT_RDWR)


class _Handler(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Connects through `_Request.connect`, so that the request holds its socket."""

    def do_open(self, http_class: Any, req: Any, **arguments: Any) -> Any:
        def create_connection(*args: Any, **options: Any) -> Any:
            connection = http_class(*args, **options)
            connection.connect = partial(req.connect, connection.connect, connection)
            return connection

        return super().do_open(create_connection, req, **arguments)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, because a redirect could send a token to another host."""

    def redirect_request(self, *_: object) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects, _Handler)


def request_json(
    url: str, payload: object = None, *, token: str = "", timeout_s: float = 30.0, method: str | None = None
) -> Any:
    """Send one request and return the decoded JSON of the response.

    Args:
        url: address, with http:// or https://.
        payload: JSON value of the request body; None sends no body.
        token: bearer token of the Authorization header; "" sends none.
        timeout_s: time limit of the whole request, up to the last byte of the response.
        method: HTTP method; by default POST with a payload and GET without.

    Raises:
        RefusedError: for an error status, and with status 0 for no response in time.
        ServerError: for a response that is not JSON.

    """
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
        raise ServerError(f"{url} returned invalid JSON: {content[:200]!r}") from error


def request_json_with_retries(
    url: str,
    payload: object = None,
    *,
    token: str = "",
    timeout_s: float = 60.0,
    deadline_s: float = 180.0,
    unreachable_s: float | None = None,
    stopped: threading.Event | None = None,
    limiter: RateLimiter | None = None,
    is_final: Callable[[RefusedError], bool] = lambda _: False,
) -> Any:
    """Send a request, repeat it while the server is busy or unreachable, and return the decoded JSON of the response.

    The pause before a retry is the one that the server asks for (Retry-After), or a quarter of a second, doubled at each retry.
    Retries are logged as warnings.

    Args:
        url: address, as for `request_json`.
        payload: JSON value of the request body.
        token: bearer token.
        timeout_s: time limit of each request.
        deadline_s: time limit of all tries together.
        unreachable_s: time after which a server that never responds is given up; None means at the deadline.
        stopped: event by which another thread ends the pauses, and with them the retries.
        limiter: rate limiter shared with other threads; a Retry-After of the server blocks all of them.
        is_final: returns True for an error that must not be retried, whatever its status.

    Raises:
        RefusedError: the last error status, or status 0 for no response.
        ServerError: for a response that is not JSON.

    """
    stopped, limiter = stopped or threading.Event(), limiter or RateLimiter()
    start = time.monotonic()
    end = start + deadline_s
    unreachable_end = end if unreachable_s is None else min(end, start + unreachable_s)
    pause_s = _FIRST_PAUSE_S
    while True:
        if blocked_s := limiter.remaining_s():
            if time.monotonic() + blocked_s >= end or stopped.wait(blocked_s):
                raise RefusedError(f"{url} asks to wait {blocked_s:.0f} s more before the next request", 429, {})
            continue  # another thread may have extended the block meanwhile
        try:
            remaining_s = end - time.monotonic()
            return request_json(url, payload, token=token, timeout_s=max(0.001, min(timeout_s, remaining_s)))
        except RefusedError as error:
            requested_s = retry_after_s(error.headers)
            limiter.block_for(requested_s)
            wait_s = max(pause_s, requested_s)
            remaining_s = (unreachable_end if error.status == 0 else end) - time.monotonic()
            if error.status not in _RETRYABLE or is_final(error) or wait_s >= remaining_s:
                raise
            limiter.log_retry(error, wait_s, remaining_s)
            if stopped.wait(wait_s):
                raise
            pause_s *= 2


def retry_after_s(headers: Mapping[str, str]) -> float:
    """Return the pause in seconds that the headers of a response ask for (RFC 9110, Retry-After); 0 if they ask for none.

    A Retry-After date is compared with the Date header of the same response, so that the clocks of client and server may differ.
    The names of the headers are in lower case.

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
    """Send one request and return the body of a successful response, received completely within `timeout_s`. Raises RefusedError."""
    if not url.startswith(("http://", "https://")):
        raise ServerError(f"invalid server address {url!r}; expected http:// or https://")
    message = _Request(url, body, dict(headers), method=method)
    timer = threading.Timer(timeout_s, message.abort)  # a socket's timeout is per read: one byte a second would never reach it
    timer.daemon = True
    timer.start()
    try:
        with _OPENER.open(message, timeout=timeout_s) as response:
            content = bytes(response.read(_MAX_BYTES))
        if message.is_aborted:
            raise TimeoutError
    except urllib.error.HTTPError as error:
        text = ""
        with error, suppress(OSError, http.client.HTTPException):
            text = error.read(_MAX_REFUSAL).decode("utf-8", "replace")
        lowered = {name.lower(): value for name, value in error.headers.items()}
        raise RefusedError(f"{url} answered {error.code} {error.reason}: {text[:300]!r}", error.code, lowered, text) from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        if message.is_aborted or isinstance(reason, TimeoutError):  # the timer, or the socket's timeout where it fires first
            reason = f"timed out after {timeout_s:.3g} s"
        raise RefusedError(f"{url} did not answer: {reason or type(error).__name__}", 0, {}) from error
    finally:
        timer.cancel()
    return content


def _number(text: str) -> float:
    return float(text) if text.replace(".", "", 1).isdecimal() else 0.0
