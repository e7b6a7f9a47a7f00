"""An arena at work: its episodes on one thread, and the ports of their sites.

All work on episodes is done by one thread, in the order in which it was asked for: the sites share what they have rendered, and
Python would run no two of them at once. So the event loop only passes bytes, and a client that goes away stops nothing half-done.
"""

import asyncio
import hmac
import json
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from functools import partial
from ipaddress import ip_address
from math import isfinite
from typing import Any, NamedTuple, ParamSpec, TypeVar

from webarena_gym.arena import bar
from webarena_gym.arena.choice import prepare
from webarena_gym.arena.doors import Answer, Asked, Door, Doorkeeper, listen
from webarena_gym.arena.episodes import Episode
from webarena_gym.arena.gateway import Visit
from webarena_gym.arena.registry import Arena
from webarena_gym.arena.schema import EpisodeState, NewEpisode, Problem
from webarena_gym.arena.translation import Translation
from webarena_gym.errors import ArenaError
from webarena_gym.sites.catalogue import HOSTS

P = ParamSpec("P")
T = TypeVar("T")

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""The names under which a machine reaches itself."""

_LOG = logging.getLogger("webarena_gym.arena")
_SWEEP_S = 5.0
_COOKIE = "arena_"
_OWN = "/.arena/"


class _Served(NamedTuple):
    doors: Sequence[Door]
    key: str  # what a browser shows to be let in; "" where none is needed
    has_bar: bool


class Service:
    """Runs an arena for clients on a network.

    Args:
        arena: the episodes.
        host: the address of the interface to listen on.
        names: host names under which clients reach it, beside `host`, and those of the loopback interface. Requests that name
            another are refused, so that no page of another site can come in by a name of its own.
        ports: the ports that sites may be served at; any that is free without it.
        token: what clients must send; "" for no need to.

    """

    def __init__(
        self, arena: Arena, *, host: str = "127.0.0.1", names: Iterable[str] = (), ports: Sequence[int] = (), token: str = ""
    ) -> None:
        self.arena = arena
        self.host = host
        self.names = frozenset((*map(str.lower, names), *LOOPBACK, *([] if is_any(host) else [host.lower()])))
        self.token = token
        self._ports = ports
        self._turn = 0  # where the search for free ports begins, so that a port rests for long before it is used again
        self._floor = ThreadPoolExecutor(1, thread_name_prefix="arena")
        self._served: dict[str, _Served] = {}

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do some work on episodes, when its turn comes, and return its result."""
        return await asyncio.get_running_loop().run_in_executor(self._floor, partial(work, *args, **kwargs))

    async def begin(self, settings: NewEpisode, name: str = LOOPBACK[0], *, has_bar: bool = False) -> EpisodeState:
        """Begin an episode and serve its sites under a host name. Raises ArenaError."""
        await self.run(self.arena.expect_room)  # before worlds are built for it
        await asyncio.to_thread(prepare, settings)
        episode = await self.run(self.arena.begin, settings)
        if settings.mode == "browse":
            try:
                await self._open(episode, name, has_bar=has_bar)
            except BaseException:
                await self.run(self.arena.end, episode.id, "its sites could not be served")
                raise
        return await self.state(episode.id)

    async def state(self, name: str) -> EpisodeState:
        """Return an episode's state; its addresses let a browser in. Raises ArenaError."""
        state = await self.run(lambda: self.arena.find(name).state())
        key = self._served[name].key if name in self._served else ""
        return replace(state, start_urls=[_with_key(url, key) for url in state.start_urls])

    async def end(self, name: str, why: str) -> None:
        """Close an episode and its ports. Raises ArenaError."""
        served = self._served.pop(name, None)
        if served is not None:
            for door in served.doors:
                await door.close()
        await self.run(self.arena.end, name, why)

    async def sweep(self) -> None:
        """Close idle episodes, for ever."""
        while True:
            await asyncio.sleep(_SWEEP_S)
            for name in await self.run(self.arena.idle):
                closing = asyncio.ensure_future(
                    self.end(name, f"nobody asked it for anything for {self.arena.limits.idle_s:g} s")
                )
                await asyncio.wait({closing})
                error = closing.exception()
                if error is not None and not isinstance(error, ArenaError):  # which says that it was closed meanwhile
                    _LOG.error("an idle episode could not be closed", exc_info=error)

    async def close(self) -> None:
        """Close everything."""
        while self._served:
            _, served = self._served.popitem()
            for door in served.doors:
                await door.close()
        await self.run(self.arena.close)
        self._floor.shutdown()

    def check_name(self, asked: Asked) -> str:
        """Return the host name that a request was sent to. Raises ArenaError for one that was given to nobody."""
        name = name_of(asked.headers.get("host", ""))
        if name not in self.names:
            raise ArenaError(
                "the arena is not known by this host name; --name adds one",
                status=421,
                at="header.host",
                value=asked.headers.get("host"),
                expected=" or ".join(sorted(self.names)),
            )
        return name

    def check_token(self, asked: Asked) -> None:
        """Raise ArenaError for a request without the token, where one is needed."""
        given = asked.headers.get("authorization", "")
        if self.token and not _same(given, f"Bearer {self.token}"):
            raise ArenaError(
                "the token of this arena is missing or wrong", status=401, at="header.authorization", expected="Bearer TOKEN"
            )

    def check_origin(self, asked: Asked) -> None:
        """Raise ArenaError for a request that a page of somebody else's has made a browser send."""
        origin = asked.headers.get("origin")
        if origin is not None and name_of(origin.partition("://")[2]) not in self.names:
            raise ArenaError(
                "pages of other sites may not use the arena", status=403, at="header.origin", value=origin, expected="none"
            )

    # The ports of episodes.

    async def _open(self, episode: Episode, name: str, *, has_bar: bool) -> None:
        doors: dict[str, Door] = {}
        try:
            for site in HOSTS:
                listener = listen(self.host, self._candidates())
                refuse = refusing(partial(self._admit, episode.id), in_json=False)
                doors[site] = Door(listener, partial(self._answer, episode.id, site), refuse)
                await doors[site].open()
        except BaseException:
            for door in doors.values():
                await door.close()
            raise
        ports = {site: door.port for site, door in doors.items()}
        names = (f"[{each}]" if ":" in each else each for each in self.names)
        translation = Translation(ports, f"[{name}]" if ":" in name else name, names)
        self._served[episode.id] = _Served(tuple(doors.values()), secrets.token_urlsafe(16) if self.token else "", has_bar)
        await self.run(episode.serve_at, translation)

    def _candidates(self) -> Sequence[int]:
        if not self._ports:
            return (0,)
        self._turn = (self._turn + 1) % len(self._ports)
        return [*self._ports[self._turn :], *self._ports[: self._turn]]

    async def _answer(self, name: str, site: str, asked: Asked) -> Answer:
        return await told(self._visit(name, site, asked), in_json=False)

    def _admit(self, name: str, asked: Asked) -> None:
        """Raise ArenaError for a visitor who shows neither the episode's key nor the token, where they are needed."""
        self.check_name(asked)
        key = self._served[name].key if name in self._served else ""
        if key and asked.target.startswith(f"{_OWN}enter/"):
            if not _same(_entered(asked)[0], key):
                raise ArenaError("the key of this address is not that of the episode", status=401)
        elif key and not (_has_key(asked, key) or _same(asked.headers.get("authorization", ""), f"Bearer {self.token}")):
            raise ArenaError("open one of the episode's start_urls first: they let a browser in", status=401)

    async def _visit(self, name: str, site: str, asked: Asked) -> Answer:
        served = self._served.get(name)
        if served is None:
            raise ArenaError("the episode is closed", status=410)
        if served.key and asked.target.startswith(f"{_OWN}enter/"):
            return _let_in(asked, served.key)
        if served.has_bar and asked.target == f"{_OWN}done" and asked.method == "POST":
            self.check_origin(asked)
            return await self._done(name, asked)
        return await self.run(self._browse, name, Visit(site, *asked), has_bar=served.has_bar)

    def _browse(self, name: str, visit: Visit, *, has_bar: bool) -> Answer:
        episode = self.arena.find(name)
        with episode.logged(f"{visit.method} {visit.site} {visit.target[:500]}") as tell:
            try:
                found = episode.browse(visit)
            except ArenaError as error:
                tell(error.status)
                raise
            tell(found.status)
        if has_bar and found.header("Content-Type").startswith("text/html"):
            return Answer(found.status, found.headers, bar.above(found.body, episode.goal, episode.result))
        return Answer(*found)

    async def _done(self, name: str, asked: Asked) -> Answer:
        """Judge what a person has done, and show the verdict on the page where the bar was used."""
        form = bar.read(asked.body)
        back = asked.headers.get("referer", "/")
        episode = self.arena.find(name)
        if episode.result is None:
            await self.run(episode.conclude, form, asked.headers.get("referer"))
        return Answer(303, [("Location", back)], b"")


async def told(work: Awaitable[Answer], *, in_json: bool) -> Answer:
    """Return the answer of some work, or what was wrong with the request. A fault of ours is logged, and told as such.

    The work goes on to its end when nobody waits for it any more.
    """
    task = asyncio.ensure_future(work)
    await asyncio.wait({task})
    error = task.exception()
    if error is None:
        return task.result()
    return _refusal(error, in_json=in_json)


def refusing(check: Callable[[Asked], object], *, in_json: bool) -> Doorkeeper:
    """Return a check of requests that raises ArenaError as one that returns the refusal."""

    def refuse(asked: Asked) -> Answer | None:
        try:
            check(asked)
        except ArenaError as error:
            return _refusal(error, in_json=in_json)
        return None

    return refuse


def _refusal(error: BaseException, *, in_json: bool) -> Answer:
    if isinstance(error, ArenaError):
        problem = Problem(str(error), error.at, _finite(error.value), error.expected)
        status = error.status
    else:
        _LOG.error("a request has failed through a fault of the arena", exc_info=error)
        problem = Problem(f"a fault of the arena, not of the player: {type(error).__name__}: {error}")
        status = 500
    headers = [("Retry-After", "5")] if status == 503 else []
    if in_json:
        return as_json(problem, status, headers)
    return Answer(status, [("Content-Type", "text/plain; charset=utf-8"), *headers], f"{problem.error}\n".encode())


def as_json(value: object, status: int = 200, headers: Sequence[tuple[str, str]] = ()) -> Answer:
    """Return an answer that holds a dataclass, or another value, as JSON."""
    content = json.dumps(value, default=_plain, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    return Answer(status, [("Content-Type", "application/json"), *headers], content)


def _finite(value: object) -> object:
    """Return a value with infinite and undefined numbers as texts, since JSON has no other way to say them."""
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def name_of(host: str) -> str:
    """Return the host name of an address without its port.

    >>> name_of("Shop.localhost:8000"), name_of("[::1]:8000")
    ('shop.localhost', '::1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def is_any(host: str) -> bool:
    """Say whether a host stands for all interfaces of a machine."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Say whether a host is reached from its own machine alone."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _plain(value: Any) -> dict[str, Any]:
    """Return a dataclass as an object of JSON, without the copies that `asdict` makes of what is in it."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(), wanted.encode())


def _with_key(url: str, key: str) -> str:
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host}{_OWN}enter/{key}{slash}{path}" if key else url


def _entered(asked: Asked) -> tuple[str, str]:
    """Return the key of an address that lets a browser in, and the path behind it."""
    key, _, path = asked.target.removeprefix(f"{_OWN}enter/").partition("/")
    return key, path


def _let_in(asked: Asked, key: str) -> Answer:
    # The name is the episode's own, since a browser sends the cookies of one port to all others of the host.
    cookie = f"{_COOKIE}{key[:8]}={key}; Path=/; HttpOnly; SameSite=Lax"
    return Answer(302, [("Location", f"/{_entered(asked)[1].lstrip('/')}"), ("Set-Cookie", cookie)], b"")


def _has_key(asked: Asked, key: str) -> bool:
    pairs = (pair.strip().partition("=") for pair in asked.headers.get("cookie", "").split(";"))
    return any(name.startswith(_COOKIE) and _same(value, key) for name, _, value in pairs)
