"""The only way out of a browser context: a proxy that leads to the sites of one episode and refuses every other host.

Chromium asks it for everything (`http://shop.test/` as well as 127.0.0.1), so that nothing else can be reached: no redirect, no
image, no script of a page. The sites are WSGI applications of this process, or real servers that were allowed by name.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from urllib.parse import urlsplit

import h11

from webarena_gym.errors import BrowserError
from webarena_gym.network import HostUnknownError, Network
from webarena_gym.traffic import Traffic

_CHUNK = 65_536
_CONDITIONS = {"if-none-match", "if-modified-since"}
_HOP_BY_HOP = {"connection", "keep-alive", "proxy-connection", "proxy-authorization", "transfer-encoding", "upgrade"}


class Answer:
    """What the gate gives back for one request."""

    def __init__(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body


Serve = Callable[[str, str, Mapping[str, str], bytes], Answer]
"""(method, absolute URL, headers with names in lower case, body) -> the answer."""


def is_document(headers: Mapping[str, str]) -> bool:
    """Return whether a request is for a page, not for a part of it."""
    return headers.get("accept", "").startswith("text/html")


def serve_network(network: Network) -> Serve:
    """Return what answers for the sites of a network, and raises HostUnknownError for every other host."""

    def serve(method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        answer = network.request(method, url, headers, body)
        kept = [(name, value) for name, value in answer.headers if name.lower() not in _HOP_BY_HOP | {"content-length"}]
        return Answer(answer.status, kept, answer.body)

    return serve


class Gate:
    """A listening proxy of one browser context, on the loopback interface.

    `serve` answers plain requests; `allowed` names hosts (or "host:port") of real servers, to which requests and tunnels are
    passed on. A request for anything else gets no answer, as if nothing were there. What asks for the sites while they are
    `shut` waits until they open: so nothing happens in a world while nobody acts in it, not even by what a page still loads.
    Where there is a `traffic`, it gets the plain requests to real servers; what is in tunnels cannot be seen.
    """

    def __init__(self, serve: Serve | None, allowed: frozenset[str] = frozenset()) -> None:
        self._serve = serve
        self._allowed = allowed
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._opened = asyncio.Event()
        self._opened.set()
        self._session = 0
        self._failure: Exception | None = None
        self.traffic: Traffic | None = None

    def check(self) -> None:
        """Raise what a site has raised since the last time, or BrowserError when a real server did not give a document."""
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
        """Never answer what is waiting: it was asked in a session that is over."""
        self._session += 1

    async def open(self) -> str:
        """Begin to listen; return the proxy's URL."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        """Stop listening and drop all connections."""
        if self._server is not None:
            self._server.close()
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
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection until it ends."""
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=1_000_000)

        async def next_event() -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
            while (event := connection.next_event()) is h11.NEED_DATA:
                connection.receive_data(await reader.read(_CHUNK))
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
            writer.write(_head(connection, answer))
            writer.write(connection.send(h11.Data(data=answer.body if method != "HEAD" else b"")) or b"")
            writer.write(connection.send(h11.EndOfMessage()) or b"")
            await writer.drain()
            if connection.our_state is h11.MUST_CLOSE:
                return
            connection.start_next_cycle()

    async def _answer(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, reader: asyncio.StreamReader
    ) -> Answer:
        kept = {name: value for name, value in headers.items() if name.lower() not in _HOP_BY_HOP | {"host", "content-length"}}
        host = urlsplit(url).netloc
        if self.is_allowed(host):
            return await self._ask_server(method, url, kept, body)
        if self._serve is None:
            raise HostUnknownError(url)
        session = self._session
        await self._opened.wait()
        if session != self._session or reader.at_eof():
            raise ConnectionError("nobody waits for the answer any more")
        try:
            return self._serve(method, url, kept, body)
        except HostUnknownError:
            raise
        except Exception as error:
            if headers.get("accept", "").startswith("image/"):  # which the in-process browser never asks for
                raise
            return self._fail(error)  # `check` raises it where the site was used

    async def _ask_server(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        try:
            if self.traffic is None:
                return await _forward(method, url, headers, body)
            return await _forward_on_record(self.traffic, method, url, headers, body)
        except (OSError, h11.RemoteProtocolError) as error:
            if not is_document(headers):  # a page may do without one of its parts
                raise
            return self._fail(BrowserError(f"the server did not answer {method} {url}: {error}"))

    def _fail(self, failure: Exception) -> Answer:
        """Keep a failure for `check`, and return an answer, without which Chromium would ask again."""
        self._failure = self._failure or failure
        return Answer(502, [], b"")

    def is_allowed(self, host: str) -> bool:
        """Return whether a host, with its port if there is one, is a real server that may be reached."""
        name, _, port = host.partition(":")
        return name in self._allowed or f"{name}:{port or 80}" in self._allowed

    async def _tunnel(self, target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass bytes both ways between the browser and an allowed host."""
        host, _, port = target.rpartition(":")
        if not self.is_allowed(target) and not self.is_allowed(host):
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection(host, int(port))
        except (OSError, ValueError):
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))


def _head(connection: h11.Connection, answer: Answer) -> bytes:
    headers = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in answer.headers]
    headers.append((b"Content-Length", str(len(answer.body)).encode()))
    return connection.send(h11.Response(status_code=answer.status, headers=headers)) or b""


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while chunk := await reader.read(_CHUNK):
            writer.write(chunk)
            await writer.drain()
    writer.close()


async def _forward_on_record(traffic: Traffic, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
    """Do what `_forward` does, and keep a record, for which the answer must be whole: neither compressed nor "not modified"."""
    exchange = traffic.ask(method, url, headers, body)
    plain = {name: value for name, value in headers.items() if name not in _CONDITIONS} | {"accept-encoding": "identity"}
    answer = await _forward(method, url, plain, body)
    traffic.answer(exchange, answer.status, answer.headers, answer.body)
    return answer


async def _forward(method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
    """Send a plain request to a real server and return its answer. Raises OSError when there is none."""
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connection = h11.Connection(h11.CLIENT)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
    sent = [("Host", parts.netloc), *headers.items(), ("Connection", "close"), ("Content-Length", str(len(body)))]
    try:
        request = h11.Request(method=method, target=path, headers=[(n.encode("latin-1"), v.encode("latin-1")) for n, v in sent])
        for event in (request, h11.Data(data=body), h11.EndOfMessage()):
            writer.write(connection.send(event) or b"")
        await writer.drain()
        response, content = None, []
        while True:
            received = connection.next_event()
            if received is h11.NEED_DATA:
                connection.receive_data(await reader.read(_CHUNK))
            elif isinstance(received, h11.Response):
                response = received
            elif isinstance(received, h11.Data):
                content.append(bytes(received.data))
            elif isinstance(received, h11.EndOfMessage | h11.ConnectionClosed):
                break
    finally:
        writer.close()
    if response is None:
        raise ConnectionError("it closed the connection")
    kept = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers]
    kept = [(name, value) for name, value in kept if name.lower() not in _HOP_BY_HOP | {"content-length"}]
    return Answer(response.status_code, kept, b"".join(content))
