"""The addresses of an episode's sites as its player knows them, and as the sites do: `http://127.0.0.1:40001` is `http://shop.test`.

Sites are answered as ever, with their own host names, so that an episode has the same pages wherever it is served. What they say is
translated on its way out, what a browser says on its way in: in headers, addresses, pages and forms, also where it is
percent-encoded.
"""

import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote, unquote_to_bytes

from webarena_gym.sites.catalogue import HOSTS

_COLON, _SLASHES = rb"(:|%3A)", rb"(?://|%2F%2F)"
_NAME = rb"([\w.-]++|\[[0-9a-f:]++\]|%5B(?:[0-9a-f]|%3A)++%5D)"
_OF_SITES = re.compile(
    rb"http" + _COLON + _SLASHES + rb"(" + b"|".join(re.escape(host.encode()) for host in HOSTS.values()) + rb")(?![\w.-]|:\d)"
)
_OF_PORTS = re.compile(rb"http" + _COLON + _SLASHES + _NAME + rb"(?::|%3A)(\d{1,5})(?!\d)", re.IGNORECASE)


class Translation:
    """Translates addresses both ways.

    Args:
        ports: the port at which each site is served, by site.
        name: the host name in the addresses that the player is given.
        names: all host names under which the player may reach the ports.

    """

    def __init__(self, ports: Mapping[str, int], name: str, names: Iterable[str]) -> None:
        self.addresses: Mapping[str, str] = {site: f"http://{name}:{port}" for site, port in ports.items()}
        self._given = {HOSTS[site].encode(): address.encode() for site, address in self.addresses.items()}
        self._own = {str(port).encode(): f"http://{HOSTS[site]}".encode() for site, port in ports.items()}
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

        return _OF_SITES.sub(given, text)

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
