"""HTTP of the browsers: URLs, cookies, pages for responses of any type, and the HTTP client of the in-process browser.

URLs are resolved and normalized by the URL standard. Cookies follow RFC 6265 with a fixed clock: a cookie lives for the episode
unless it is deleted, by a Max-Age of zero or less or an Expires before the fixed time. Values are sent back unchanged,
including quotes. SameSite is ignored. The client follows redirects.
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
"""A host that needs no normalization, as nearly all."""
_IS_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
# Browsers strip blanks and control characters around an address and drop line breaks inside it.
_BLANK = "".join(map(chr, range(33)))
_LINE_BREAKS = str.maketrans("", "", "\t\n\r")


def _punctuation_except(forbidden: str) -> str:
    return "".join(mark for mark in string.punctuation if mark not in forbidden)


# Characters that the URL standard does not percent-encode.
_IN_PATH, _IN_QUERY, _IN_FRAGMENT = _punctuation_except('"#<>?^`{}'), _punctuation_except("\"#<>'"), _punctuation_except('"<>`')


def canonical_url(url: str) -> str:
    """Return the normalized form of an absolute URL. Raises ValueError for an invalid URL.

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
    """Return the host normalized by the URL standard. Raises ValueError for an invalid host."""
    if _IS_PLAIN.fullmatch(name):
        return name
    if ":" in name:
        return f"[{IPv6Address(name)}]"
    name = unquote(name).encode("idna").decode().lower()
    if not name or _FORBIDDEN.search(name):
        raise ValueError(f"invalid host {name!r}")
    if _IS_NUMBER.fullmatch(name.rstrip(".").rpartition(".")[2]):
        try:
            return socket.inet_ntoa(socket.inet_aton(name))
        except OSError:
            raise ValueError(f"invalid IPv4 address {name!r}") from None
    return name


def resolve_url(base: str, reference: str) -> str:
    """Return the absolute URL of `reference` in a document at `base`, or "" if it is invalid.

    >>> resolve_url("http://shop.test/a/b?c#d", "?page=2"), resolve_url("http://shop.test/a/b?c#d", "#")
    ('http://shop.test/a/b?page=2', 'http://shop.test/a/b?c#')
    """
    address, mark, fragment = reference.strip(_BLANK).translate(_LINE_BREAKS).partition("#")
    document_url = without_fragment(base)
    try:
        return canonical_url((urljoin(document_url, address) if address else document_url) + mark + fragment)
    except ValueError:
        return ""


def typed_url(text: str) -> str:
    """Return the URL of a text typed in the address bar; `http://` is optional. Raises ActionError for an invalid one."""
    typed = text.strip(_BLANK).translate(_LINE_BREAKS)
    if typed.partition("#")[0].lower() == "about:blank":
        return "about:blank"
    try:
        if typed:
            return canonical_url(typed if _HAS_SCHEME.match(typed) else f"http://{typed}")
    except ValueError:
        pass
    raise ActionError(f'"{text}" is no address that can be opened')


def is_web(url: str) -> bool:
    """Return True if a URL has the scheme http or https, unlike mailto: or javascript:."""
    return urlsplit(url).scheme in _DEFAULT_PORTS


def without_fragment(url: str) -> str:
    """Return the URL without `#` and the fragment after it."""
    return url.partition("#")[0]


def origin_of(url: str) -> str:
    """Return the origin of a URL, such as "http://shop.test", the value of the Origin header."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def referrer_for(source: str, target: str) -> str:
    """Return the Referer header of a request from the page `source` to `target`.

    It is the page's URL for the same origin, the page's origin for others, and "" if the page is not on the web.
    """
    if not is_web(source):
        return ""
    return without_fragment(source) if origin_of(source) == origin_of(target) else f"{origin_of(source)}/"


_CLOCK = datetime(2000, 1, 1, tzinfo=UTC)


class Cookie(NamedTuple):
    """A cookie. `host_only` excludes subdomains of `domain`."""

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
    def from_hosts(cls, cookies: Mapping[str, Mapping[str, str]]) -> "CookieJar":
        """Return a jar with these cookies: host to name to value."""
        return cls(Cookie(host, "/", name, value, True) for host, pairs in cookies.items() for name, value in pairs.items())

    def contents(self) -> tuple[Cookie, ...]:
        """Return all cookies, the oldest first."""
        return tuple(self._cookies.values())

    def header(self, url: str) -> str:
        """Return the Cookie header of a request to `url`; "" if no cookie matches."""
        parts = urlsplit(url)
        cookies = [cookie for cookie in self._cookies.values() if _matches(cookie, parts.hostname or "", parts.path)]
        cookies.sort(key=lambda cookie: -len(cookie.path))
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in cookies)

    def receive(self, url: str, header: str) -> None:
        """Process one Set-Cookie header of a response from `url`. A malformed one, or one for another domain, is ignored."""
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
        if _is_expired(attributes):
            self._cookies.pop(cookie[:3], None)
        else:
            self._cookies[cookie[:3]] = cookie


def _matches(cookie: Cookie, host: str, path: str) -> bool:
    if host != cookie.domain and (cookie.host_only or not host.endswith(f".{cookie.domain}")):
        return False
    return path == cookie.path or path.startswith(cookie.path.rstrip("/") + "/")


def _is_expired(attributes: Mapping[str, str]) -> bool:
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
_INVISIBLE_TAGS = ("script", "style", "noscript", "template")


def render_response(response: Response) -> bytes:
    """Return the HTML that a browser displays for a response: the page, other text in a `pre`, or a message page."""
    content_type = response.header("Content-Type")
    media_type = content_type.partition(";")[0].strip().lower()
    if not response.body:
        return BLANK_PAGE if response.status < 400 else message_page("This page isn't working", f"HTTP ERROR {response.status}")
    if media_type in _HTML_TYPES:
        html = _decode(response.body, content_type)
        if "<script" in html and _has_no_content(html):
            html += f"<p>Browser: {NEEDS_SCRIPTS}</p>"
        # The parser drops what follows </html>; a browser shows it.
        return (html if html.rstrip().endswith("</html>") else _END_TAGS.sub("", html)).encode()
    if media_type == "image/svg+xml":
        return BLANK_PAGE  # an image has no text
    if _TEXT_TYPE.fullmatch(media_type):
        text = escape(_decode(response.body, content_type), quote=False)
        return f"<html><head></head><body><pre>{text}</pre></body></html>".encode()
    return message_page("", f"This file cannot be shown: {media_type}, {len(response.body)} bytes")


def _has_no_content(html: str) -> bool:
    """Return True if a page has neither text nor controls before its scripts run."""
    body = document_fromstring(html.encode(), parser=HTMLParser(encoding="utf-8")).find("body")
    if body is None:
        return True
    if next(body.iter("a", "button", "input", "select", "textarea", "img", "iframe"), None) is not None:
        return False
    texts = [
        body.text,
        *(part.text for part in body.iterdescendants() if isinstance(part.tag, str) and part.tag not in _INVISIBLE_TAGS),
    ]
    return not any(text and text.strip() for text in (*texts, *(part.tail for part in body.iterdescendants())))


def message_page(title: str, text: str) -> bytes:
    """Return a page with a message of the browser."""
    return (
        f"<html><head><title>{escape(title)}</title></head>"
        f"<body><h1>{escape(title or 'Note')}</h1><p>{escape(text)}</p></body></html>"
    ).encode("utf-8", "replace")


def failure_page(url: str, *, too_many_redirects: bool = False) -> bytes:
    """Return the error page for an address outside the network or, if `too_many_redirects`, for a redirect loop."""
    if too_many_redirects:
        return message_page("This page isn't working", f"{urlsplit(url).hostname} redirects without end.")
    try:
        host = urlsplit(url).hostname or url
    except ValueError:
        host = url
    return message_page("This site can't be reached", f"No site was found at {host}. Check the address for mistakes.")


def _decode(body: bytes, content_type: str) -> str:
    """Return the text of a body, decoded by its byte order mark, the Content-Type header, a `meta` element, or as UTF-8."""
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if body.startswith(mark)), "")
    if not encoding:
        header = _HEADER_CHARSET.search(content_type)
        meta = None if header else _META_CHARSET.search(body, 0, _SNIFFED_BYTES)
        encoding = header[1] if header else meta[1].decode("latin-1") if meta else "utf-8"
    if encoding.lower() in _LATIN_1:
        encoding = "windows-1252"  # the encoding standard maps Latin-1 labels to it
    try:
        text = body.decode(encoding, "replace")
    except (LookupError, ValueError):
        text = body.decode("utf-8", "replace")
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")


BLANK_URL = "about:blank"
_REDIRECT_LIMIT = 20


class Request(NamedTuple):
    """The request of a navigation. `referrer` is the Referer header; "" sends none."""

    url: str
    method: str = "GET"
    content_type: str = ""
    body: bytes = b""
    referrer: str = ""


_MAX_PREVIEW = 300  # characters of a downloaded text in the notice
_MAX_DOWNLOAD = 2**23  # bytes of a downloaded file


def save_download(name: str, content: bytes, downloads: dict[str, bytes]) -> str:
    """Store a downloaded file in `downloads` and return the notice for the agent, with a preview of a text file.

    Files larger than 8 MiB are not stored.
    """
    if len(content) > _MAX_DOWNLOAD:
        return f"Download not kept: {name}, {len(content)} bytes"
    downloads[name] = content
    text = content[: 4 * _MAX_PREVIEW].decode("utf-8", "replace")
    preview = f": {single_line(text, _MAX_PREVIEW)}" if b"\0" not in content and "\ufffd" not in text[:-1] else ""
    return f"Downloaded {name}, {len(content)} bytes{preview}"


class Client:
    """The HTTP client of a browser: loads pages from a network, with cookies, downloads and notices for the agent."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self.cookies = CookieJar()
        self.downloads: dict[str, bytes] = {}
        self.notices: list[str] = []

    @property
    def files(self) -> dict[str, bytes]:
        """Files available to file fields, by name: those of the network and the downloads."""
        return {**self._network.files, **self.downloads}

    def load(self, request: Request, save_as: str | None = None) -> tuple[str, bytes] | None:
        """Send a request, follow redirects and return the final URL and HTML.

        Return None if the response is not a page: no content, or a download. `save_as` makes any response a download; it is the
        file name unless the response has one, or "" for the name in the URL.
        """
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
                request = _redirect_request(request, response.status, url)
            elif response.status in {204, 205}:
                return None
            elif save_as is not None or response.header("Content-Disposition").lower().startswith("attachment"):
                message = Message()  # parses the header's parameters
                message["Content-Disposition"] = response.header("Content-Disposition") or "attachment"
                name = message.get_filename() or save_as or unquote(urlsplit(request.url).path)
                name = PurePosixPath(name.replace("\\", "/")).name or "download"
                self.notices.append(save_download(name, response.body, self.downloads))
                return None
            else:
                return request.url, render_response(response)
        return request.url, failure_page(request.url, too_many_redirects=True)

    def _send(self, request: Request) -> Response:
        url = without_fragment(request.url)
        headers = {"Cookie": self.cookies.header(url), "Referer": request.referrer}
        if request.method == "POST":
            headers |= {"Content-Type": request.content_type, "Origin": origin_of(request.referrer or url)}
        headers = {name: value for name, value in headers.items() if value}
        response = self._network.request(request.method, url, headers, request.body)
        for name, value in response.headers:
            if name.lower() == "set-cookie":
                self.cookies.receive(url, value)
        return response


def _redirect_request(request: Request, status: int, url: str) -> Request:
    fragment = request.url.partition("#")[2]
    if fragment and "#" not in url:
        url += f"#{fragment}"
    if status in {301, 302, 303} and request.method == "POST":
        return Request(url, referrer=request.referrer)
    return request._replace(url=url)
