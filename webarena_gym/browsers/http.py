"""HTTP of the browsers: URLs, headers, pages for responses of any type, and the HTTP client of the in-process browser.

URLs are resolved and normalized by the URL standard, and requests have the headers that Chromium sends. The client follows redirects.
"""

import re
import socket
import string
from collections.abc import Mapping
from datetime import UTC, datetime
from email.message import Message
from functools import lru_cache
from html import escape
from ipaddress import IPv6Address
from itertools import groupby
from pathlib import PurePosixPath
from typing import Literal, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from lxml import etree
from lxml.html import HTMLParser, document_fromstring

from webarena_gym.browsers.cookies import NOW, CookieJar, parse_cookie_date
from webarena_gym.errors import ActionError
from webarena_gym.pages.form_data import CODECS, ENCODINGS
from webarena_gym.pages.page import HostUnknownError, Network, Response
from webarena_gym.pages.reading import single_line

_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
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


# Characters that are not percent-encoded. Unlike the URL standard, Chromium encodes "|" in a path.
_IN_PATH, _IN_QUERY, _IN_FRAGMENT = (
    _punctuation_except('"#<>?^`{|}'),
    _punctuation_except("\"#<>'"),
    _punctuation_except('"<>`'),
)


def canonical_url(url: str, encoding: str = "UTF-8") -> str:
    """Return the normalized form of an absolute URL in a document with an encoding. Raises ValueError for an invalid URL.

    https://url.spec.whatwg.org/#url-parsing, of which URLs of other schemes than http and https return unchanged.

    >>> canonical_url("HTTP://Shop.test:80?q=a b#")
    'http://shop.test/?q=a%20b#'
    """
    scheme, _, rest = url.partition(":")
    scheme = scheme.lower()
    if scheme not in _DEFAULT_PORTS:
        return url
    rest, fragment_mark, fragment = rest.partition("#")
    rest, query_mark, query = rest.partition("?")
    authority, slash, path = rest.replace("\\", "/").lstrip("/").partition("/")
    parts = urlsplit(f"//{authority}")
    port = "" if parts.port is None else f":{parts.port}"
    return "".join(
        (
            f"{scheme}://{_host(parts.hostname or '')}{port.removesuffix(_DEFAULT_PORTS[scheme])}",
            quote(_path_state(slash + path), safe=_IN_PATH, errors="replace"),
            query_mark + (quote(query, safe=_IN_QUERY) if query.isascii() else _encoded_query(query, encoding)),
            fragment_mark + quote(fragment, safe=_IN_FRAGMENT, errors="replace"),
        )
    )


def _encoded_query(query: str, encoding: str) -> str:
    """Return a query percent-encoded in an encoding, in which other characters become numeric references.

    https://url.spec.whatwg.org/#query-state
    """
    if encoding == "UTF-8":
        return quote(query, safe=_IN_QUERY, errors="replace")
    codec = CODECS.get(encoding, encoding)
    parts = []
    # Parts are encoded whole, since an encoding may have a state, as ISO-2022-JP has.
    for is_encodable, chars in groupby(query, lambda char: bool(char.encode(codec, "ignore"))):
        part = "".join(chars)
        if is_encodable:
            parts.append(quote(part.encode(codec), safe=_IN_QUERY))
        else:
            parts += (f"%26%23{ord(char)}%3B" for char in part)
    return "".join(parts)


def _path_state(path: str) -> str:
    """Return a path without the segments "." and "..", which may be percent-encoded.

    https://url.spec.whatwg.org/#path-state
    """
    if not path:
        return "/"
    if "/." not in path and "/%2" not in path:
        return path
    segments: list[str] = []
    names = path[1:].split("/")
    for index, name in enumerate(names):
        dots = name.lower().replace("%2e", ".")
        if dots == "..":
            del segments[-1:]
        elif dots != ".":
            segments.append(name)
        if dots in (".", "..") and index == len(names) - 1:
            segments.append("")
    return "/" + "/".join(segments)


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


@lru_cache(maxsize=8192)
def resolve_url(base: str, reference: str, encoding: str = "UTF-8") -> str:
    r"""Return the absolute URL of `reference` in a document at `base` with an encoding, or "" if it is invalid.

    https://url.spec.whatwg.org/#relative-state

    >>> resolve_url("http://shop.test/a/b?c#d", "?page=2"), resolve_url("http://shop.test/a/b?c#d", "#")
    ('http://shop.test/a/b?page=2', 'http://shop.test/a/b?c#')
    """
    reference = reference.strip(_BLANK).translate(_LINE_BREAKS)
    document_url = without_fragment(base)
    scheme = _SCHEME.match(reference)
    if scheme and not (scheme[1].lower() in _DEFAULT_PORTS and is_web(base) and base.startswith(f"{scheme[1].lower()}:")):
        return _canonical_or_empty(reference, encoding)
    if not is_web(base):
        return document_url + reference if reference[:1] in ("", "#") else ""
    origin, path, query = _split_base(document_url)
    relative = reference[scheme.end() :] if scheme else reference  # "http:x" is relative on a page of the same scheme
    address, mark, fragment = relative.partition("#")
    location, query_mark, own_query = address.partition("?")
    location = location.replace("\\", "/")
    if location.startswith("//"):
        return _canonical_or_empty(f"{origin.partition(':')[0]}:{relative}", encoding)
    if not location.startswith("/"):
        query = query_mark + own_query if location or query_mark else query
        location = path.rpartition("/")[0] + "/" + location if location else path
    else:
        query = query_mark + own_query
    return _canonical_or_empty(f"{origin}{location}{query}{mark}{fragment}", encoding)


def _split_base(url: str) -> tuple[str, str, str]:
    """Return the origin, the path, and the query with its question mark, of a normalized URL without fragment."""
    start = url.find("/", url.find("//") + 2)
    path, mark, query = url[start:].partition("?")
    return url[:start], path, mark + query


def _canonical_or_empty(url: str, encoding: str) -> str:
    try:
        return canonical_url(url, encoding)
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


_REFERRER_POLICIES = frozenset(
    ("no-referrer", "no-referrer-when-downgrade", "same-origin", "origin", "strict-origin", "origin-when-cross-origin",
     "strict-origin-when-cross-origin", "unsafe-url")
)  # fmt: skip
_LEGACY_POLICIES = {
    "never": "no-referrer",
    "always": "unsafe-url",
    "origin-when-crossorigin": "origin-when-cross-origin",
    "default": "",
}


def referrer_policy(text: str, *, in_meta: bool = False) -> str:
    """Return the last known referrer policy of a header, an attribute or a `meta` element, "" without one.

    https://w3c.github.io/webappsec-referrer-policy/#parse-referrer-policy-from-header
    """
    if not text:
        return ""
    names = [name.strip().lower() for name in text.split(",")]
    if in_meta:
        names = [_LEGACY_POLICIES.get(name, name) for name in names]
    return next((name for name in reversed(names) if name in _REFERRER_POLICIES), "")


def referrer_for(source: str, target: str, policy: str = "") -> str:
    """Return the Referer header of a request from the page `source` to `target`; "" sends none.

    https://w3c.github.io/webappsec-referrer-policy/#determine-requests-referrer
    """
    if not is_web(source) or policy == "no-referrer":
        return ""
    same = origin_of(source) == origin_of(target)
    is_downgrade = source.startswith("https:") and not target.startswith("https:")
    if (policy == "same-origin" and not same) or (
        is_downgrade and policy not in ("unsafe-url", "origin", "origin-when-cross-origin", "same-origin")
    ):
        return ""
    is_whole = policy in ("unsafe-url", "no-referrer-when-downgrade") or (same and policy not in ("origin", "strict-origin"))
    return without_fragment(source) if is_whole else f"{origin_of(source)}/"


BLANK_PAGE = b"<html><head></head><body></body></html>"
_META_CHARSET = re.compile(rb"""<meta[^>]+charset\s*+=\s*+["']?+\s*+([\w.:-]+)""", re.IGNORECASE)
_HEADER_CHARSET = re.compile(r"""charset\s*+=\s*+["']?+\s*+([\w.:-]+)""", re.IGNORECASE)
_XHTML_TYPE = "application/xhtml+xml"
_HTML_TYPES = frozenset(("", "text/html", _XHTML_TYPE))
_PICTURE_TYPES = ("image/", "audio/", "video/")
_BEFORE_ERROR, _AFTER_ERROR = (
    "This page contains the following errors:",
    "Below is a rendering of the page up to the first error.",
)
_TEXT_TYPE = re.compile(r"text/.+|application/(json|javascript|xml)|.+\+(json|xml)")
_DOWNLOADED_TEXT = re.compile(
    r"text/(x-)?(calendar|comma-separated-values|csv|directory|ldif|qif|rtf|tab-separated-values|tsv|vcalendar|vcard|vcf)"
)
"""Types of text that Chromium does not show."""
_EXTENSIONS = {
    "text/csv": ".csv", "text/calendar": ".ics", "application/pdf": ".pdf", "application/zip": ".zip", "application/rtf": ".rtf",
    "message/rfc822": ".eml",
}  # fmt: skip
"""Extensions that Chromium adds to the name of a download without one."""
_BYTE_ORDER_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_LEGACY = "windows-1252"
"""The encoding of a page or text that declares none."""
_SNIFFED_BYTES = 1024
_END_TAGS = re.compile(r"</(?:body|html)\s*>", re.IGNORECASE)


NEEDS_SCRIPTS = 'this page needs scripts, which the in-process browser does not run; browser="chromium" does'
_INVISIBLE_TAGS = ("script", "style", "noscript", "template")


def error_page(status: int) -> bytes:
    """Return the page that Chrome displays for an error status without a body. Headless shells display nothing."""
    return message_page("This page isn't working", f"HTTP ERROR {status}")


def render_response(response: Response) -> tuple[bytes, str]:
    """Return the HTML that a browser displays for a response, and the document's encoding.

    The HTML is the page, other text in a `pre`, or a message page, in UTF-8.
    """
    content_type = response.header("Content-Type")
    media_type = content_type.partition(";")[0].strip().lower()
    if not response.body:
        return (error_page(response.status) if 400 <= response.status < 600 else BLANK_PAGE), "UTF-8"
    if media_type in _HTML_TYPES:
        html, encoding = decode(response.body, content_type, default="UTF-8" if media_type == _XHTML_TYPE else _LEGACY)
        if media_type == _XHTML_TYPE:
            html = _xhtml_to_html(html)
        if "<script" in html and _has_no_content(html):
            html += f"<p>Browser: {NEEDS_SCRIPTS}</p>"
        # The parser drops what follows </html>; a browser shows it.
        return (html if html.rstrip().endswith("</html>") else _END_TAGS.sub("", html)).encode(), encoding
    if media_type == "image/svg+xml":
        return BLANK_PAGE, "UTF-8"  # an image has no text
    if _TEXT_TYPE.fullmatch(media_type):
        is_xml = media_type.endswith("xml") and not media_type.endswith("+xml")
        default = "UTF-8" if is_xml or media_type.endswith("json") else _LEGACY
        text, encoding = decode(response.body, content_type, default=default)
        return f"<html><head></head><body><pre>{escape(text, quote=False)}</pre></body></html>".encode(), encoding
    return message_page("", f"This file cannot be shown: {media_type}, {len(response.body)} bytes"), "UTF-8"


def _is_downloaded(response: Response) -> bool:
    """Return True if a browser saves a response instead of showing it, because of its headers."""
    if response.header("Content-Disposition").lower().startswith("attachment"):
        return True
    media_type = response.header("Content-Type").partition(";")[0].strip().lower()
    if "/" not in media_type or not response.body:
        return False
    is_shown = media_type in _HTML_TYPES or bool(_TEXT_TYPE.fullmatch(media_type)) or media_type.startswith(_PICTURE_TYPES)
    return not is_shown or bool(_DOWNLOADED_TEXT.fullmatch(media_type))


def _xhtml_to_html(text: str) -> str:
    """Return an XHTML page as HTML. A page with an error shows Chromium's message, and what precedes the error."""
    problem = ""
    try:
        root = etree.fromstring(text.encode(), _xml_parser())
    except etree.XMLSyntaxError as error:
        line, column = error.position
        lines = text.splitlines(keepends=True)
        beginning = "".join([*lines[: line - 1], *(part[: column - 1] for part in lines[line - 1 : line])])
        root = etree.fromstring(beginning.encode() or b"<html/>", _xml_parser(recover=True))
        problem = f"error on line {line} at column {column}: {str(error.msg).rpartition(', line ')[0]}"
    if root is None:
        root = etree.Element("html")
    for element in root.iter(etree.Element):
        element.tag = etree.QName(element).localname
    etree.cleanup_namespaces(root)
    if problem:
        body = next(root.iter("body"), root)
        message = etree.Element("parsererror")
        for tag, content in zip(("h3", "div", "h3"), (_BEFORE_ERROR, problem, _AFTER_ERROR), strict=True):
            etree.SubElement(message, tag).text = content
        message.tail, body.text = body.text, None
        body.insert(0, message)
    return str(etree.tostring(root, encoding="unicode", method="html"))


def _xml_parser(*, recover: bool = False) -> etree.XMLParser:
    """Return a parser that keeps references to named entities, which the HTML parser resolves; to `recover` drops unknown ones."""
    entities: Literal["internal", False] = "internal" if recover else False
    return etree.XMLParser(encoding="utf-8", recover=recover, resolve_entities=entities, remove_comments=True, remove_pis=True)


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


def decode(body: bytes, content_type: str, *, default: str) -> tuple[str, str]:
    """Return the text of a body and the name of the document's encoding.

    It is decoded by its byte order mark, the Content-Type header, a `meta` element, or by default. Chromium does not detect UTF-8.
    """
    codec = next((name for mark, name in _BYTE_ORDER_MARKS if body.startswith(mark)), "")
    encoding = "UTF-8"
    if not codec:
        header = _HEADER_CHARSET.search(content_type)
        meta = None if header else _META_CHARSET.search(body, 0, _SNIFFED_BYTES)
        label = header[1] if header else meta[1].decode("latin-1") if meta else ""
        encoding = ENCODINGS.get(label.lower(), default)
        codec = label if header and label.lower().startswith("utf-16") else CODECS.get(encoding, encoding)
    text = body.decode(codec, "replace")
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd"), encoding


BLANK_URL = "about:blank"
REDIRECT_LIMIT = 20
_SHOWN_SCHEMES = ("about:", "data:", "blob:", "file:")  # a redirect to another one is left to other programs
HEADERS = {
    "Upgrade-Insecure-Requests": "1",
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/156.0.0.0 Safari/537.36",
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/jxl,image/avif,image/webp,image/apng,*/*;q=0.8,"
    "application/signed-exchange;v=b3;q=0.7",
    "Accept-Language": "en-US,en;q=0.9",
}
"""The headers of each navigation in Chromium 156. Accept-Encoding is left out, as responses are not decompressed."""


class Request(NamedTuple):
    """The request of a navigation.

    Attributes:
        url: address, with its fragment.
        method: "GET" or "POST".
        content_type: the Content-Type header of a POST.
        body: the body of a POST.
        referrer: the Referer header; "" sends none.
        initiator: URL of the page that navigates; "" if the address was typed.
        policy: referrer policy of that page.
        origin: the Origin header of a POST.

    """

    url: str
    method: str = "GET"
    content_type: str = ""
    body: bytes = b""
    referrer: str = ""
    initiator: str = ""
    policy: str = ""
    origin: str = ""

    def sent_by(self, page_url: str, policy: str) -> "Request":
        """Return the request as a page with a referrer policy sends it.

        https://fetch.spec.whatwg.org/#append-a-request-origin-header
        """
        origin = "null" if policy == "no-referrer" or not is_web(page_url) else origin_of(page_url)
        return self._replace(
            referrer=referrer_for(page_url, self.url, policy), initiator=page_url, policy=policy, origin=origin
        )


class LoadedPage(NamedTuple):
    """A page that was loaded: its URL, its HTML, the referrer policy and the refresh of its headers, and its encoding."""

    url: str
    html: bytes
    policy: str = ""
    refresh: str = ""
    encoding: str = "UTF-8"


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

    def reaches(self, url: str) -> bool:
        """Return True if the host of a URL is in the network."""
        return self._network.reaches(url)

    def load(self, request: Request, save_as: str | None = None) -> LoadedPage | None:
        """Send a request, follow redirects and return the page.

        Return None if the response is not a page: no content, or a download. `save_as` makes any response of the same origin a download;
        it is the file name unless the response has one, or "" for the name in the URL.
        """
        if request.url == BLANK_URL:
            return LoadedPage(BLANK_URL, BLANK_PAGE)
        for _ in range(REDIRECT_LIMIT + 1):
            try:
                response = self.send(request)
            except HostUnknownError:
                return LoadedPage(request.url, failure_page(request.url))
            url = redirect_target(request.url, response)
            if url is not None:
                if not url:
                    return LoadedPage(request.url, failure_page(response.header("Location")))
                if not is_web(url) and not url.startswith(_SHOWN_SCHEMES):
                    return None  # another program would open it
                if origin_of(request.url) != origin_of(url):
                    save_as = None
                request = redirect_request(request, response, url)
            elif response.status in {204, 205, 304} and save_as is None:
                return None
            elif save_as is not None or _is_downloaded(response):
                message = Message()  # parses the header's parameters
                message["Content-Disposition"] = response.header("Content-Disposition") or "attachment"
                name = message.get_filename() or save_as or unquote(urlsplit(request.url).path)
                media_type = response.header("Content-Type").partition(";")[0].strip().lower()
                path = PurePosixPath(name.replace("\\", "/"))
                name = (path.name or "download") + ("" if path.suffix else _EXTENSIONS.get(media_type, ""))
                is_complete = 200 <= response.status < 204  # Chromium saves no other response
                if save_as is None and response.status >= 300:
                    return LoadedPage(request.url, failure_page(request.url))
                self.notices.append(
                    save_download(name, response.body, self.downloads) if is_complete else f"Download not kept: {name}"
                )
                return None
            else:
                policy = referrer_policy(response.header("Referrer-Policy"))
                html, encoding = render_response(response)
                return LoadedPage(request.url, html, policy, response.header("Refresh"), encoding)
        return LoadedPage(request.url, failure_page(request.url, too_many_redirects=True))

    def send(self, request: Request, kind_headers: Mapping[str, str] = HEADERS) -> Response:
        """Send a request with the headers of its kind and the cookies of its site, and receive cookies."""
        url = without_fragment(request.url)
        headers = {
            **kind_headers,
            "Cookie": self.cookies.header(url, request.method, request.initiator),
            "Referer": request.referrer,
        }
        if request.method == "POST":
            headers |= {"Content-Type": request.content_type, "Origin": request.origin or origin_of(request.referrer or url)}
        headers = {name: value for name, value in headers.items() if value}
        response = self._network.request(request.method, url, headers, request.body)
        for name, value in response.headers:
            if name.lower() == "set-cookie":
                self.cookies.receive(url, value, self._time_of(response))
        return response

    def _time_of(self, response: Response) -> datetime:
        """Return the time at which a site has sent a response: by its Date header, else by the clock of the network.

        Chromium compares the Expires of cookies with the Date header, too.
        """
        clock = self._network.clock
        sent = parse_cookie_date(response.header("Date")) or (datetime.fromisoformat(clock) if clock else NOW)
        return sent if sent.tzinfo else sent.replace(tzinfo=UTC)


def redirect_target(url: str, response: Response) -> str | None:
    """Return the address to which a response redirects, "" if it is invalid; None if the response is no redirect."""
    location = response.header("Location") if response.status in {301, 302, 303, 307, 308} else ""
    # WSGI passes bytes as Latin-1, and Chromium reads them as UTF-8.
    return resolve_url(url, location.encode("latin-1", "replace").decode("utf-8", "replace")) if location else None


def redirect_request(request: Request, response: Response, url: str) -> Request:
    """Return the request that follows a redirect to `url`.

    https://fetch.spec.whatwg.org/#http-redirect-fetch. As in Chromium, the first redirect to another origin makes Origin "null", and
    a Referer that was shortened for another origin stays short.
    """
    fragment = request.url.partition("#")[2]
    if fragment and "#" not in url:
        url += f"#{fragment}"
    policy = referrer_policy(response.header("Referrer-Policy")) or request.policy
    request = request._replace(
        url=url,
        referrer=referrer_for(request.referrer, url, policy) if request.referrer else "",
        policy=policy,
        origin=request.origin if origin_of(request.url) == origin_of(url) else "null",
    )
    if response.status in {301, 302, 303} and request.method == "POST":
        return request._replace(method="GET", content_type="", body=b"")
    return request
