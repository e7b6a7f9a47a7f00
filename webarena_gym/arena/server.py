"""An arena that listens: in this process's event loop, or in a thread of its own beside other code."""

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, NamedTuple

from webarena_gym.arena.application import Application
from webarena_gym.arena.doors import Answer, Answerer, Asked, Door, Doorkeeper, listen
from webarena_gym.arena.registry import Arena
from webarena_gym.arena.schema import Limits
from webarena_gym.arena.service import LOOPBACK, Service, is_any, is_loopback, name_of, refusing, told
from webarena_gym.errors import ArenaError
from webarena_gym.pages.page import Network

_CLIENTS = 2000  # connections to the arena's own port


class Address(NamedTuple):
    """Where an arena listens, and who may come in; see `Service`."""

    host: str = LOOPBACK[0]
    port: int = 0
    names: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    token: str = ""


class Open(NamedTuple):
    """An arena that listens."""

    url: str
    service: Service


@asynccontextmanager
async def opened(
    address: Address | None = None, limits: Limits | None = None, sites: Network | None = None
) -> AsyncIterator[Open]:
    """Open an arena for as long as the context lasts. `sites` are served beside it, under their own host names.

    Raises ArenaError for an address that cannot be listened on, or is open to others and has no token or no name.
    """
    address = address or Address()
    _check(address)
    _allow_many_files()
    service = Service(Arena(limits), host=address.host, names=address.names, ports=address.ports, token=address.token)
    answer, refuse = _beside(Application(service), service, sites)
    door = Door(listen(address.host, (address.port,)), answer, refuse, _CLIENTS)
    await door.open()
    sweeping = asyncio.create_task(service.sweep())
    try:
        name = next(iter(address.names), LOOPBACK[0] if is_any(address.host) else address.host)
        yield Open(f"http://{f'[{name}]' if ':' in name else name}:{door.port}", service)
    finally:
        await door.close()
        sweeping.cancel()
        await service.close()


class Running(NamedTuple):
    """An arena that listens in a thread of its own."""

    url: str
    service: Service
    run: Callable[[Coroutine[Any, Any, Any]], Any]
    """Does some work of the service in its thread and returns the result."""


@contextmanager
def running(address: Address | None = None, limits: Limits | None = None) -> Iterator[Running]:
    """Open an arena in a thread of its own for as long as the context lasts. Raises what `opened` does."""
    ready: Future[tuple[Open, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        end = asyncio.Event()
        async with opened(address, limits) as found:
            ready.set_result((found, asyncio.get_running_loop(), end))
            await end.wait()

    def work() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(error)  # whatever it is: the other thread waits for it

    thread = threading.Thread(target=work, name="arena-server", daemon=True)
    thread.start()
    try:
        found, loop, end = ready.result()
        try:
            yield Running(found.url, found.service, lambda work: asyncio.run_coroutine_threadsafe(work, loop).result())
        finally:
            loop.call_soon_threadsafe(end.set)
    finally:
        thread.join()


@contextmanager
def arena(address: Address | None = None, limits: Limits | None = None) -> Iterator[str]:
    """Open an arena in a thread of its own for as long as the context lasts; gives its URL. Raises what `opened` does."""
    with running(address, limits) as found:
        yield found.url


def _check(address: Address) -> None:
    if is_any(address.host) and not address.names:
        raise ArenaError(
            f"an arena on all interfaces needs the names under which clients reach it: give --name with --host {address.host}",
            status=400,
        )
    if not is_loopback(address.host) and not address.token:
        raise ArenaError(f"an arena on {address.host}, which others can reach, needs a token", status=400)


def _beside(application: Application, service: Service, sites: Network | None) -> tuple[Answerer, Doorkeeper]:
    """Return what answers for the arena and, where there are `sites`, for them; and what refuses requests before that."""
    known: Mapping[str, str] = {name_of(host): host for host in sites.hosts} if sites else {}

    async def visit(asked: Asked, host: str) -> Answer:
        assert sites is not None
        found = await service.run(
            sites.request, asked.method, f"http://{host}{asked.target}", _passed(asked.headers), asked.body
        )
        return Answer(
            found.status, [(key, value) for key, value in found.headers if key.lower() != "content-length"], found.body
        )

    async def answer(asked: Asked) -> Answer:
        host = known.get(name_of(asked.headers.get("host", "")))
        return await application(asked) if host is None else await told(visit(asked, host), in_json=False)

    admit = refusing(application.admit, in_json=True)
    return answer, lambda asked: None if name_of(asked.headers.get("host", "")) in known else admit(asked)


def _passed(headers: Mapping[str, str]) -> dict[str, str]:
    left_out = {"host", "content-length", "connection", "transfer-encoding"}
    return {name: value for name, value in headers.items() if name not in left_out}


def _allow_many_files() -> None:
    """Let this process open as many sockets as the system allows: an episode has seven, and one for each connection."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - not everywhere

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
