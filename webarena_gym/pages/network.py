"""The only network that an episode has: host names mapped to WSGI applications in this process.

Nothing here opens a socket. A host that is not mapped does not exist, so an agent cannot reach anything but its own sites.
"""

import io
import sqlite3
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes, urlsplit

from webarena_gym.errors import HostUnknownError as HostUnknownError

WSGIApplication = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class Response(NamedTuple):
    """What a site answered. `headers` keeps order and duplicates, as several Set-Cookie lines need."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str, default: str = "") -> str:
        """Return the first header of that name, compared without case."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), default)


_BROKEN = (
    b"<!doctype html><title>500 Internal Server Error</title><h1>Internal Server Error</h1><p>The site could not answer.</p>"
)
_LONGEST_URL = 200  # characters that an error tells


class Network:
    """Calls the sites of one episode. Redirects and cookies are the browser's business.

    An exception of a site is answered with status 500 and noted in `errors`, unless it was asked for a picture, which not all
    browsers do. Who begins an episode empties the list.
    """

    def __init__(self, sites: Mapping[str, WSGIApplication]) -> None:
        self._sites = dict(sites)
        self.errors: list[str] = []

    @property
    def hosts(self) -> tuple[str, ...]:
        """The host names that exist, in the order they were given."""
        return tuple(self._sites)

    def request(self, method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Response:
        """Send one request and return the answer. Raises HostUnknownError for a URL that leads out of this network."""
        parts = urlsplit(url)
        site = self._sites.get(parts.netloc.lower())
        if site is None or parts.scheme != "http":
            raise HostUnknownError(url)
        environ = {
            "REQUEST_METHOD": method,
            "SCRIPT_NAME": "",
            "PATH_INFO": unquote_to_bytes(parts.path or "/").decode("latin-1"),
            "QUERY_STRING": parts.query.encode().decode("latin-1"),
            "SERVER_NAME": parts.hostname,
            "SERVER_PORT": str(parts.port or 80),
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "HTTP_HOST": parts.netloc,
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": False,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
        }
        for name, value in (headers or {}).items():
            key = name.upper().replace("-", "_")
            environ[key if key == "CONTENT_TYPE" else f"HTTP_{key}"] = value
        try:
            return _answer(site, environ)
        except Exception as error:  # whatever a site raises
            if isinstance(error, sqlite3.ProgrammingError) and "closed database" in str(error):
                raise  # no fault of the site: its episode has ended meanwhile
            if not str(environ.get("HTTP_ACCEPT", "")).startswith("image/"):
                where = traceback.extract_tb(error.__traceback__)[-1]
                place = f"{where.filename.replace(chr(92), '/').rpartition('/')[2]}:{where.lineno}"
                self.errors.append(f"{method} {url[:_LONGEST_URL]}: {type(error).__name__}: {error} ({place})")
            return Response(500, [("Content-Type", "text/html; charset=utf-8")], _BROKEN)


def _answer(site: WSGIApplication, environ: dict[str, Any]) -> Response:
    answer: list[Any] = []
    written: list[bytes] = []

    def start_response(status: str, head: list[tuple[str, str]], _exc_info: Any = None) -> Callable[[bytes], None]:
        answer[:] = status, head
        return written.append

    chunks = site(environ, start_response)
    try:
        content = b"".join((*written, *chunks))
    finally:
        close = getattr(chunks, "close", None)
        if close is not None:
            close()
    return Response(int(answer[0].split(" ", 1)[0]), list(answer[1]), content)
