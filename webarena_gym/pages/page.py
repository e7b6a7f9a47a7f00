"""The state of a page in a browser, the network that serves an episode's sites, and the record of HTTP traffic."""

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

MAX_TRAFFIC_BYTES = 64 * 2**20
"""Maximum size of the traffic record of one session in bytes; later exchanges are dropped."""
_RECORDED_TYPE = "application/json"  # no evaluation rule reads the body of any other response
_MAX_STATUS = 999
NO_RESPONSE = -1
"""Status of an exchange without a response."""


@dataclass(slots=True)
class Exchange:
    """One HTTP request and its response. Request header names are lower case; `status` is NO_RESPONSE until one arrives."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    status: int = NO_RESPONSE
    response_headers: Sequence[tuple[str, str]] = ()
    response_body: bytes = b""


class Traffic:
    """The HTTP exchanges of one browser session, in request order."""

    def __init__(self) -> None:
        self._exchanges: list[Exchange] = []
        self._size = 0

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All exchanges so far, with or without a response."""
        return tuple(self._exchanges)

    @property
    def is_complete(self) -> bool:
        """True if no exchange was dropped because of MAX_TRAFFIC_BYTES."""
        return self._size <= MAX_TRAFFIC_BYTES

    def record_request(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Exchange:
        """Record a request and return its exchange, to be passed to `record_response`."""
        exchange = Exchange(method, url, headers, body)
        if self._reserve(len(url) + len(body) + sum(len(name) + len(value) for name, value in headers.items())):
            self._exchanges.append(exchange)
        return exchange

    def record_response(self, exchange: Exchange, status: int, headers: Sequence[tuple[str, str]], body: bytes) -> None:
        """Record the response to a request. Bodies other than JSON are dropped."""
        is_json = any(name.lower() == "content-type" and _RECORDED_TYPE in value for name, value in headers)
        recorded_body = body if is_json else b""
        if self._reserve(len(recorded_body) + sum(len(name) + len(value) for name, value in headers)):
            exchange.status, exchange.response_headers, exchange.response_body = status, headers, recorded_body

    def _reserve(self, size: int) -> bool:
        """Add `size` bytes to the size of the record and return True if the record still fits."""
        self._size += size
        return self.is_complete


WSGIApplication = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
"""A web application in the interface of PEP 3333."""


class Response(NamedTuple):
    """The response of a site.

    Attributes:
        status: HTTP status.
        headers: names and values, in order and with duplicates, since a response may have several Set-Cookie headers.
        body: the body.

    """

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str, default: str = "") -> str:
        """Return the value of the first header with this name (case-insensitive), or `default`."""
        key = name.lower()
        for header, value in self.headers:
            if header.lower() == key:
                return value
        return default


_ERROR_PAGE = (
    b"<!doctype html><title>500 Internal Server Error</title><h1>Internal Server Error</h1><p>The site could not answer.</p>"
)
_MAX_ERROR_URL = 200  # characters of a URL in an error message


class Network:
    """The sites of one episode, called in-process as WSGI applications. Redirects and cookies are handled by the browser.

    An exception in a site becomes a response with status 500 and an entry in `errors`. Requests for images add no entry, since
    not all browsers load images. The backend clears `errors` when an episode starts.

    Args:
        sites: WSGI application by host name.
        files: content of the files available to file fields, by name.
        address: returns the port on this machine, or the Unix socket path, of the server behind the sites, which takes
            WebSockets and event streams; None if the sites have no server.

    Attributes:
        errors: exceptions of the sites in the current episode, one line each.
        clock: ISO time at which the clock of page scripts is frozen, or begins if the time is virtual; "" for the real time.
        is_silent: True if pages keep all state, and their server has neither dates nor messages. Then the clock begins at `clock` in each
            document and is not frozen, and virtual time does not wait for event streams and WebSockets.
        virtual_time: True if the time of page scripts passes only while a browser waits for a page, as fast as they run.
        ready_selector: CSS selector of an element built by scripts. Browsers with scripts wait for it in each scripted document.
        busy_selector: CSS selector of elements that exist while a page waits for its server. Browsers with scripts wait until there are none.
        traffic: record of the requests to the sites, without their responses; None if they are not recorded.

    """

    clock = ""
    is_silent = False
    virtual_time = False
    ready_selector = ""
    busy_selector = ""
    traffic: Traffic | None = None

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
        """Host names of the sites, in insertion order."""
        return tuple(self._sites)

    def reaches(self, url: str) -> bool:
        """Return True if the host of a URL is in this network."""
        return self._site_at(url) is not None

    def _site_at(self, url: str) -> WSGIApplication | None:
        parts = urlsplit(url)
        return self._sites.get(parts.netloc.lower()) if parts.scheme == "http" else None

    def request(self, method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Response:
        """Send one request and return its response. Raises HostUnknownError for a URL outside this network."""
        site, parts = self._site_at(url), urlsplit(url)
        if site is None:
            raise HostUnknownError(url)
        if self.traffic is not None:
            self.traffic.record_request(method, url, headers or {}, body)
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
            return _call_application(site, environ)
        except Exception as error:  # a site may raise anything
            if isinstance(error, HostUnknownError) or (
                isinstance(error, sqlite3.ProgrammingError) and "closed database" in str(error)
            ):
                raise  # not a fault of the site: its episode ended during the request
            if not str(environ.get("HTTP_ACCEPT", "")).startswith("image/"):
                frame = traceback.extract_tb(error.__traceback__)[-1]
                location = f"{frame.filename.replace(chr(92), '/').rpartition('/')[2]}:{frame.lineno}"
                self.errors.append(f"{method} {url[:_MAX_ERROR_URL]}: {type(error).__name__}: {error} ({location})")
            return Response(500, [("Content-Type", "text/html; charset=utf-8")], _ERROR_PAGE)


def _call_application(site: WSGIApplication, environ: dict[str, Any]) -> Response:
    head: list[Any] = []
    write_buffer: list[bytes] = []

    def start_response(status: str, headers: list[tuple[str, str]], _exc_info: object = None) -> Callable[[bytes], None]:
        head[:] = status, headers
        return write_buffer.append

    chunks = site(environ, start_response)
    try:
        content = b"".join((*write_buffer, *chunks))
    finally:
        close = getattr(chunks, "close", None)
        if close is not None:
            close()
    status = int(head[0].split(" ", 1)[0])
    if not 200 <= status <= _MAX_STATUS:
        raise ValueError(f"the site answered with the status {head[0][:40]!r}; expected 200 to {_MAX_STATUS}")
    return Response(status, list(head[1]), content)


class Tab(NamedTuple):
    """An open tab of the browser.

    Attributes:
        title: title of its document.
        url: URL of its document.

    """

    title: str
    url: str


@dataclass(frozen=True, slots=True)
class Page:
    """The document of the active tab with its live state, and the list of tabs.

    Attributes:
        url: address of the document.
        title: its title.
        root: its element tree in the current state. Live state is stored as attributes: `value` of fields (the text of a
            textarea), `checked`, `selected`, and `disabled` also on controls that a fieldset disables. The elements are the
            handles that `Browser` methods take; they are valid until the next action. Readers must not change the tree.
        tabs: titles and URLs of all tabs.
        active_tab: index of the active tab in `tabs`.
        focused: the focused element, or None.
        notices: messages of the browser since the last action, such as dialogs, downloads and slow pages.
        cache: results that readers have computed from the tree. Pages with the same tree in the same state share one cache.

    """

    url: str
    title: str
    root: HtmlElement
    tabs: tuple[Tab, ...]
    active_tab: int
    focused: HtmlElement | None = None
    notices: tuple[str, ...] = ()
    cache: dict[Hashable, Any] = field(default_factory=dict, compare=False, repr=False)

    def soup(self) -> Any:
        """Return a copy of the document as a BeautifulSoup tree, for scripted agents.

        Raises:
            gymnasium.error.DependencyNotInstalled: if Beautiful Soup, the extra `soup`, is not installed.

        """
        try:
            from bs4 import BeautifulSoup  # noqa: PLC0415 - an optional dependency
        except ImportError as error:
            raise DependencyNotInstalled("page.soup() needs Beautiful Soup: pip install 'webarena-gym[soup]'") from error
        return BeautifulSoup(tostring(self.root, encoding="unicode", method="html"), "lxml")
