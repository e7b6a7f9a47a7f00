"""One JSON request over HTTP, with the standard library alone."""

import http.client
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from email.message import Message
from typing import Any

from webarena_gym.errors import RefusedError as RefusedError
from webarena_gym.errors import ServerError

_MAX_BYTES = 50_000_000
_BUSY = (0, 408, 409, 429, 500, 502, 503, 504, 529)  # worth another try; 0 is no answer at all
_FIRST_PAUSE_S = 0.25


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect could carry a token to another host, so none is followed."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)


def request_json(url: str, payload: Any = None, *, token: str = "", timeout_s: float = 30.0) -> Any:
    """Return the JSON that a server answers; with a payload it is posted. Raises RefusedError, and ServerError for other than JSON."""
    headers = {"Accept": "application/json", "User-Agent": "webarena-gym"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    if payload is not None:
        headers["Content-Type"] = "application/json"
    body = None if payload is None else json.dumps(payload).encode()
    content = request(url, body, headers=headers, timeout_s=timeout_s)
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
    stopped: threading.Event | None = None,
) -> Any:
    """Return the JSON that a server answers; one that is busy or gone is asked again until the deadline.

    The pauses are as long as the server says, or a quarter of a second, doubled each time. `stopped` ends them from another
    thread. Raises as `request_json` does, with the last refusal.
    """
    stopped = stopped or threading.Event()
    end = time.monotonic() + deadline_s
    pause_s = _FIRST_PAUSE_S
    while True:
        try:
            left_s = end - time.monotonic()
            return request_json(url, payload, token=token, timeout_s=max(0.001, min(timeout_s, left_s)))
        except RefusedError as error:
            wait_s = max(pause_s, _seconds(error.headers.get("retry-after", "")))
            if error.status not in _BUSY or time.monotonic() + wait_s >= end or stopped.wait(wait_s):
                raise
            pause_s *= 2


def request(url: str, body: bytes | None = None, *, headers: Mapping[str, str], timeout_s: float) -> bytes:
    """Return the body that a server answers with success. Raises RefusedError."""
    if not url.startswith(("http://", "https://")):
        raise ServerError(f"{url!r} is no address of a server; expected http:// or https://")
    try:
        with _OPENER.open(urllib.request.Request(url, body, dict(headers)), timeout=timeout_s) as answer:  # noqa: S310
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


def _seconds(text: str) -> float:
    return float(text) if text.replace(".", "", 1).isdigit() else 0.0


def _plain(headers: Message) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
