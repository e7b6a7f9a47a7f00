"""Service of an episode server: a thread for all episodes, ports for their sites, and access control.

One thread runs all work on episodes in the order of the requests, because the sites share a cache of rendered pages, and the GIL allows
no parallelism. The event loop only transfers bytes. A client that disconnects does not interrupt work that has started.
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

from webarena_gym.arena.episodes import EpisodeStore, candidate_tasks
from webarena_gym.arena.gateway import Translation, Visit
from webarena_gym.arena.http import Listener, host_name, listen, read_body, with_error_responses
from webarena_gym.arena.schema import EpisodeResult, EpisodeState, NewEpisode
from webarena_gym.errors import ArenaError

P = ParamSpec("P")
T = TypeVar("T")

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Host names of the loopback interface."""

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
_ENTER, _DONE, _AGAIN = "/.arena/enter/", "/.arena/done", "/.arena/again"  # the server's own paths at the ports of sites


class ServerSettings(NamedTuple):
    """Address and access rules of a server.

    Attributes:
        host: address of the interface to listen on.
        port: port; 0 uses any free one.
        names: host names that clients may use, besides `host` and those of the loopback interface. Requests to other names are
            rejected, which prevents DNS rebinding.
        ports: ports at which sites may be served; empty uses any free ones.
        token: token that clients must send; "" for none.
        operator: token for all operations except playing scored episodes; "" uses `token`. Without both, clients may do everything,
            and episodes cannot be scored.

    """

    host: str = LOOPBACK[0]
    port: int = 0
    names: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    token: str = ""
    operator: str = ""


class _ServedEpisode(NamedTuple):
    """Listeners of an episode's sites. `key` is the secret in its start URLs; "" if browsers need none."""

    listeners: Sequence[Listener]
    key: str
    has_toolbar: bool


class EpisodeService:
    """Episodes of a server, and their sites at ports.

    Attributes:
        store: the episodes; use it only in functions passed to `run`.
        url: URL of the server, set when it listens.
        site_urls: URLs of the sites that the server offers for browsing without a task.
        loop: the event loop.

    """

    def __init__(self, store: EpisodeStore, settings: ServerSettings) -> None:
        self.store = store
        self.url = ""
        self.site_urls: Sequence[str] = ()
        self._settings = settings
        self._operator = settings.operator or settings.token
        host_names = [] if is_wildcard(settings.host) else [settings.host.lower()]
        self._names = frozenset((*map(str.lower, settings.names), *LOOPBACK, *host_names))
        self.loop = asyncio.get_running_loop()
        self._next_port = 0  # index where the search for free ports starts, so that a port is not reused soon
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="episodes")
        self._served: dict[str, _ServedEpisode] = {}

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function in the thread of the episodes, and return its result."""
        return await self.loop.run_in_executor(self._thread, partial(work, *args, **kwargs))

    async def create_episode(
        self, settings: NewEpisode, name: str = LOOPBACK[0], *, has_toolbar: bool = False, port: int = 0
    ) -> EpisodeState:
        """Create an episode and, in browse mode, serve each of its sites at its own port.

        Args:
            settings: task and options.
            name: host name in the addresses of the sites.
            has_toolbar: if True, pages get a toolbar with the goal and a field for the answer, for people.
            port: port of the site on which the task starts; 0 uses any.

        Raises:
            ArenaError: at the limits, for an unknown task, for a scored episode without a token, and without free ports.

        """
        if settings.scored and not self._operator:
            raise ArenaError(
                "an arena without a token shows results to all clients, so episodes cannot be scored; start it with --token",
                422,
                "body.scored",
                settings.scored,
                "false",
            )
        await self.run(self.store.expect_room)  # before worlds are built
        await asyncio.to_thread(partial(candidate_tasks, settings, **self.store.source))
        episode = await self.run(self.store.create, settings)
        if episode.gateway is not None:
            try:
                first = urlsplit(episode.gateway.last_page).netloc
                sites = [site for site, _ in sorted(episode.gateway.hosts.items(), key=lambda item: item[1] != first)]
                ports = await self._open_ports(episode.id, sites, has_toolbar=has_toolbar, first_port=port)
                names = (f"[{host}]" if ":" in host else host for host in self._names)
                url_name = f"[{name}]" if ":" in name else name
                episode.gateway.translation = Translation(ports, url_name, names, episode.gateway.hosts)
            except BaseException:
                await self.close_episode(episode.id, "its sites could not be served")
                raise
        return await self.state(episode.id)

    async def _open_ports(self, name: str, sites: Sequence[str], *, has_toolbar: bool, first_port: int) -> dict[str, int]:
        """Listen for each site of an episode, for the first one at `first_port` if that is not 0. Return the ports by site."""
        listeners: list[Listener] = []
        key = secrets.token_urlsafe(16) if self._settings.token else ""
        self._served[name] = _ServedEpisode(listeners, key, has_toolbar)
        for site in sites:
            candidates: Sequence[int] = (first_port,) if first_port and not listeners else self._settings.ports or (0,)
            self._next_port = (self._next_port + 1) % len(candidates)
            sock = listen(self._settings.host, [*candidates[self._next_port :], *candidates[: self._next_port]])
            listeners.append(Listener(sock, with_error_responses(partial(self._visit, name, site), in_json=False)))
            await listeners[-1].open()
        return {site: listener.port for site, listener in zip(sites, listeners, strict=True)}

    async def state(self, name: str) -> EpisodeState:
        """Return the state of an episode. Its start URLs contain the key that admits a browser. Raises ArenaError."""
        state = await self.run(lambda: self.store.find(name).state())
        key = self._served[name].key if name in self._served else ""
        if not key:
            return state
        hosts = (url.removeprefix("http://").partition("/") for url in state.start_urls)
        return replace(state, start_urls=[f"http://{host}{_ENTER}{key}{slash}{path}" for host, slash, path in hosts])

    async def close_episode(self, name: str, why: str) -> None:
        """Close an episode and its ports; later requests get the reason `why`. Raises ArenaError for an unknown id."""
        await self._close_ports(name)
        await self.run(self.store.close_episode, name, why)

    async def _close_ports(self, name: str) -> None:
        """Close the ports of an episode. If this is cancelled, the next call closes the remaining ones."""
        for listener in self._served[name].listeners if name in self._served else ():
            await listener.close()
        self._served.pop(name, None)

    async def sweep(self) -> None:
        """Close idle episodes regularly, until cancelled."""
        while True:
            await asyncio.sleep(_SWEEP_S)
            for name in await self.run(self.store.idle):
                try:
                    await self.close_episode(name, f"it had no request for {self.store.limits.idle_s:g} s")
                except ArenaError:
                    pass  # closed meanwhile
                except Exception:  # noqa: BLE001 - the other episodes must still be closed
                    _LOG.exception("cannot close an idle episode")

    async def close(self) -> None:
        for name in list(self._served):
            await self._close_ports(name)
        await self.run(self.store.close)
        self._thread.shutdown()

    # Access control.

    @property
    def needs_token(self) -> bool:
        """True if clients without a token may only play scored episodes."""
        return bool(self._operator)

    def check_name(self, request: Request) -> None:
        """Raise ArenaError for a request to an unknown host name."""
        host, known = request.headers.get("host"), " or ".join(sorted(self._names))
        if host_name(host or "") not in self._names:
            raise ArenaError("the arena is not known by this host name; --name adds one", 421, "header.host", host, known)

    def check_operator(self, request: Request) -> None:
        """Raise ArenaError for a request without the operator's token, if the server has one."""
        if self._operator and not _has_token(request, self._operator):
            raise ArenaError(
                "the token of this arena is missing or wrong", 401, "header.authorization", expected="Bearer TOKEN"
            )

    def is_player(self, request: Request, name: str) -> bool:
        """Return True if a request comes from the player of a scored episode, who has its id but not the operator's token."""
        return bool(self._operator) and not _has_token(request, self._operator) and self.store.admits_player(name)

    def check_origin(self, request: Request) -> None:
        """Raise ArenaError for a request from a page of another origin (cross-site request forgery)."""
        origin = request.headers.get("origin")
        if origin is not None and host_name(origin.partition("://")[2]) not in self._names:
            raise ArenaError("pages of other sites may not use the arena", 403, "header.origin", origin, "none")

    # The ports of episodes.

    async def _visit(self, name: str, site: str, request: Request) -> Response:
        """Return the response to a request at the port of a site. Raises ArenaError; access is checked before the body is read."""
        self.check_name(request)
        served, target = self._served.get(name), request_target(request)
        key = served.key if served else ""
        cookies = (pair.strip().partition("=") for pair in request.headers.get("cookie", "").split(";"))
        has_key = any(name.startswith(_COOKIE) and _is_equal(value, key) for name, _, value in cookies)
        if key and target.startswith(_ENTER):
            url_key, _, path = target.removeprefix(_ENTER).partition("/")
            if not _is_equal(url_key, key):
                raise ArenaError("the key in this URL is not the key of the episode", 401)
        elif key and not (has_key or _has_token(request, self._settings.token) or _has_token(request, name)):
            raise ArenaError("open one of the episode's start_urls first; they set the cookie that the sites require", 401)
        body = await read_body(request)
        if served is None or name not in self._served:
            raise ArenaError("the episode is closed", 410)
        if key and target.startswith(_ENTER):
            # Each episode needs its own cookie name, because a browser sends cookies to all ports of a host.
            cookie = f"{_COOKIE}{key[:8]}={key}; Path=/; HttpOnly; SameSite=Lax"
            return make_response(302, [("Location", f"/{path.lstrip('/')}"), ("Set-Cookie", cookie)])
        if served.has_toolbar and target in (_DONE, _AGAIN) and request.method == "POST":
            self.check_origin(request)
            if target == _DONE:
                return await self._judge(name, request, body)
            episode = self.store.find(name)
            await self.run(episode.start)
            return make_response(303, [("Location", episode.state().start_urls[0])])
        visit = Visit(site, request.method, target, dict(request.headers), body)
        return await self.run(self._browse, name, visit, has_toolbar=served.has_toolbar)

    def _browse(self, name: str, visit: Visit, *, has_toolbar: bool) -> Response:
        episode = self.store.find(name)
        with episode.log_request(f"{visit.method} {visit.site} {visit.target[:500]}") as set_status:
            page = episode.browse(visit)
            set_status(page.status)
        if has_toolbar and page.header("Content-Type").startswith("text/html"):
            page = page._replace(body=_with_toolbar(page.body, episode.goal, episode.result))
        return make_response(*page)

    async def _judge(self, name: str, request: Request, form: bytes) -> Response:
        """Submit the answer in the toolbar's form, and redirect to the page of the form, which then shows the verdict."""
        answer = parse_qs(form.decode("utf-8", "replace")).get("answer", [""])[0].strip()
        form_url = request.headers.get("referer")
        episode = self.store.find(name)
        if episode.result is None:
            await self.run(episode.submit, answer, form_url)
        return make_response(303, [("Location", form_url or "/")])


def request_target(request: Request) -> str:
    """Return the target of a request, path and query, as it was sent."""
    path, query = (request.scope[part].decode("latin-1") for part in ("raw_path", "query_string"))
    return f"{path}?{query}" if query else f"{path}"


def make_response(status: int, headers: Sequence[tuple[str, str]], body: bytes = b"") -> Response:
    """Return a response with these headers and, where the status allows a body, Content-Length."""
    response = Response(b"" if status in {204, 304} else body, status)
    length = [] if status in {204, 304} else [(b"content-length", str(len(body)).encode())]
    response.raw_headers = [(key.encode("latin-1"), value.encode("latin-1", "replace")) for key, value in headers] + length
    return response


def _has_token(request: Request, token: str) -> bool:
    return _is_equal(request.headers.get("authorization", ""), f"Bearer {token}")


def _is_equal(value: str, secret: str) -> bool:
    return hmac.compare_digest(value.encode(), secret.encode())  # in constant time


def _with_toolbar(page: bytes, goal: str, result: EpisodeResult | None) -> bytes:
    """Return a page with a toolbar at the start of its body: the goal, a field for the answer, and the verdict.

    In a page without a body tag, the toolbar is at the end. A fragment of a page is returned unchanged.
    """
    html = TEMPLATES.get_template("toolbar.html").render(action=_DONE, again=_AGAIN, goal=goal, result=result)
    tag = page.find(b"<body")
    index = page.find(b">", tag) + 1
    if tag < 0 or index == 0:
        is_page = page.lstrip()[:9].lower().startswith((b"<!doctype", b"<html"))  # scripts also load fragments
        return page + html.encode() * is_page
    return page[:index] + html.encode() + page[index:]


def is_wildcard(host: str) -> bool:
    """Return True if a host denotes all interfaces of the machine, as 0.0.0.0 does."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Return True if only the machine itself can reach a host."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
