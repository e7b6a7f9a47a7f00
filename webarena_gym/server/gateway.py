"""Gateway from a player's own browser to the sites of an episode: addresses are translated, and cookies stay here.

Sites are answered as ever, with their own host names, so that an episode has the same pages wherever it is served. What they say is
translated on its way out, what a browser says on its way in: in headers, addresses, pages and forms, also where it is
percent-encoded.

All that visits an episode's sites is one person, whatever the browser, and is signed in as the task says. So browsers, which send
the cookies of one port to every other, mix nothing up, and a state that is restored has its sessions back.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes, urlsplit

from webarena_gym.browsers.http import CookieJar
from webarena_gym.pages.page import Network, Response
from webarena_gym.sites.catalogue import HOSTS

_PASSED_IN = ("content-type", "if-modified-since", "if-none-match", "origin", "range", "referer")
_KEPT_HERE = frozenset(("set-cookie", "content-length", "connection", "transfer-encoding"))
_WITH_ADDRESSES = ("text/", "application/json", "application/xml", "image/svg+xml")
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain", "application/json")
_COLON, _SLASHES = rb"(:|%3A)", rb"(?://|%2F%2F)"
_NAME = rb"([\w.-]++|\[[0-9a-f:]++\]|%5B(?:[0-9a-f]|%3A)++%5D)"
_OF_PORTS = re.compile(rb"http" + _COLON + _SLASHES + _NAME + rb"(?::|%3A)(\d{1,5})(?!\d)", re.IGNORECASE)


class Translation:
    """Translates addresses both ways: the player is given those of a host `name`, and may reach the ports under all `names`.

    `hosts` are the sites' own, by site.
    """

    def __init__(self, ports: Mapping[str, int], name: str, names: Iterable[str], hosts: Mapping[str, str] = HOSTS) -> None:
        self.addresses: Mapping[str, str] = {site: f"http://{name}:{port}" for site, port in ports.items()}
        self._given = {hosts[site].encode(): address.encode() for site, address in self.addresses.items()}
        self._own = {str(port).encode(): f"http://{hosts[site]}".encode() for site, port in ports.items()}
        known = b"|".join(re.escape(host.encode()) for host in hosts.values())
        self._of_sites = re.compile(rb"http" + _COLON + _SLASHES + rb"(" + known + rb")(?![\w.-]|:\d)")
        self._names = frozenset(each.lower().encode() for each in (name, *names))

    def outward(self, text: bytes) -> bytes:
        """Return what a site says, in the addresses that the player was given.

        >>> sites = Translation({"shopping": 40001}, "127.0.0.1", ())
        >>> sites.outward(b'<a href="http://shop.test/cart?next=http%3A%2F%2Fshop.test%2F">')
        b'<a href="http://127.0.0.1:40001/cart?next=http%3A%2F%2F127.0.0.1%3A40001%2F">'
        """

        def given(found: re.Match[bytes]) -> bytes:
            address = self._given.get(found[2])
            return found[0] if address is None else _spelled(address, found[1])

        return self._of_sites.sub(given, text)

    def inward(self, text: bytes) -> bytes:
        """Return what a player says, in the sites' own addresses.

        >>> Translation({"shopping": 40001}, "127.0.0.1", ["localhost"]).inward(b"url=http%3A%2F%2Flocalhost%3A40001%2Fcart")
        b'url=http%3A%2F%2Fshop.test%2Fcart'
        """

        def own(found: re.Match[bytes]) -> bytes:
            address = self._own.get(found[3]) if unquote_to_bytes(found[2]).lower() in self._names else None
            return found[0] if address is None else _spelled(address, found[1])

        return _OF_PORTS.sub(own, text)

    def inward_text(self, text: str) -> str:
        """Return an address or an answer of a player, in the sites' own addresses."""
        return self.inward(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def outward_text(self, text: str) -> str:
        """Return an address or a goal, in the addresses that the player was given."""
        return self.outward(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


def _spelled(address: bytes, colon: bytes) -> bytes:
    """Return an address, percent-encoded where its colon was."""
    return address if colon == b":" else quote(unquote_to_bytes(address), safe="").encode()


class Visit(NamedTuple):
    """A request of a browser to one site; names of headers are in lower case."""

    site: str
    method: str
    target: str  # the path and the query, as they were sent
    headers: Mapping[str, str]
    body: bytes = b""


class Gateway:
    """Passes requests on to the sites of an episode and remembers their cookies, which are given as host to name to value."""

    def __init__(
        self, network: Network, cookies: Mapping[str, Mapping[str, str]], last_page: str, hosts: Mapping[str, str] = HOSTS
    ) -> None:
        self._network = network
        self.hosts = hosts
        self.jar = CookieJar.from_hosts(cookies)
        self.translation = Translation({}, "", (), hosts)  # the addresses at which the sites are served; none at first
        self.last_page = (
            last_page  # the address of the page that was served last, at first where the task begins, as the sites spell it
        )

    @property
    def cookies(self) -> dict[str, dict[str, str]]:
        """The cookies of the player, as host to name to value."""
        found: dict[str, dict[str, str]] = {}
        for cookie in self.jar.contents():
            found.setdefault(cookie.domain, {})[cookie.name] = cookie.value
        return found

    def send(self, visit: Visit) -> Response:
        """Pass a request on and return its answer, in the player's addresses."""
        translation = self.translation
        url = f"http://{self.hosts[visit.site]}{translation.inward_text(visit.target)}"
        headers = {name: translation.inward_text(visit.headers[name]) for name in _PASSED_IN if name in visit.headers}
        if cookie := self.jar.header(url):
            headers["cookie"] = cookie
        is_form = visit.headers.get("content-type", "").lower().startswith(_FORMS)
        answer = self._network.request(visit.method, url, headers, translation.inward(visit.body) if is_form else visit.body)
        for name, value in answer.headers:
            if name.lower() == "set-cookie":
                self.jar.receive(url, value)
        kind = answer.header("Content-Type")
        if visit.method == "GET" and answer.status == 200 and kind.startswith("text/html"):
            self.last_page = url
        return Response(
            answer.status,
            [(name, translation.outward_text(value)) for name, value in answer.headers if name.lower() not in _KEPT_HERE],
            translation.outward(answer.body) if kind.startswith(_WITH_ADDRESSES) else answer.body,
        )


def is_target(target: str) -> bool:
    """Say whether the target of a request is the path of a site, perhaps with a query."""
    try:
        parts = urlsplit(f"http://site{target}")
    except ValueError:
        return False
    return target.startswith("/") and parts.netloc == "site"
