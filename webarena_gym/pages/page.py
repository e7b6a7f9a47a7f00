"""A page as a browser shows it at one moment, the network of an episode that answers its requests, and the record of its traffic."""

import io
import sqlite3
import sys
import traceback
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes, urlsplit

from gymnasium.error import DependencyNotInstalled
from lxml.html import HtmlElement, tostring

from webarena_gym.errors import HostUnknownError as HostUnknownError

LIMIT = 64 * 2**20
"""Bytes of one record; what is beyond them is not kept."""
_KEPT_TYPE = "application/json"  # no rule reads the contents of other answers
UNANSWERED = -1


@dataclass(slots=True)
class Exchange:
    """One request, with names of headers in lower case, and its answer; `status` is -1 as long as nobody answers."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    status: int = UNANSWERED
    answer_headers: Sequence[tuple[str, str]] = ()
    answer_body: bytes = b""


class Traffic:
    """The requests of one browser session, in the order in which they were made."""

    def __init__(self) -> None:
        self._exchanges: list[Exchange] = []
        self._size = 0

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All that was asked so far, answered or not."""
        return tuple(self._exchanges)

    @property
    def is_whole(self) -> bool:
        """True if nothing had to be left out."""
        return self._size <= LIMIT

    def ask(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Exchange:
        """Write down a request and return it, to be given to `answer`."""
        exchange = Exchange(method, url, headers, body)
        if self._counts(len(url) + len(body) + sum(len(name) + len(value) for name, value in headers.items())):
            self._exchanges.append(exchange)
        return exchange

    def answer(self, exchange: Exchange, status: int, headers: Sequence[tuple[str, str]], body: bytes) -> None:
        """Write down what a request got; of its contents, JSON alone."""
        is_json = any(name.lower() == "content-type" and _KEPT_TYPE in value for name, value in headers)
        kept = body if is_json else b""
        if self._counts(len(kept) + sum(len(name) + len(value) for name, value in headers)):
            exchange.status, exchange.answer_headers, exchange.answer_body = status, headers, kept

    def _counts(self, size: int) -> bool:
        """Add to the size of all that was to be kept, and say whether it still fits."""
        self._size += size
        return self.is_whole


WSGIApplication = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class Response(NamedTuple):
    """The response of a site. `headers` keeps order and duplicates, as several Set-Cookie lines need."""

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
    browsers do. Who begins an episode empties the list. `files` are at hand by their names, for file fields. Where a server is
    behind the sites, `address` returns at which port of this machine, or path of a socket, it listens for what is no plain request.
    `clock` is a time at which scripts of pages see their clock stand still. `shown` is a CSS selector of what scripts build: each
    document with scripts is waited for until it has it.
    """

    clock = ""
    shown = ""

    def __init__(
        self,
        sites: Mapping[str, WSGIApplication],
        files: Mapping[str, bytes] = MappingProxyType({}),
        address: Callable[[], int | str] | None = None,
    ) -> None:
        self._sites = dict(sites)
        self.errors: list[str] = []
        self.files, self.address = files, address

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
            if isinstance(error, HostUnknownError) or (
                isinstance(error, sqlite3.ProgrammingError) and "closed database" in str(error)
            ):
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


class Tab(NamedTuple):
    """One open tab, as a tab strip shows it."""

    title: str
    url: str


@dataclass(frozen=True, slots=True)
class Page:
    """The active tab's document, with its live state, and the tab strip.

    `root` is the document as it is now, not as it was sent: what was typed stands in `value` (the text, for a textarea), what
    is ticked has `checked`, what is chosen has `selected`, and what something around it disables has `disabled`. Its elements are
    the handles that `Browser` methods take, and are valid until the next call of a method that acts. Readers must not change the
    tree. `notices` is what the browser itself had to say since the last action: dialogs, downloads, pages that take too long. In
    `readings`, readers may keep what they have made of the tree: whoever shows the same tree in the same state hands it on.
    """

    url: str
    title: str
    root: HtmlElement
    tabs: tuple[Tab, ...]
    active_tab: int
    focused: HtmlElement | None = None
    notices: tuple[str, ...] = ()
    readings: dict[Hashable, Any] = field(default_factory=dict, compare=False, repr=False)

    def soup(self) -> Any:
        """Return the same document as a tree of Beautiful Soup, for agents that are scripted; it may be changed.

        Raises gymnasium's DependencyNotInstalled without the extra `soup`.
        """
        try:
            from bs4 import BeautifulSoup  # noqa: PLC0415 - an optional dependency
        except ImportError as error:
            raise DependencyNotInstalled("page.soup() needs Beautiful Soup: pip install 'webarena-gym[soup]'") from error
        return BeautifulSoup(tostring(self.root, encoding="unicode", method="html"), "lxml")
