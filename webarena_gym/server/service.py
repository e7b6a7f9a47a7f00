"""Service behind an episode server: episodes on one thread, the ports of their sites, and who is let in.

All work on episodes is done by one thread, in the order in which it was asked for: the sites share what they have rendered, and
Python would run no two of them at once. So the event loop only passes bytes, and a client that goes away stops nothing half-done.
"""

import asyncio
import hmac
import logging
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple, ParamSpec, TypeVar
from urllib.parse import parse_qs, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import Response

from webarena_gym.errors import ArenaError
from webarena_gym.server.episodes import EpisodeStore, tasks_of
from webarena_gym.server.gateway import Translation, Visit
from webarena_gym.server.http import Listener, answering, listen, name_of, read_body
from webarena_gym.server.schema import EpisodeState, NewEpisode, Result

P = ParamSpec("P")
T = TypeVar("T")

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""The names under which a machine reaches itself."""

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "pages"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)

_LOG = logging.getLogger(__name__)
_SWEEP_S = 5.0
_COOKIE = "arena_"
_ENTER, _DONE, _AGAIN = "/.arena/enter/", "/.arena/done", "/.arena/again"  # paths of the server's own at the ports of sites


class Address(NamedTuple):
    """Address of a server, and its access rules."""

    host: str = LOOPBACK[0]
    """The address of the interface to listen on."""
    port: int = 0
    """The port; any that is free by default."""
    names: tuple[str, ...] = ()
    """Host names under which clients reach it, beside `host` and those of the loopback interface. Requests that name another are
    refused, so that no page of another site can come in by a name of its own."""
    ports: tuple[int, ...] = ()
    """The ports that sites may be served at; any that is free without it."""
    token: str = ""
    """Token that clients must send; "" for none."""
    operator: str = ""
    """Token for everything but playing scored episodes; `token` by default. Without both, any client may do anything, and none is scored."""


class _Served(NamedTuple):
    """An episode whose sites are served."""

    listeners: Sequence[Listener]
    key: str  # what a browser shows to be let in; "" where none is needed
    has_toolbar: bool


class EpisodeService:
    """Runs episodes for clients on a network."""

    def __init__(self, store: EpisodeStore, address: Address) -> None:
        self.store = store
        self.url = ""
        """Its URL; set when it listens."""
        self.site_urls: Sequence[str] = ()
        """URLs of the sites that are served beside it, for people to browse."""
        self._address = address
        self._operator = address.operator or address.token
        own = [] if is_any(address.host) else [address.host.lower()]
        self._names = frozenset((*map(str.lower, address.names), *LOOPBACK, *own))
        self.loop = asyncio.get_running_loop()
        self._turn = 0  # where the search for free ports begins, so that a port rests for long before it is used again
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="episodes")
        self._served: dict[str, _Served] = {}

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do some work on episodes, when its turn comes, and return its result."""
        return await self.loop.run_in_executor(self._thread, partial(work, *args, **kwargs))

    async def begin(
        self, settings: NewEpisode, name: str = LOOPBACK[0], *, has_toolbar: bool = False, port: int = 0
    ) -> EpisodeState:
        """Begin an episode and serve its sites under a host name, each at a port of its own.

        The site where the task begins is served at `port`, if that is not 0. Raises ArenaError.
        """
        if settings.scored and not self._operator:
            raise ArenaError(
                "an arena without a token shows results to everybody, so it can score nobody; start it with --token",
                422,
                "body.scored",
                settings.scored,
                "false",
            )
        await self.run(self.store.expect_room)  # before worlds are built for it
        await asyncio.to_thread(tasks_of, settings, self.store.application)
        episode = await self.run(self.store.begin, settings)
        if episode.gateway is not None:
            try:
                first = urlsplit(episode.gateway.last_page).netloc
                sites = [site for site, _ in sorted(episode.gateway.hosts.items(), key=lambda item: item[1] != first)]
                ports = await self._open(episode.id, sites, has_toolbar=has_toolbar, first_port=port)
                names = (f"[{each}]" if ":" in each else each for each in self._names)
                shown = f"[{name}]" if ":" in name else name
                episode.gateway.translation = Translation(ports, shown, names, episode.gateway.hosts)
            except BaseException:
                await self.end(episode.id, "its sites could not be served")
                raise
        return await self.state(episode.id)

    async def _open(self, name: str, sites: Sequence[str], *, has_toolbar: bool, first_port: int) -> dict[str, int]:
        """Listen for each site of an episode, for the first one at `first_port` if that is not 0. Return the ports by site."""
        listeners: list[Listener] = []
        self._served[name] = _Served(listeners, secrets.token_urlsafe(16) if self._address.token else "", has_toolbar)
        for site in sites:
            candidates: Sequence[int] = (first_port,) if first_port and not listeners else self._address.ports or (0,)
            self._turn = (self._turn + 1) % len(candidates)
            sock = listen(self._address.host, [*candidates[self._turn :], *candidates[: self._turn]])
            listeners.append(Listener(sock, answering(partial(self._visit, name, site), in_json=False)))
            await listeners[-1].open()
        return {site: listener.port for site, listener in zip(sites, listeners, strict=True)}

    async def state(self, name: str) -> EpisodeState:
        """Return an episode's whole state; its addresses let a browser in. Raises ArenaError."""
        state = await self.run(lambda: self.store.find(name).state())
        key = self._served[name].key if name in self._served else ""
        if not key:
            return state
        hosts = (url.removeprefix("http://").partition("/") for url in state.start_urls)
        return replace(state, start_urls=[f"http://{host}{_ENTER}{key}{slash}{path}" for host, slash, path in hosts])

    async def end(self, name: str, why: str) -> None:
        """Close an episode and its ports. Raises ArenaError."""
        await self._close_ports(name)
        await self.run(self.store.end, name, why)

    async def _close_ports(self, name: str) -> None:
        """Close the ports of an episode; what is left when this is cancelled, the next call closes."""
        for listener in self._served[name].listeners if name in self._served else ():
            await listener.close()
        self._served.pop(name, None)

    async def sweep(self) -> None:
        """Close idle episodes, for ever."""
        while True:
            await asyncio.sleep(_SWEEP_S)
            for name in await self.run(self.store.idle):
                try:
                    await self.end(name, f"nobody asked it for anything for {self.store.limits.idle_s:g} s")
                except ArenaError:
                    pass  # it was closed meanwhile
                except Exception:  # noqa: BLE001 - the others are closed all the same
                    _LOG.exception("an idle episode could not be closed")

    async def close(self) -> None:
        for name in list(self._served):
            await self._close_ports(name)
        await self.run(self.store.close)
        self._thread.shutdown()

    # Who is let in.

    @property
    def needs_token(self) -> bool:
        """True if clients without a token may only play scored episodes."""
        return bool(self._operator)

    def check_name(self, request: Request) -> None:
        """Raise ArenaError for a request to a host name that was given to nobody."""
        host, known = request.headers.get("host"), " or ".join(sorted(self._names))
        if name_of(host or "") not in self._names:
            raise ArenaError("the arena is not known by this host name; --name adds one", 421, "header.host", host, known)

    def check_operator(self, request: Request) -> None:
        """Raise ArenaError for a request without the operator's token, where there is one."""
        if self._operator and not _has_token(request, self._operator):
            raise ArenaError(
                "the token of this arena is missing or wrong", 401, "header.authorization", expected="Bearer TOKEN"
            )

    def is_player(self, request: Request, name: str) -> bool:
        """Return True if a request for an episode comes from the player of a scored one, who has its id and not the operator's token."""
        return bool(self._operator) and not _has_token(request, self._operator) and self.store.admits_player(name)

    def check_origin(self, request: Request) -> None:
        """Raise ArenaError for a request that a page of somebody else's has made a browser send."""
        origin = request.headers.get("origin")
        if origin is not None and name_of(origin.partition("://")[2]) not in self._names:
            raise ArenaError("pages of other sites may not use the arena", 403, "header.origin", origin, "none")

    # The ports of episodes.

    async def _visit(self, name: str, site: str, request: Request) -> Response:
        """Answer a browser at the port of a site. Raises ArenaError, for its headers before the body is read."""
        self.check_name(request)
        served, target = self._served.get(name), target_of(request)
        key = served.key if served else ""
        cookies = (pair.strip().partition("=") for pair in request.headers.get("cookie", "").split(";"))
        has_key = any(name.startswith(_COOKIE) and _same(value, key) for name, _, value in cookies)
        if key and target.startswith(_ENTER):
            given, _, path = target.removeprefix(_ENTER).partition("/")
            if not _same(given, key):
                raise ArenaError("the key of this address is not that of the episode", 401)
        elif key and not (has_key or _has_token(request, self._address.token) or _has_token(request, name)):
            raise ArenaError("open one of the episode's start_urls first: they let a browser in", 401)
        body = await read_body(request)
        if served is None or name not in self._served:
            raise ArenaError("the episode is closed", 410)
        if key and target.startswith(_ENTER):
            # The name is the episode's own, since a browser sends the cookies of one port to all others of the host.
            cookie = f"{_COOKIE}{key[:8]}={key}; Path=/; HttpOnly; SameSite=Lax"
            return response_of(302, [("Location", f"/{path.lstrip('/')}"), ("Set-Cookie", cookie)])
        if served.has_toolbar and target in (_DONE, _AGAIN) and request.method == "POST":
            self.check_origin(request)
            if target == _DONE:
                return await self._judge(name, request, body)
            episode = self.store.find(name)
            await self.run(episode.begin)
            return response_of(303, [("Location", episode.state().start_urls[0])])
        visit = Visit(site, request.method, target, dict(request.headers), body)
        return await self.run(self._browse, name, visit, has_toolbar=served.has_toolbar)

    def _browse(self, name: str, visit: Visit, *, has_toolbar: bool) -> Response:
        episode = self.store.find(name)
        with episode.logged(f"{visit.method} {visit.site} {visit.target[:500]}") as tell:
            page = episode.browse(visit)
            tell(page.status)
        if has_toolbar and page.header("Content-Type").startswith("text/html"):
            page = page._replace(body=_with_toolbar(page.body, episode.goal, episode.result))
        return response_of(*page)

    async def _judge(self, name: str, request: Request, form: bytes) -> Response:
        """Judge what a person has done, and show the verdict on the page where the toolbar was used."""
        answer = parse_qs(form.decode("utf-8", "replace")).get("answer", [""])[0].strip()
        back = request.headers.get("referer")
        episode = self.store.find(name)
        if episode.result is None:
            await self.run(episode.conclude, answer, back)
        return response_of(303, [("Location", back or "/")])


def target_of(request: Request) -> str:
    """Return the target of a request as it was sent."""
    path, query = (request.scope[part].decode("latin-1") for part in ("raw_path", "query_string"))
    return f"{path}?{query}" if query else f"{path}"


def response_of(status: int, headers: Sequence[tuple[str, str]], body: bytes = b"") -> Response:
    """Return an answer with these headers and those that say how long it is."""
    response = Response(b"" if status in {204, 304} else body, status)
    sized = [] if status in {204, 304} else [(b"content-length", str(len(body)).encode())]
    response.raw_headers = [(key.encode("latin-1"), value.encode("latin-1", "replace")) for key, value in headers] + sized
    return response


def _has_token(request: Request, token: str) -> bool:
    return _same(request.headers.get("authorization", ""), f"Bearer {token}")


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(), wanted.encode())


def _with_toolbar(page: bytes, goal: str, result: Result | None) -> bytes:
    """Return a page with a person's toolbar at the head of its body: the goal, a box for the answer, the verdict. Where that is not tagged, at its end."""
    html = TEMPLATES.get_template("toolbar.html").render(action=_DONE, again=_AGAIN, goal=goal, result=result)
    begun = page.find(b"<body")
    place = page.find(b">", begun) + 1
    if begun < 0 or place == 0:
        is_whole = page.lstrip()[:9].lower().startswith((b"<!doctype", b"<html"))  # no piece of a page, for a script
        return page + html.encode() * is_whole
    return page[:place] + html.encode() + page[place:]


def is_any(host: str) -> bool:
    """Tell if a host stands for all interfaces of a machine."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Tell if a host is reached from its own machine alone."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
