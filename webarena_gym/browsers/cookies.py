"""A cookie jar after RFC 6265, with a clock that stands still: a cookie lives for the episode unless it is deleted.

A cookie is deleted by a Max-Age of zero or less, or by an Expires that has passed on the fixed clock; all other dates are in
the future. Values are kept and sent back as they came, quotes included. SameSite is not looked at.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

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
            path = _default_path(parts)
        cookie = Cookie(domain or host, path, name, value, host_only=not domain)
        if _is_over(attributes):
            self._cookies.pop(cookie[:3], None)
        else:
            self._cookies[cookie[:3]] = cookie


def _is_for(cookie: Cookie, host: str, path: str) -> bool:
    if host != cookie.domain and (cookie.host_only or not host.endswith(f".{cookie.domain}")):
        return False
    return path == cookie.path or path.startswith(cookie.path.rstrip("/") + "/")


def _default_path(url: SplitResult) -> str:
    return url.path.rpartition("/")[0] or "/"


def _is_over(attributes: Mapping[str, str]) -> bool:
    max_age = attributes.get("max-age", "")
    if max_age.lstrip("-").isdecimal():
        return max_age.startswith("-") or int(max_age) == 0
    try:
        moment = parsedate_to_datetime(attributes.get("expires", ""))
    except (ValueError, TypeError):
        return False
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) < _CLOCK
