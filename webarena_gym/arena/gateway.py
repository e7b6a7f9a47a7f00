"""Gateway from a client's browser to the sites of an episode. It rewrites addresses, and stores the sites' cookies.

Sites receive requests with their own host names, so that the pages of an episode do not depend on the server's address. The gateway
rewrites addresses in requests and responses: in headers, URLs, pages and forms, also if they are percent-encoded.

All clients of an episode share one cookie jar, and are signed in as the task requires. Therefore cookies of episodes do not mix,
although browsers share cookies between all ports of a host, and a restored snapshot has its sessions.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes, urlsplit

from webarena_gym.browsers.cookies import CookieJar
from webarena_gym.pages.page import Network, Response
from webarena_gym.sites.catalogue import HOSTS

_REQUEST_HEADERS = ("content-type", "if-modified-since", "if-none-match", "origin", "range", "referer")  # passed to sites
_DROPPED_HEADERS = frozenset(("set-cookie", "content-length", "connection", "transfer-encoding"))  # of responses
_TYPES_WITH_ADDRESSES = ("text/", "application/json", "application/xml", "image/svg+xml")
_FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain", "application/json")
_COLON, _SLASHES = rb"(:|%3A)", rb"(?://|%2F%2F)"
_NAME = rb"([\w.-]++|\[[0-9a-f:]++\]|%5B(?:[0-9a-f]|%3A)++%5D)"
_PORT_ADDRESS = re.compile(rb"http" + _COLON + _SLASHES + _NAME + rb"(?::|%3A)(\d{1,5})(?!\d)", re.IGNORECASE)


class Translation:
    """Rewrites addresses between sites and clients.

    Args:
        ports: ports at which the sites are served, by site.
        name: host name in the addresses for clients.
        names: further host names that clients may use.
        hosts: the sites' own hosts, by site.

    """

    def __init__(self, ports: Mapping[str, int], name: str, names: Iterable[str], hosts: Mapping[str, str] = HOSTS) -> None:
        self.addresses: Mapping[str, str] = {site: f"http://{name}:{port}" for site, port in ports.items()}
        self._client_addresses = {hosts[site].encode(): address.encode() for site, address in self.addresses.items()}
        self._site_addresses = {str(port).encode(): f"http://{hosts[site]}".encode() for site, port in ports.items()}
        alternatives = b"|".join(re.escape(host.encode()) for host in hosts.values())
        self._site_address = re.compile(rb"http" + _COLON + _SLASHES + rb"(" + alternatives + rb")(?![\w.-]|:\d)")
        self._names = frozenset(host.lower().encode() for host in (name, *names))

    def outward(self, text: bytes) -> bytes:
        """Return text of a site with addresses for clients.

        >>> sites = Translation({"shopping": 40001}, "127.0.0.1", ())
        >>> sites.outward(b'<a href="http://shop.test/cart?next=http%3A%2F%2Fshop.test%2F">')
        b'<a href="http://127.0.0.1:40001/cart?next=http%3A%2F%2F127.0.0.1%3A40001%2F">'
        """

        def replacement(match: re.Match[bytes]) -> bytes:
            address = self._client_addresses.get(match[2])
            return match[0] if address is None else _encode_like(address, match[1])

        return self._site_address.sub(replacement, text)

    def inward(self, text: bytes) -> bytes:
        """Return text of a client with the sites' own addresses.

        >>> Translation({"shopping": 40001}, "127.0.0.1", ["localhost"]).inward(b"url=http%3A%2F%2Flocalhost%3A40001%2Fcart")
        b'url=http%3A%2F%2Fshop.test%2Fcart'
        """

        def replacement(match: re.Match[bytes]) -> bytes:
            address = self._site_addresses.get(match[3]) if unquote_to_bytes(match[2]).lower() in self._names else None
            return match[0] if address is None else _encode_like(address, match[1])

        return _PORT_ADDRESS.sub(replacement, text)

    def inward_text(self, text: str) -> str:
        """Return a str of a client, such as a URL or an answer, with the sites' own addresses."""
        return self.inward(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def outward_text(self, text: str) -> str:
        """Return a str of a site, such as a URL or a goal, with addresses for clients."""
        return self.outward(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


def _encode_like(address: bytes, colon: bytes) -> bytes:
    """Return an address, percent-encoded if the colon of the replaced address was."""
    return address if colon == b":" else quote(unquote_to_bytes(address), safe="").encode()


class Visit(NamedTuple):
    """A request of a client's browser to a site. `target` is path and query as sent; header names are in lower case."""

    site: str
    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes = b""


class Gateway:
    """Passes requests to the sites of an episode, and stores their cookies.

    Args:
        network: the sites.
        cookies: initial cookies, as host to name to value.
        last_page: URL of the task's first page, with the site's own host.
        hosts: hosts of the sites, by site.

    """

    def __init__(
        self, network: Network, cookies: Mapping[str, Mapping[str, str]], last_page: str, hosts: Mapping[str, str] = HOSTS
    ) -> None:
        self._network = network
        self.hosts = hosts
        self.jar = CookieJar.from_hosts(cookies)
        self.translation = Translation({}, "", (), hosts)  # replaced when the sites are served at ports
        self.last_page = last_page  # URL of the last page that was served, with the site's own host

    @property
    def cookies(self) -> dict[str, dict[str, str]]:
        """The cookies of the episode, as host to name to value."""
        by_host: dict[str, dict[str, str]] = {}
        for cookie in self.jar.contents():
            by_host.setdefault(cookie.domain, {})[cookie.name] = cookie.value
        return by_host

    def send(self, visit: Visit) -> Response:
        """Pass a request to its site, and return the response with addresses for clients."""
        translation = self.translation
        url = f"http://{self.hosts[visit.site]}{translation.inward_text(visit.target)}"
        headers = {name: translation.inward_text(visit.headers[name]) for name in _REQUEST_HEADERS if name in visit.headers}
        if cookie := self.jar.header(url):
            headers["cookie"] = cookie
        is_form = visit.headers.get("content-type", "").lower().startswith(_FORM_TYPES)
        response = self._network.request(visit.method, url, headers, translation.inward(visit.body) if is_form else visit.body)
        for name, value in response.headers:
            if name.lower() == "set-cookie":
                self.jar.receive(url, value)
        kind = response.header("Content-Type")
        if visit.method == "GET" and response.status == 200 and kind.startswith("text/html"):
            self.last_page = url
        return Response(
            response.status,
            [
                (name, translation.outward_text(value))
                for name, value in response.headers
                if name.lower() not in _DROPPED_HEADERS
            ],
            translation.outward(response.body) if kind.startswith(_TYPES_WITH_ADDRESSES) else response.body,
        )


def is_target(target: str) -> bool:
    """Return True if a request target is a path of a site, with or without a query."""
    try:
        parts = urlsplit(f"http://site{target}")
    except ValueError:
        return False
    return target.startswith("/") and parts.netloc == "site"
