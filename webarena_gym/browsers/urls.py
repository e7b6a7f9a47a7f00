"""Addresses as a browser understands them: joined, cleaned and spelled in one way."""

import re
import socket
import string
from ipaddress import IPv6Address
from urllib.parse import quote, unquote, urljoin, urlsplit

_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_HAS_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://|about:", re.IGNORECASE)
_FORBIDDEN = re.compile(r"[\0-\x20#%/:<>?@\[\\\]^|\x7f]")
_IS_PLAIN = re.compile(r"[a-z][a-z0-9-]{0,62}(?:\.[a-z][a-z0-9-]{0,62})*")
"""A host as nearly all are written, which is spelled as it stands."""
_IS_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_BLANK = "".join(map(chr, range(33)))
_BREAKS = str.maketrans("", "", "\t\n\r")


def _without(forbidden: str) -> str:
    return "".join(mark for mark in string.punctuation if mark not in forbidden)


# What the URL standard leaves as it is; everything else is percent-encoded.
_IN_PATH, _IN_QUERY, _IN_FRAGMENT = _without('"#<>?^`{}'), _without("\"#<>'"), _without('"<>`')


def canonical(url: str) -> str:
    """Return an absolute URL as an address bar shows it. Raises ValueError for what is no URL.

    >>> canonical("HTTP://Shop.test:80?q=a b#")
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


def resolve(base: str, reference: str) -> str:
    """Return the absolute URL that `reference` means in a document at `base`, or "" when it means none.

    >>> resolve("http://shop.test/a/b?c#d", "?page=2"), resolve("http://shop.test/a/b?c#d", "#")
    ('http://shop.test/a/b?page=2', 'http://shop.test/a/b?c#')
    """
    address, mark, fragment = _visible(reference).partition("#")
    here = without_fragment(base)
    try:
        return canonical((urljoin(here, address) if address else here) + mark + fragment)
    except ValueError:
        return ""


def typed(text: str) -> str:
    """Return the URL that a text in the address bar means; `http://` may be left out. Raises ValueError for none."""
    text = _visible(text)
    if not text:
        raise ValueError("an address is needed, not an empty text")
    if text.partition("#")[0].lower() == "about:blank":
        return "about:blank"
    return canonical(text if _HAS_SCHEME.match(text) else f"http://{text}")


def _visible(text: str) -> str:
    """Return an address without what browsers drop from it: blanks and control characters around it, and its line breaks."""
    return text.strip(_BLANK).translate(_BREAKS)


def is_web(url: str) -> bool:
    """Return whether a URL leads to a site, and not to a mail program, a script or nowhere."""
    return urlsplit(url).scheme in _DEFAULT_PORTS


def without_fragment(url: str) -> str:
    """Return the URL up to its `#`."""
    return url.partition("#")[0]


def origin(url: str) -> str:
    """Return the scheme and host of a URL, as the header Origin has them."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def referrer(source: str, target: str) -> str:
    """Return what the header Referer tells `target`: the whole page to its own origin, the origin to others, else ""."""
    if not is_web(source):
        return ""
    return without_fragment(source) if origin(source) == origin(target) else f"{origin(source)}/"
