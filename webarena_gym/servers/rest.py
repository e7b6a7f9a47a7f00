"""One JSON request over HTTP, with the standard library alone: an env needs no HTTP client, and a new connection costs little beside what a model takes."""

import http.client
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any

from webarena_gym.errors import RefusedError as RefusedError
from webarena_gym.errors import ServerError

_MAX_BYTES = 50_000_000
_BUSY = (0, 408, 409, 429, 500, 502, 503, 504, 529)  # worth another try; 0 is no answer at all
_FIRST_PAUSE_S = 0.25


class Gate:
    """When a server may be asked again. Shared by all threads that ask it, so that none of them ignores what another was told."""

    def __init__(self) -> None:
        self._opens = 0.0  # on the monotonic clock

    def close_for(self, seconds: float) -> None:
        """Let nobody ask for so many seconds."""
        if seconds > 0:
            self._opens = max(self._opens, time.monotonic() + seconds)

    def left_s(self) -> float:
        """Return how long it is closed yet; 0 when it is open."""
        return max(0.0, self._opens - time.monotonic()) if self._opens else 0.0


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect could carry a token to another host, so none is followed."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)


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
) -> Any:
    """Return the JSON that a server answers; one that is busy or gone is asked again until the deadline.

    The pauses are as long as the server says, or a quarter of a second, doubled each time. A pause that the server asks for closes
    the `gate`, behind which all wait that share it. A server that gives no answer at all is given up after `unreachable_s`, by
    default at the deadline. `stopped` ends the pauses from another thread. Raises as `request_json` does, with the last refusal.
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
            limit = gone if error.status == 0 else end
            if error.status not in _BUSY or time.monotonic() + wait_s >= limit or stopped.wait(wait_s):
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
    """Return the body that a server answers with success. Raises RefusedError."""
    if not url.startswith(("http://", "https://")):
        raise ServerError(f"{url!r} is no address of a server; expected http:// or https://")
    try:
        with _OPENER.open(urllib.request.Request(url, body, dict(headers), method=method), timeout=timeout_s) as answer:  # noqa: S310
            return bytes(answer.read(_MAX_BYTES))
    except urllib.error.HTTPError as error:
        with error:
            said = error.read(300).decode("utf-8", "replace")
        raise RefusedError(
            f"{url} answered {error.code} {error.reason}: {said!r}", error.code, _plain(error.headers)
        ) from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise RefusedError(f"{url} did not answer: {reason or type(error).__name__}", 0, {}) from error


def _number(text: str) -> float:
    return float(text) if text.replace(".", "", 1).isdecimal() else 0.0


def _plain(headers: Message) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
