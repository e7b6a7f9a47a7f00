"""Returns the HTML, in UTF-8, that a browser shows for an HTTP response of any kind."""

import re
from html import escape
from urllib.parse import urlsplit

from webarena_gym.pages.network import Response

BLANK = b"<html><head></head><body></body></html>"
_META_CHARSET = re.compile(rb"""<meta[^>]+charset\s*+=\s*+["']?+\s*+([\w.:-]+)""", re.IGNORECASE)
_HEADER_CHARSET = re.compile(r"""charset\s*+=\s*+["']?+\s*+([\w.:-]+)""", re.IGNORECASE)
_HTML_TYPES = frozenset(("", "text/html", "application/xhtml+xml"))
_TEXT_TYPE = re.compile(r"text/.+|application/(json|javascript|xml)|.+\+(json|xml)")
_BYTE_ORDER_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_LATIN_1 = frozenset(("iso-8859-1", "iso8859-1", "latin1", "latin-1", "ascii", "us-ascii"))
_SNIFFED_BYTES = 1024
_END_TAGS = re.compile(r"</(?:body|html)\s*>", re.IGNORECASE)


def render(response: Response) -> bytes:
    """Return the HTML that a browser shows for an answer: the page, the text in a `pre`, or a note."""
    content_type = response.header("Content-Type")
    media_type = content_type.partition(";")[0].strip().lower()
    if not response.body:
        return BLANK if response.status < 400 else message_page("This page isn't working", f"HTTP ERROR {response.status}")
    if media_type in _HTML_TYPES:
        html = _decode(response.body, content_type)
        # The parser drops what follows </html>; a browser shows it.
        return (html if html.rstrip().endswith("</html>") else _END_TAGS.sub("", html)).encode()
    if media_type == "image/svg+xml":
        return BLANK  # a picture, which a page of text does not show
    if _TEXT_TYPE.fullmatch(media_type):
        text = escape(_decode(response.body, content_type), quote=False)
        return f"<html><head></head><body><pre>{text}</pre></body></html>".encode()
    return message_page("", f"This file cannot be shown: {media_type}, {len(response.body)} bytes")


def message_page(title: str, text: str) -> bytes:
    """Return a page of the browser's own."""
    return (
        f"<html><head><title>{escape(title)}</title></head>"
        f"<body><h1>{escape(title or 'Note')}</h1><p>{escape(text)}</p></body></html>"
    ).encode("utf-8", "replace")


def unreachable_page(url: str) -> bytes:
    """Return the page for an address outside the network."""
    try:
        host = urlsplit(url).hostname or url
    except ValueError:
        host = url
    return message_page("This site can't be reached", f"No site was found at {host}. Check the address for mistakes.")


def failure_page(url: str, *, too_many_redirects: bool = False) -> bytes:
    """Return the page for an address that leads to no page."""
    if too_many_redirects:
        return message_page("This page isn't working", f"{urlsplit(url).hostname} redirects without end.")
    return unreachable_page(url)


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
