"""Cookies of the in-process browser: RFC 6265bis as Chromium implements it.

https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis. A cookie lives for the episode unless it is deleted or expired when
it is received. Nothing reads the machine's clock. A host's registrable domain is taken to be its last two labels: there is no public
suffix list.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

NOW = datetime(2026, 1, 1, tzinfo=UTC)
"""The time at which cookies are received from sites that have no clock of their own."""
_MAX_SIZE, _MAX_ATTRIBUTE = 4_096, 1_024  # characters of name and value, and of an attribute's value
_CONTROL = re.compile(r"[\0-\x08\x0a-\x1f\x7f]")
_NUMBER = re.compile(r"[+-]?[0-9]+")
_BLANK = " \t"


class Cookie(NamedTuple):
    """A cookie. `host_only` excludes subdomains of `domain`; `same_site` is "strict", "lax", "none" or "" without the attribute."""

    domain: str
    path: str
    name: str
    value: str
    host_only: bool
    same_site: str = ""
    secure: bool = False


class CookieJar:
    """The cookies of one browser, the oldest first."""

    def __init__(self, cookies: Iterable[Cookie] = ()) -> None:
        self._cookies = {_key(cookie): cookie for cookie in cookies}

    @classmethod
    def from_hosts(cls, cookies: Mapping[str, Mapping[str, str]]) -> "CookieJar":
        """Return a jar with these cookies: host to name to value."""
        return cls(Cookie(host, "/", name, value, True) for host, pairs in cookies.items() for name, value in pairs.items())

    def contents(self) -> tuple[Cookie, ...]:
        """Return all cookies, the oldest first."""
        return tuple(self._cookies.values())

    def header(self, url: str, method: str = "GET", initiator: str = "") -> str:
        """Return the Cookie header of a navigation to `url` from the page at `initiator` ("" for an address that was typed).

        https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis#name-retrieval-algorithm
        """
        if not self._cookies:
            return ""
        parts = urlsplit(url)
        host = parts.hostname or ""
        cookies = [cookie for cookie in self._cookies.values() if _matches(cookie, host, parts.path)]
        withheld = {"strict"} if method == "GET" else {"strict", "lax"}  # Chromium sends new cookies without the attribute
        if any(cookie.same_site in withheld for cookie in cookies) and initiator and not is_same_site(initiator, url):
            cookies = [cookie for cookie in cookies if cookie.same_site not in withheld]
        if any(cookie.secure for cookie in cookies) and not _is_trustworthy(parts.scheme, host):
            cookies = [cookie for cookie in cookies if not cookie.secure]
        cookies.sort(key=lambda cookie: -len(cookie.path))
        return "; ".join(f"{cookie.name}={cookie.value}" if cookie.name else cookie.value for cookie in cookies)

    def receive(self, url: str, header: str, now: datetime = NOW) -> None:
        """Process one Set-Cookie header of a response from `url`, received at the time `now`. An invalid one is ignored.

        https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis#name-storage-model
        """
        cookie, expires = _parse(url, header)
        if cookie is None:
            return
        key = _key(cookie)
        if expires is not None and expires <= now:
            self._cookies.pop(key, None)
            return
        earlier = self._cookies.get(key)
        if earlier is not None and earlier.value != cookie.value:
            del self._cookies[key]  # Chromium keeps the place of a cookie only if its value is the same
        self._cookies[key] = cookie


def _key(cookie: Cookie) -> tuple[str, str, str, bool]:
    return cookie.domain, cookie.path, cookie.name, cookie.host_only


def _matches(cookie: Cookie, host: str, path: str) -> bool:
    """Return True if the domain and the path of a cookie match those of a request."""
    if host != cookie.domain and (cookie.host_only or not host.endswith(f".{cookie.domain}")):
        return False
    return path == cookie.path or path.startswith(cookie.path.rstrip("/") + "/")


def _parse(url: str, header: str) -> tuple[Cookie | None, datetime | None]:
    """Return the cookie of a Set-Cookie header, None if it is invalid, and the time at which it expires, None without one.

    https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis#name-the-set-cookie-header-field
    """
    pair, *rest = header.split(";")
    name, equals, value = pair.partition("=")
    name, value = (name.strip(_BLANK), value.strip(_BLANK)) if equals else ("", pair.strip(_BLANK))
    attributes: dict[str, str] = {}
    for part in rest:  # the last attribute of a kind counts
        key, _, text = part.partition("=")
        if len(text := text.strip(_BLANK)) <= _MAX_ATTRIBUTE:
            attributes[key.strip(_BLANK).lower()] = text
    is_valid = (
        (name or value) and len(name) + len(value) <= _MAX_SIZE and "\t" not in name + value and not _CONTROL.search(header)
    )
    parts = urlsplit(url)
    host = parts.hostname or ""
    domain = _domain(attributes.get("domain", ""), host)
    path = attributes.get("path", "")
    if not path.startswith("/"):
        path = parts.path.rpartition("/")[0] or "/"
    same_site = attributes.get("samesite", "").lower()
    same_site = same_site if same_site in ("strict", "lax", "none") else ""
    secure = "secure" in attributes
    if not is_valid or domain is None or (secure and not _is_trustworthy(parts.scheme, host)):
        return None, None
    if not secure and (same_site == "none" or "partitioned" in attributes):
        return None, None
    cookie = Cookie(domain or host, path, name, value, not domain, same_site, secure)
    return (cookie if _has_valid_prefix(cookie, attributes) else None), _expiry(attributes)


def _domain(text: str, host: str) -> str | None:
    """Return the Domain attribute without its leading dot; "" for a cookie of the host only, None if the host may not set it."""
    domain = text.lower().removeprefix(".")
    if not text or (domain == host and _is_single(host)):
        return ""
    if not domain or "." not in domain or _is_single(host) or not f".{host}".endswith(f".{domain}"):
        return None
    return domain


def _has_valid_prefix(cookie: Cookie, attributes: Mapping[str, str]) -> bool:
    """Return True unless a prefix of the cookie's name demands attributes that it lacks.

    https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis#name-cookie-name-prefixes
    """
    name = (cookie.name or cookie.value).lower()
    if not name.startswith(("__host-", "__secure-", "__http-")):
        return True
    is_host_wide = cookie.path == "/" and cookie.host_only and "domain" not in attributes
    return (
        bool(cookie.name)
        and cookie.secure
        and (is_host_wide or not name.startswith("__host-"))
        and ("httponly" in attributes or not name.startswith(("__http-", "__host-http-")))
    )


def is_same_site(one: str, other: str) -> bool:
    """Return True if two URLs have the same scheme and registrable domain, at any port.

    https://html.spec.whatwg.org/multipage/browsers.html#same-site
    """
    first, second = urlsplit(one), urlsplit(other)
    return first.scheme == second.scheme and _site(first.hostname or "") == _site(second.hostname or "")


def _site(host: str) -> str:
    return host if _is_single(host) else ".".join(host.split(".")[-2:])


@lru_cache(maxsize=1024)
def _is_single(host: str) -> bool:
    """Return True for an IP address or a host of one label, which has no domain above it."""
    if "." not in host or ":" in host:
        return True
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _is_trustworthy(scheme: str, host: str) -> bool:
    """Return True if Chromium takes an origin for secure, so that it may set and get Secure cookies."""
    return (
        scheme == "https"
        or host == "localhost"
        or host.endswith(".localhost")
        or (host.startswith("127.") and _is_single(host))
    )


def _expiry(attributes: Mapping[str, str]) -> datetime | None:
    max_age = attributes.get("max-age", "")
    if _NUMBER.fullmatch(max_age):
        return datetime.min.replace(tzinfo=UTC) if int(max_age) <= 0 else None
    return parse_cookie_date(attributes.get("expires", ""))


_DELIMITERS = re.compile(r"[\t\x20-\x2f\x3b-\x40\x5b-\x60\x7b-\x7e]+")
_TIME = re.compile(r"([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})")  # unlike the RFC, Chromium allows nothing after a number
_DAY, _YEAR = re.compile(r"[0-9]{1,2}"), re.compile(r"[0-9]{2,4}")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_FIRST_YEAR = 1601


def parse_cookie_date(text: str) -> datetime | None:
    """Return the time of an Expires attribute, None if it is none. Years before 1601 are the earliest time, as in Chromium.

    https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis#name-dates

    >>> parse_cookie_date("Fri, 01-Jan-10 00:00:00 GMT")
    datetime.datetime(2010, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)
    """
    time = day = month = year = None
    for token in _DELIMITERS.split(text):
        if time is None and (match := _TIME.fullmatch(token)):
            time = int(match[1]), int(match[2]), int(match[3])
        elif day is None and _DAY.fullmatch(token):
            day = int(token)
        elif month is None and token[:3].lower() in _MONTHS:
            month = _MONTHS.index(token[:3].lower()) + 1
        elif year is None and _YEAR.fullmatch(token):
            year = int(token)
    if time is None or day is None or month is None or year is None:
        return None
    year += 1900 if 70 <= year <= 99 else 2000 if year < 70 else 0
    try:
        moment = datetime(max(year, _FIRST_YEAR), month, day, *time, tzinfo=UTC)
    except ValueError:
        return None
    return moment if year >= _FIRST_YEAR else datetime.min.replace(tzinfo=UTC)
