"""The way from a player's own browser to the sites of an episode.

The cookies stay here: all that visits an episode's sites is one person, whatever the browser, and is signed in as the task says. So
browsers, which send the cookies of one port to every other, mix nothing up, and a state that is restored has its sessions back.
"""

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from webarena_gym.arena.translation import Translation
from webarena_gym.browsers.http import Cookie, CookieJar
from webarena_gym.pages.page import Network, Response
from webarena_gym.sites.catalogue import HOSTS

_PASSED_IN = ("content-type", "if-modified-since", "if-none-match", "origin", "range", "referer")
_KEPT_HERE = frozenset(("set-cookie", "content-length", "connection", "transfer-encoding"))
_WITH_ADDRESSES = ("text/", "application/json", "application/xml", "image/svg+xml")
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain", "application/json")


class Visit(NamedTuple):
    """A request of a browser to one site; names of headers are in lower case."""

    site: str
    method: str
    target: str  # the path and the query, as they were sent
    headers: Mapping[str, str]
    body: bytes = b""


class Memory(NamedTuple):
    """All that a gateway remembers."""

    cookies: tuple[Cookie, ...]
    last_page: str


class Gateway:
    """Passes requests on to a network and remembers its cookies.

    Args:
        network: the sites of the episode.
        cookies: those of the sessions that the task begins with, as host to name to value.
        last_page: the address at which the task begins, as the sites spell it.

    """

    def __init__(self, network: Network, cookies: Mapping[str, Mapping[str, str]], last_page: str) -> None:
        self._network = network
        self._jar = CookieJar.of_hosts(cookies)
        self.last_page = last_page
        """The address of the page that was served last, as the sites spell it."""

    @property
    def cookies(self) -> dict[str, dict[str, str]]:
        """The cookies of the player, as host to name to value."""
        found: dict[str, dict[str, str]] = {}
        for cookie in self._jar.contents():
            found.setdefault(cookie.domain, {})[cookie.name] = cookie.value
        return found

    def send(self, visit: Visit, translation: Translation) -> Response:
        """Pass a request on and return its answer, in the player's addresses."""
        url = f"http://{HOSTS[visit.site]}{translation.inward_text(visit.target)}"
        headers = {name: translation.inward_text(visit.headers[name]) for name in _PASSED_IN if name in visit.headers}
        if cookie := self._jar.header(url):
            headers["cookie"] = cookie
        is_form = visit.headers.get("content-type", "").lower().startswith(_FORMS)
        answer = self._network.request(visit.method, url, headers, translation.inward(visit.body) if is_form else visit.body)
        for name, value in answer.headers:
            if name.lower() == "set-cookie":
                self._jar.receive(url, value)
        kind = answer.header("Content-Type")
        if visit.method == "GET" and answer.status == 200 and kind.startswith("text/html"):
            self.last_page = url
        return Response(
            answer.status,
            [(name, translation.outward_text(value)) for name, value in answer.headers if name.lower() not in _KEPT_HERE],
            translation.outward(answer.body) if kind.startswith(_WITH_ADDRESSES) else answer.body,
        )

    def remember(self) -> Memory:
        """Return what is to be restored with the sites."""
        return Memory(self._jar.contents(), self.last_page)

    def restore(self, memory: Memory) -> None:
        """Return to what was remembered."""
        self._jar = CookieJar(memory.cookies)
        self.last_page = memory.last_page


def is_target(target: str) -> bool:
    """Say whether the target of a request is the path of a site, perhaps with a query."""
    try:
        parts = urlsplit(f"http://site{target}")
    except ValueError:
        return False
    return target.startswith("/") and parts.netloc == "site"
