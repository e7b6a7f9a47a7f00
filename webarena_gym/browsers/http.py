"""HTTP as a browser speaks it: addresses, cookies, the HTML that it shows for any response, and the client of the in-process browser.

Addresses are joined, cleaned and spelled in one way. Cookies follow RFC 6265 with a clock that stands still: a cookie lives for the
episode unless it is deleted, by a Max-Age of zero or less, or by an Expires that has passed on the fixed clock. Values are kept and sent
back as they came, quotes included. SameSite is not looked at. The client follows redirects until there is a page to show.
"""

import re
import socket
import string
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from html import escape
from ipaddress import IPv6Address
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import quote, unquote, urljoin, urlsplit

from lxml.html import HTMLParser, document_fromstring

from webarena_gym.errors import ActionError
from webarena_gym.pages.page import HostUnknownError, Network, Response
from webarena_gym.pages.reading import single_line

_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_HAS_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://|about:", re.IGNORECASE)
_FORBIDDEN = re.compile(r"[\0-\x20#%/:<>?@\[\\\]^|\x7f]")
_IS_PLAIN = re.compile(r"[a-z][a-z0-9-]{0,62}(?:\.[a-z][a-z0-9-]{0,62})*")
"""A host as nearly all are written, which is spelled as it stands."""
_IS_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
# What browsers drop from an address: blanks and control characters around it, and its line breaks.
_BLANK = "".join(map(chr, range(33)))
_BREAKS = str.maketrans("", "", "\t\n\r")


def _without(forbidden: str) -> str:
    return "".join(mark for mark in string.punctuation if mark not in forbidden)


# What the URL standard leaves as it is; everything else is percent-encoded.
_IN_PATH, _IN_QUERY, _IN_FRAGMENT = _without('"#<>?^`{}'), _without("\"#<>'"), _without('"<>`')


def canonical_url(url: str) -> str:
    """Return an absolute URL as an address bar shows it. Raises ValueError for what is no URL.

    >>> canonical_url("HTTP://Shop.test:80?q=a b#")
    'http://shop.test/?q=a%20b#'
    """
    address, fragment_mark, fragment = url.partition("#")
    address, query_mark, query = address.partition("?")
    parts = urlsplit(address)
    if parts.scheme not in _DEFAULT_PORTS:
        return url
    port = "" if parts.port is None else f":{parts.port}"
    path = urlsplit(urljoin("http://host/", parts.path)).path if "/." in parts.path else parts.path
    return "".join(
        (
            f"{parts.scheme}://{_host(parts.hostname or '')}{port.removesuffix(_DEFAULT_PORTS[parts.scheme])}",
            quote(path or "/", safe=_IN_PATH, errors="replace"),
            query_mark + quote(query, safe=_IN_QUERY, errors="replace"),
            fragment_mark + quote(fragment, safe=_IN_FRAGMENT, errors="replace"),
        )
    )


def _host(name: str) -> str:
    """Return a host as the URL standard spells it. Raises ValueError for what is none."""
    if _IS_PLAIN.fullmatch(name):
        return name
    if ":" in name:
        return f"[{IPv6Address(name)}]"
    name = unquote(name).encode("idna").decode().lower()
    if not name or _FORBIDDEN.search(name):
        raise ValueError(f"{name!r} is no host")
    if _IS_NUMBER.fullmatch(name.rstrip(".").rpartition(".")[2]):
        try:
            return socket.inet_ntoa(socket.inet_aton(name))
        except OSError:
            raise ValueError(f"{name!r} is no host") from None
    return name


def resolve_url(base: str, reference: str) -> str:
    """Return the absolute URL that `reference` means in a document at `base`, or "" when it means none.

    >>> resolve_url("http://shop.test/a/b?c#d", "?page=2"), resolve_url("http://shop.test/a/b?c#d", "#")
    ('http://shop.test/a/b?page=2', 'http://shop.test/a/b?c#')
    """
    address, mark, fragment = reference.strip(_BLANK).translate(_BREAKS).partition("#")
    here = without_fragment(base)
    try:
        return canonical_url((urljoin(here, address) if address else here) + mark + fragment)
    except ValueError:
        return ""


def typed_url(text: str) -> str:
    """Return the URL that a text in the address bar means; `http://` may be left out. Raises ActionError for none."""
    typed = text.strip(_BLANK).translate(_BREAKS)
    if typed.partition("#")[0].lower() == "about:blank":
        return "about:blank"
    try:
        if typed:
            return canonical_url(typed if _HAS_SCHEME.match(typed) else f"http://{typed}")
    except ValueError:
        pass
    raise ActionError(f'"{text}" is no address that can be opened')


def is_web(url: str) -> bool:
    """Return whether a URL leads to a site, and not to a mail program, a script or nowhere."""
    return urlsplit(url).scheme in _DEFAULT_PORTS


def without_fragment(url: str) -> str:
    """Return the URL up to its `#`."""
    return url.partition("#")[0]


def origin_of(url: str) -> str:
    """Return the scheme and host of a URL, as the header Origin has them."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def referrer_for(source: str, target: str) -> str:
    """Return what the header Referer tells `target`: the whole page to its own origin, the origin to others, else ""."""
    if not is_web(source):
        return ""
    return without_fragment(source) if origin_of(source) == origin_of(target) else f"{origin_of(source)}/"


_CLOCK = datetime(2000, 1, 1, tzinfo=UTC)


class Cookie(NamedTuple):
    """One cookie. `host_only` means that it is not for the subdomains of `domain`."""

    domain: str
    path: str
    name: str
    value: str
    host_only: bool


class CookieJar:
    """The cookies of one browser."""

    def __init__(self, cookies: Iterable[Cookie] = ()) -> None:
        self._cookies = {cookie[:3]: cookie for cookie in cookies}

    @classmethod
    def of_hosts(cls, cookies: Mapping[str, Mapping[str, str]]) -> "CookieJar":
        """Return a jar that holds `cookies`, given as host to name to value."""
        return cls(Cookie(host, "/", name, value, True) for host, pairs in cookies.items() for name, value in pairs.items())

    def contents(self) -> tuple[Cookie, ...]:
        """Return all cookies, the oldest first."""
        return tuple(self._cookies.values())

    def header(self, url: str) -> str:
        """Return the value of the header Cookie for a request to `url`; "" for none."""
        parts = urlsplit(url)
        sent = [cookie for cookie in self._cookies.values() if _is_for(cookie, parts.hostname or "", parts.path)]
        sent.sort(key=lambda cookie: -len(cookie.path))
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in sent)

    def receive(self, url: str, header: str) -> None:
        """Obey one Set-Cookie header of an answer from `url`; a malformed or foreign one is ignored."""
        pair, *rest = header.split(";")
        name, equals, value = (part.strip() for part in pair.partition("="))
        attributes = {key.strip().lower(): text.strip() for key, _, text in (part.partition("=") for part in rest)}
        parts = urlsplit(url)
        host = parts.hostname or ""
        domain = attributes.get("domain", "").lower().removeprefix(".")
        foreign = domain not in {"", host} and ("." not in domain or not host.endswith(f".{domain}"))
        if not equals or not name or foreign or ("secure" in attributes and parts.scheme != "https"):
            return
        path = attributes.get("path", "")
        if not path.startswith("/"):
            path = parts.path.rpartition("/")[0] or "/"
        cookie = Cookie(domain or host, path, name, value, host_only=not domain)
        if _is_over(attributes):
            self._cookies.pop(cookie[:3], None)
        else:
            self._cookies[cookie[:3]] = cookie


def _is_for(cookie: Cookie, host: str, path: str) -> bool:
    if host != cookie.domain and (cookie.host_only or not host.endswith(f".{cookie.domain}")):
        return False
    return path == cookie.path or path.startswith(cookie.path.rstrip("/") + "/")


def _is_over(attributes: Mapping[str, str]) -> bool:
    max_age = attributes.get("max-age", "")
    if max_age.lstrip("-").isdecimal():
        return max_age.startswith("-") or int(max_age) == 0
    try:
        moment = parsedate_to_datetime(attributes.get("expires", ""))
    except (ValueError, TypeError):
        return False
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) < _CLOCK


BLANK_PAGE = b"<html><head></head><body></body></html>"
_META_CHARSET = re.compile(rb"""<meta[^>]+charset\s*+=\s*+["']?+\s*+([\w.:-]+)""", re.IGNORECASE)
_HEADER_CHARSET = re.compile(r"""charset\s*+=\s*+["']?+\s*+([\w.:-]+)""", re.IGNORECASE)
_HTML_TYPES = frozenset(("", "text/html", "application/xhtml+xml"))
_TEXT_TYPE = re.compile(r"text/.+|application/(json|javascript|xml)|.+\+(json|xml)")
_BYTE_ORDER_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_LATIN_1 = frozenset(("iso-8859-1", "iso8859-1", "latin1", "latin-1", "ascii", "us-ascii"))
_SNIFFED_BYTES = 1024
_END_TAGS = re.compile(r"</(?:body|html)\s*>", re.IGNORECASE)


NEEDS_SCRIPTS = 'this page needs scripts, which the in-process browser does not run; browser="chromium" does'
_UNSEEN = ("script", "style", "noscript", "template")


def render_response(response: Response) -> bytes:
    """Return the HTML that a browser shows for an answer: the page, the text in a `pre`, or a note."""
    content_type = response.header("Content-Type")
    media_type = content_type.partition(";")[0].strip().lower()
    if not response.body:
        return BLANK_PAGE if response.status < 400 else message_page("This page isn't working", f"HTTP ERROR {response.status}")
    if media_type in _HTML_TYPES:
        html = _decode(response.body, content_type)
        if "<script" in html and _is_bare(html):
            html += f"<p>Browser: {NEEDS_SCRIPTS}</p>"
        # The parser drops what follows </html>; a browser shows it.
        return (html if html.rstrip().endswith("</html>") else _END_TAGS.sub("", html)).encode()
    if media_type == "image/svg+xml":
        return BLANK_PAGE  # a picture, which a page of text does not show
    if _TEXT_TYPE.fullmatch(media_type):
        text = escape(_decode(response.body, content_type), quote=False)
        return f"<html><head></head><body><pre>{text}</pre></body></html>".encode()
    return message_page("", f"This file cannot be shown: {media_type}, {len(response.body)} bytes")


def _is_bare(html: str) -> bool:
    """Return whether a page shows neither a text nor a control before its scripts have run."""
    body = document_fromstring(html.encode(), parser=HTMLParser(encoding="utf-8")).find("body")
    if body is None:
        return True
    if next(body.iter("a", "button", "input", "select", "textarea", "img", "iframe"), None) is not None:
        return False
    texts = [
        body.text,
        *(each.text for each in body.iterdescendants() if isinstance(each.tag, str) and each.tag not in _UNSEEN),
    ]
    return not any(text and text.strip() for text in (*texts, *(each.tail for each in body.iterdescendants())))


def message_page(title: str, text: str) -> bytes:
    """Return a page of the browser's own."""
    return (
        f"<html><head><title>{escape(title)}</title></head>"
        f"<body><h1>{escape(title or 'Note')}</h1><p>{escape(text)}</p></body></html>"
    ).encode("utf-8", "replace")


def failure_page(url: str, *, too_many_redirects: bool = False) -> bytes:
    """Return the page for an address that leads to no page, or outside of the network."""
    if too_many_redirects:
        return message_page("This page isn't working", f"{urlsplit(url).hostname} redirects without end.")
    try:
        host = urlsplit(url).hostname or url
    except ValueError:
        host = url
    return message_page("This site can't be reached", f"No site was found at {host}. Check the address for mistakes.")


def _decode(body: bytes, content_type: str) -> str:
    """Return the text of a body, in the encoding of its byte order mark, the header or the `meta`, else in UTF-8."""
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if body.startswith(mark)), "")
    if not encoding:
        named = _HEADER_CHARSET.search(content_type)
        meta = None if named else _META_CHARSET.search(body, 0, _SNIFFED_BYTES)
        encoding = named[1] if named else meta[1].decode("latin-1") if meta else "utf-8"
    if encoding.lower() in _LATIN_1:
        encoding = "windows-1252"  # as every browser reads it
    try:
        text = body.decode(encoding, "replace")
    except (LookupError, ValueError):
        text = body.decode("utf-8", "replace")
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")


BLANK_URL = "about:blank"
_REDIRECT_LIMIT = 20


class Request(NamedTuple):
    """The request of a navigation. `referrer` is sent as it stands; "" sends none."""

    url: str
    method: str = "GET"
    content_type: str = ""
    body: bytes = b""
    referrer: str = ""


_SHOWN_OF_FILE = 300  # characters
_KEPT_OF_FILE = 2**23  # bytes


def told_of_download(name: str, content: bytes, downloads: dict[str, bytes]) -> str:
    """Keep a file that was downloaded among the others, unless it is very large, and return what its user is told, with the beginning of a text."""
    if len(content) > _KEPT_OF_FILE:
        return f"Download not kept: {name}, {len(content)} bytes"
    downloads[name] = content
    text = content[: 4 * _SHOWN_OF_FILE].decode("utf-8", "replace")
    shown = f": {single_line(text, _SHOWN_OF_FILE)}" if b"\0" not in content and "\ufffd" not in text[:-1] else ""
    return f"Downloaded {name}, {len(content)} bytes{shown}"


class Client:
    """Loads pages over a network, with the cookies of one browser, and keeps what it downloads; `notices` are for its user."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self.cookies = CookieJar()
        self.downloads: dict[str, bytes] = {}
        self.notices: list[str] = []

    @property
    def files(self) -> dict[str, bytes]:
        """The files at hand."""
        return {**self._network.files, **self.downloads}

    def load(self, request: Request, save_as: str | None = None) -> tuple[str, bytes] | None:
        """Return the URL and the HTML at the end of all redirects; None for an answer that is no page, or is to be saved under a name."""
        if request.url == BLANK_URL:
            return BLANK_URL, BLANK_PAGE
        for _ in range(_REDIRECT_LIMIT + 1):
            try:
                response = self._send(request)
            except HostUnknownError:
                return request.url, failure_page(request.url)
            location = response.header("Location")
            if response.status in {301, 302, 303, 307, 308} and location:
                url = resolve_url(request.url, location)
                if not url:
                    return request.url, failure_page(location)
                request = _redirected(request, response.status, url)
            elif response.status in {204, 205}:
                return None
            elif save_as is not None or response.header("Content-Disposition").lower().startswith("attachment"):
                told = Message()
                told["Content-Disposition"] = response.header("Content-Disposition") or "attachment"
                name = told.get_filename() or save_as or unquote(urlsplit(request.url).path)
                name = PurePosixPath(name.replace("\\", "/")).name or "download"
                self.notices.append(told_of_download(name, response.body, self.downloads))
                return None
            else:
                return request.url, render_response(response)
        return request.url, failure_page(request.url, too_many_redirects=True)

    def _send(self, request: Request) -> Response:
        url = without_fragment(request.url)
        headers = {"Cookie": self.cookies.header(url), "Referer": request.referrer}
        if request.method == "POST":
            headers |= {"Content-Type": request.content_type, "Origin": origin_of(request.referrer or url)}
        sent = {name: value for name, value in headers.items() if value}
        response = self._network.request(request.method, url, sent, request.body)
        for name, value in response.headers:
            if name.lower() == "set-cookie":
                self.cookies.receive(url, value)
        return response


def _redirected(request: Request, status: int, url: str) -> Request:
    fragment = request.url.partition("#")[2]
    if fragment and "#" not in url:
        url += f"#{fragment}"
    if status in {301, 302, 303} and request.method == "POST":
        return Request(url, referrer=request.referrer)
    return request._replace(url=url)
