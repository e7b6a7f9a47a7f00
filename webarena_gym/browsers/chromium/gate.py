"""The proxy of a browser context: it forwards requests to the sites of one episode and refuses every other host.

Chromium asks it for everything (`http://shop.test/` as well as 127.0.0.1), so that nothing else can be reached: no redirect, no
image, no script of a page. The sites are WSGI applications of this process, or real servers that were allowed by name.
"""

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import NamedTuple
from urllib.parse import urlsplit

import h11

from webarena_gym.errors import BrowserError
from webarena_gym.pages.page import HostUnknownError, Network, Traffic

CHUNK = 65_536
HOP_BY_HOP = frozenset(("connection", "keep-alive", "proxy-connection", "proxy-authorization", "transfer-encoding", "upgrade"))
_CONDITIONS = frozenset(("if-none-match", "if-modified-since"))
_EVENTS = "text/event-stream"


class HttpResponse(NamedTuple):
    """The response of the gate to one request."""

    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes


class Stream(NamedTuple):
    """An answer of which nobody knows when it ends, such as the events of an EventSource."""

    status: int
    headers: list[tuple[str, str]]
    parts: AsyncGenerator[bytes, None]


def is_document(headers: Mapping[str, str]) -> bool:
    """Return whether a request is for a page, not for a part of it."""
    return headers.get("accept", "").startswith("text/html")


Address = int | str
"""The address at which a server of this machine listens: a port, or the path of a socket."""


async def _connect(address: Address | None, host: str | None, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to a server of this machine at its address, or without one to a host."""
    if address is None:
        return await asyncio.open_connection(host, port)
    if isinstance(address, str):
        return await asyncio.open_unix_connection(address)
    return await asyncio.open_connection("127.0.0.1", address)


async def pass_on(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    traffic: Traffic | None = None,
    address: Address | None = None,
) -> HttpResponse | Stream:
    """Send a plain request to a real server, at that `address` if one is given, and return its answer. Raises OSError when there is none.

    Pages, and what has a length, are returned as a whole; with a record of `traffic`, all but events, and then neither compressed
    nor "not modified".
    """
    if traffic is not None:
        exchange = traffic.record_request(method, url, headers, body)
        headers = {name: value for name, value in headers.items() if name not in _CONDITIONS} | {"accept-encoding": "identity"}
    parts = _exchange(method, url, headers, body, address)
    head = await anext(parts)
    assert isinstance(head, h11.Response)
    kept = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers]
    kind = next((value for name, value in kept if name.lower() == "content-type"), "")
    is_open = head.status_code == 200 and not is_document(headers) and all(name.lower() != "content-length" for name, _ in kept)
    kept = [(name, value) for name, value in kept if name.lower() not in HOP_BY_HOP | {"content-length"}]
    answer: HttpResponse | Stream
    if is_open and (kind.startswith(_EVENTS) or traffic is None):
        answer = Stream(head.status_code, kept, _contents(parts))
    else:
        answer = HttpResponse(head.status_code, kept, b"".join([part async for part in _contents(parts)]))
    if traffic is not None:
        traffic.record_response(exchange, answer.status, kept, answer.body if isinstance(answer, HttpResponse) else b"")
    return answer


async def _contents(parts: AsyncGenerator[h11.Response | bytes, None]) -> AsyncGenerator[bytes, None]:
    async with aclosing(parts):
        async for part in parts:
            assert isinstance(part, bytes)
            yield part


async def _exchange(
    method: str, url: str, headers: Mapping[str, str], body: bytes, address: Address | None
) -> AsyncGenerator[h11.Response | bytes, None]:
    """Yield the head of a server's answer, and then its contents as they come. Raises OSError when there is no answer."""
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connection = h11.Connection(h11.CLIENT)
    reader, writer = await _connect(address, parts.hostname, parts.port or 80)
    try:
        sent = [("Host", parts.netloc), *headers.items(), ("Connection", "close"), ("Content-Length", str(len(body)))]
        request = h11.Request(method=method, target=path, headers=_encoded(sent))
        for event in (request, h11.Data(data=body), h11.EndOfMessage()):
            writer.write(connection.send(event) or b"")
        await writer.drain()
        is_answered = False
        while True:
            received = connection.next_event()
            if received is h11.NEED_DATA:
                connection.receive_data(await reader.read(CHUNK))
            elif isinstance(received, h11.Response):
                is_answered = True
                yield received
            elif isinstance(received, h11.Data):
                yield bytes(received.data)
            elif isinstance(received, h11.EndOfMessage | h11.ConnectionClosed):
                break
        if not is_answered:
            raise ConnectionError("it closed the connection")
    finally:
        writer.close()


Serve = Callable[[str, str, Mapping[str, str], bytes], HttpResponse]
"""(method, absolute URL, headers with names in lower case, body) -> the answer."""


def serve_network(network: Network) -> Serve:
    """Return what answers for the sites of a network, and raises HostUnknownError for every other host."""

    def serve(method: str, url: str, headers: Mapping[str, str], body: bytes) -> HttpResponse:
        answer = network.request(method, url, headers, body)
        kept = [(name, value) for name, value in answer.headers if name.lower() not in HOP_BY_HOP | {"content-length"}]
        return HttpResponse(answer.status, kept, answer.body)

    return serve


class Gate:
    """A listening proxy of one browser context, on the loopback interface.

    `serve` answers plain requests; `allowed` names hosts (or "host:port") of real servers, to which requests and tunnels are
    passed on. A request for anything else gets no answer, as if nothing were there. What asks for the sites while they are
    `shut` waits until they open: so nothing happens in a world while nobody acts in it, not even by what a page still loads.
    Where there is a `traffic`, it gets the plain requests to real servers; what is in tunnels cannot be seen. Of a `network` with
    a server behind it, WebSockets and events go to that, to end with the session.
    """

    def __init__(self, serve: Serve | None, allowed: frozenset[str] = frozenset(), network: Network | None = None) -> None:
        self._serve = serve
        self.network = network
        self._allowed = allowed
        self._socket: socket.socket | None = None
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._opened = asyncio.Event()
        self._opened.set()
        self._streams: set[asyncio.Task[None]] = set()
        self._session = 0
        self._failure: BrowserError | None = None
        self.traffic: Traffic | None = None

    def check(self) -> None:
        """Raise BrowserError when a real server did not give a document since the last time."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def let_in(self) -> None:
        """Let requests through to the sites."""
        self._opened.set()

    def shut(self) -> None:
        """Let requests to the sites wait."""
        self._opened.clear()

    def forget(self) -> None:
        """Never answer what is waiting, and end what goes on being answered: it was asked in a session that is over."""
        self._session += 1
        for task in self._streams:
            task.cancel()

    async def open(self) -> str:
        """Begin to listen; return the proxy's URL."""
        # asyncio sends at once, instead of waiting for more to send, only where it reads that this is TCP.
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.bind(("127.0.0.1", 0))
        self._server = await asyncio.start_server(self._accept, sock=self._socket)
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    async def close(self) -> None:
        """Stop listening and drop all connections."""
        if self._server is not None:
            self._server.close()
        if self._socket is not None:
            self._socket.close()  # also when nobody has listened yet
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._converse(reader, writer)
        except (ConnectionError, h11.RemoteProtocolError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the browser went away, as it may at any time
        finally:
            self._connections.discard(task)
            self._streams.discard(task)
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection until it ends."""
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=1_000_000)

        async def next_event() -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
            while (event := connection.next_event()) is h11.NEED_DATA:
                connection.receive_data(await reader.read(CHUNK))
            return event

        while True:
            request = await next_event()
            if not isinstance(request, h11.Request):
                return
            body = b""
            while isinstance(part := await next_event(), h11.Data):
                body += bytes(part.data)
            target, method = request.target.decode("ascii", "replace"), request.method.decode("ascii")
            if method == "CONNECT":
                await self._tunnel(target, reader, writer)
                return
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in request.headers}
            try:
                answer = await self._answer(method, target, headers, body, reader)
            except (HostUnknownError, OSError, h11.RemoteProtocolError):
                return
            if isinstance(answer, Stream):
                await self._flow(answer, connection, writer)
                return
            head = [*_encoded(answer.headers), (b"Content-Length", str(len(answer.body)).encode())]
            writer.write(connection.send(h11.Response(status_code=answer.status, headers=head)) or b"")
            writer.write(connection.send(h11.Data(data=answer.body if method != "HEAD" else b"")) or b"")
            writer.write(connection.send(h11.EndOfMessage()) or b"")
            await writer.drain()
            if connection.our_state is h11.MUST_CLOSE:
                return
            connection.start_next_cycle()

    async def _flow(self, answer: Stream, connection: h11.Connection, writer: asyncio.StreamWriter) -> None:
        """Pass an answer on as it comes; the connection ends with it."""
        task = asyncio.current_task()
        assert task is not None
        self._streams.add(task)
        async with aclosing(answer.parts):
            head = [*_encoded(answer.headers), (b"Connection", b"close")]
            writer.write(connection.send(h11.Response(status_code=answer.status, headers=head)) or b"")
            async for part in answer.parts:
                writer.write(connection.send(h11.Data(data=part)) or b"")
                await writer.drain()
            writer.write(connection.send(h11.EndOfMessage()) or b"")

    async def _answer(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, reader: asyncio.StreamReader
    ) -> HttpResponse | Stream:
        kept = {name: value for name, value in headers.items() if name.lower() not in HOP_BY_HOP | {"host", "content-length"}}
        host = urlsplit(url).netloc
        if self.is_allowed(host):
            try:
                return await pass_on(method, url, kept, body, self.traffic)
            except (OSError, h11.RemoteProtocolError) as error:
                if not is_document(kept):  # a page may do without one of its parts
                    raise
                self._failure = self._failure or BrowserError(f"the server did not answer {method} {url}: {error}")
                return HttpResponse(502, [], b"")  # without an answer Chromium would ask again
        if self._serve is None:
            raise HostUnknownError(url)
        session = self._session
        await self._opened.wait()
        if session != self._session or reader.at_eof():
            raise ConnectionError("nobody waits for the answer any more")
        address = self._behind(host)
        if address is None or is_document(kept):
            return self._serve(method, url, kept, body)
        if headers.get("accept") == _EVENTS:
            return await pass_on(method, url, kept, body, address=address())
        return await asyncio.to_thread(self._serve, method, url, kept, body)  # it may wait until there is news

    def is_allowed(self, host: str) -> bool:
        """Return whether a host, with its port if there is one, is a real server that may be reached."""
        name, _, port = host.partition(":")
        return name in self._allowed or f"{name}:{port or 80}" in self._allowed

    def _behind(self, host: str) -> Callable[[], Address] | None:
        """Return what tells where the server behind a site listens; None where there is none."""
        return self.network.address if self.network is not None and host in self.network.hosts else None

    async def _tunnel(self, target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass bytes both ways between the browser and an allowed host, or the server behind a site."""
        host, _, port = target.rpartition(":")
        address = self._behind(host) if port == "80" else None
        if address is None and not (self.is_allowed(target) or self.is_allowed(host)):
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return
        session, task = self._session, asyncio.current_task()
        if address is not None:
            await self._opened.wait()
        try:
            if address is not None and task is not None:
                if session != self._session:
                    return
                self._streams.add(task)
            far_reader, far_writer = await _connect(address and address(), host, int(port))
        except (OSError, ValueError):
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        try:
            await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
        finally:  # also when the session ends
            far_writer.close()


def _encoded(headers: Sequence[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers]


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while chunk := await reader.read(CHUNK):
            writer.write(chunk)
            await writer.drain()
    writer.close()
