"""The HTTP proxy of a browser context: it serves the sites of one episode and rejects every other host.

Chromium sends all requests to it, including those to 127.0.0.1, so redirects, images and scripts of a page cannot reach
anything else. The sites are WSGI applications of this process, or real servers from an allow-list.
"""

import asyncio
import re
import socket
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from functools import partial
from typing import NamedTuple
from urllib.parse import urlsplit

import h11

from webarena_gym.browsers.http import error_page
from webarena_gym.errors import BrowserError
from webarena_gym.pages.page import HostUnknownError, Network, Traffic

CHUNK = 65_536
HOP_BY_HOP = frozenset(("connection", "keep-alive", "proxy-connection", "proxy-authorization", "transfer-encoding", "upgrade"))
_CONDITIONAL_HEADERS = frozenset(("if-none-match", "if-modified-since"))
_WITHOUT_BODY = frozenset((204, 304))  # a site may send one all the same
_EVENT_STREAM = "text/event-stream"
ORDER_S = 2.0
"""Seconds after which a request that may change state no longer delays the next ones."""
_SCRIPT = re.compile(rb"<script|javascript:|<i?frame|<object|<embed|[\s'/\x22]on[a-z]+\s*=", re.IGNORECASE)


class HttpResponse(NamedTuple):
    """A complete response of the proxy."""

    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes


class StreamingResponse(NamedTuple):
    """A response of unknown length that is forwarded in parts, such as an event stream."""

    status: int
    headers: list[tuple[str, str]]
    parts: AsyncGenerator[bytes, None]


def is_document(headers: Mapping[str, str]) -> bool:
    """Return True if a request is for a document rather than for one of its resources."""
    return headers.get("accept", "").startswith("text/html")


ServerAddress = int | str
"""Address of a server on this machine: a port or the path of a Unix socket."""


async def _connect(
    address: ServerAddress | None, host: str | None, port: int
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to a server on this machine at `address`, or to `host` and `port` if that is None."""
    if address is None:
        return await asyncio.open_connection(host, port)
    if isinstance(address, str):
        return await asyncio.open_unix_connection(address)
    return await asyncio.open_connection("127.0.0.1", address)


async def forward_request(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    traffic: Traffic | None = None,
    address: ServerAddress | None = None,
) -> HttpResponse | StreamingResponse:
    """Forward an HTTP request to a real server and return its response.

    Documents and responses with a Content-Length are returned complete. If the traffic is recorded, so is everything except
    event streams, and the request is changed so that the response is neither compressed nor "304 Not Modified".

    Args:
        method: HTTP method.
        url: absolute URL.
        headers: request headers with lower-case names.
        body: request body.
        traffic: record of the exchange, if any.
        address: server on this machine to connect to instead of the URL's host.

    Raises:
        OSError: if there is no response.

    """
    if traffic is not None:
        exchange = traffic.record_request(method, url, headers, body)
        headers = {name: value for name, value in headers.items() if name not in _CONDITIONAL_HEADERS} | {
            "accept-encoding": "identity"
        }
    parts = _request_parts(method, url, headers, body, address)
    head = await anext(parts)
    assert isinstance(head, h11.Response)
    response_headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers]
    content_type = next((value for name, value in response_headers if name.lower() == "content-type"), "")
    has_length = any(name.lower() == "content-length" for name, _ in response_headers)
    is_open_ended = head.status_code == 200 and not is_document(headers) and not has_length
    response_headers = [
        (name, value) for name, value in response_headers if name.lower() not in HOP_BY_HOP | {"content-length"}
    ]
    response: HttpResponse | StreamingResponse
    if is_open_ended and (content_type.startswith(_EVENT_STREAM) or traffic is None):
        response = StreamingResponse(head.status_code, response_headers, _body_chunks(parts))
    else:
        response = HttpResponse(head.status_code, response_headers, b"".join([part async for part in _body_chunks(parts)]))
    if traffic is not None:
        content = response.body if isinstance(response, HttpResponse) else b""
        traffic.record_response(exchange, response.status, response_headers, content)
    return response


async def _body_chunks(parts: AsyncGenerator[h11.Response | bytes, None]) -> AsyncGenerator[bytes, None]:
    async with aclosing(parts):
        async for part in parts:
            assert isinstance(part, bytes)
            yield part


async def _request_parts(
    method: str, url: str, headers: Mapping[str, str], body: bytes, address: ServerAddress | None
) -> AsyncGenerator[h11.Response | bytes, None]:
    """Yield the head of a server's response, then its body chunks as they arrive. Raises OSError if there is no response."""
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connection = h11.Connection(h11.CLIENT)
    reader, writer = await _connect(address, parts.hostname, parts.port or 80)
    try:
        head = [("Host", parts.netloc), *headers.items(), ("Connection", "close"), ("Content-Length", str(len(body)))]
        request = h11.Request(method=method, target=path, headers=_encode_headers(head))
        for event in (request, h11.Data(data=body), h11.EndOfMessage()):
            writer.write(connection.send(event) or b"")
        await writer.drain()
        has_response = False
        while True:
            message = connection.next_event()
            if message is h11.NEED_DATA:
                connection.receive_data(await reader.read(CHUNK))
            elif isinstance(message, h11.Response):
                has_response = True
                yield message
            elif isinstance(message, h11.Data):
                yield bytes(message.data)
            elif isinstance(message, h11.EndOfMessage | h11.ConnectionClosed):
                break
        if not has_response:
            raise ConnectionError("it closed the connection without a response")
    finally:
        writer.close()


RequestHandler = Callable[[str, str, Mapping[str, str], bytes], HttpResponse]
"""(method, absolute URL, headers with lower-case names, body) -> response."""


def network_handler(network: Network) -> RequestHandler:
    """Return a request handler for the sites of a network. It raises HostUnknownError for every other host."""

    def serve(method: str, url: str, headers: Mapping[str, str], body: bytes) -> HttpResponse:
        response = network.request(method, url, headers, body)
        forwarded = [(name, value) for name, value in response.headers if name.lower() not in HOP_BY_HOP | {"content-length"}]
        return HttpResponse(response.status, forwarded, response.body)

    return serve


class InterceptingProxy:
    """The intercepting HTTP proxy of one browser context, on the loopback interface.

    Requests to any other host get no response. Requests to the sites wait while the proxy is paused. So a world does not change
    between actions, not even by requests that a page still sends.

    Args:
        serve: handles HTTP requests to the sites; None if there are only real servers.
        allowed: real servers, as "host" or "host:port", to which requests and tunnels are forwarded.
        network: the sites. If a server is behind them, WebSockets and event streams are forwarded to it, and end with the
            session.

    Attributes:
        traffic: record of unencrypted requests to real servers, if any. Tunnels cannot be recorded.
        waiting: number of requests that wait for `resume`.

    """

    def __init__(
        self, serve: RequestHandler | None, allowed: frozenset[str] = frozenset(), network: Network | None = None
    ) -> None:
        self._serve = serve
        self.network = network
        self._allowed = allowed
        self._socket: socket.socket | None = None
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._resumed = asyncio.Event()
        self._resumed.set()
        self._streams: set[asyncio.Task[None]] = set()
        self._session = 0
        self._failure: BrowserError | None = None
        self._last_write: asyncio.Event | None = None
        self.traffic: Traffic | None = None
        self.waiting = 0

    def check(self) -> None:
        """Raise BrowserError if a real server has not responded to the request for a document since the last call."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def resume(self) -> None:
        """Let requests to the sites proceed."""
        self._resumed.set()

    def pause(self) -> None:
        """Make requests to the sites wait until `resume`."""
        self._resumed.clear()

    def cancel_pending(self) -> None:
        """Drop waiting requests and end streams, which belong to the previous session."""
        self._session += 1
        for task in self._streams:
            task.cancel()

    async def start(self) -> str:
        """Start to listen and return the proxy's URL."""
        # asyncio disables Nagle's algorithm only for sockets with an explicit TCP protocol.
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.bind(("127.0.0.1", 0))
        self._server = await asyncio.start_server(self._accept, sock=self._socket)
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    async def close(self) -> None:
        """Stop listening and drop all connections."""
        if self._server is not None:
            self._server.close()
        if self._socket is not None:
            self._socket.close()  # needed if the server was not started
        await self.drop_connections()

    async def drop_connections(self) -> None:
        """Drop all connections, with the requests that were received on them."""
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._serve_connection(reader, writer)
        except (ConnectionError, h11.RemoteProtocolError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the browser may close the connection at any time
        finally:
            self._connections.discard(task)
            self._streams.discard(task)
            writer.close()

    async def _serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Handle the requests of one connection until it ends."""
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
                response = await self._respond(method, target, headers, body, reader)
            except (HostUnknownError, OSError, h11.RemoteProtocolError):
                return
            if isinstance(response, StreamingResponse):
                await self._stream_response(response, connection, writer)
                return
            body = b"" if method == "HEAD" or response.status in _WITHOUT_BODY else response.body
            head = [*_encode_headers(response.headers), (b"Content-Length", str(len(response.body)).encode())]
            writer.write(connection.send(h11.Response(status_code=response.status, headers=head)) or b"")
            writer.write(connection.send(h11.Data(data=body)) or b"")
            writer.write(connection.send(h11.EndOfMessage()) or b"")
            await writer.drain()
            if connection.our_state is h11.MUST_CLOSE:
                return
            connection.start_next_cycle()

    async def _stream_response(
        self, response: StreamingResponse, connection: h11.Connection, writer: asyncio.StreamWriter
    ) -> None:
        """Forward a streaming response in parts. The connection ends with it."""
        task = asyncio.current_task()
        assert task is not None
        self._streams.add(task)
        async with aclosing(response.parts):
            head = [*_encode_headers(response.headers), (b"Connection", b"close")]
            writer.write(connection.send(h11.Response(status_code=response.status, headers=head)) or b"")
            async for part in response.parts:
                writer.write(connection.send(h11.Data(data=part)) or b"")
                await writer.drain()
            writer.write(connection.send(h11.EndOfMessage()) or b"")

    async def _respond(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, reader: asyncio.StreamReader
    ) -> HttpResponse | StreamingResponse:
        forwarded = {
            name: value for name, value in headers.items() if name.lower() not in HOP_BY_HOP | {"host", "content-length"}
        }
        host = urlsplit(url).netloc
        if self.is_allowed(host):
            try:
                return await forward_request(method, url, forwarded, body, self.traffic)
            except (OSError, h11.RemoteProtocolError) as error:
                if not is_document(forwarded):  # a page may work without one of its resources
                    raise
                self._failure = self._failure or BrowserError(f"the server did not answer {method} {url}: {error}")
                return HttpResponse(502, [], b"")  # without a response, Chromium would retry
        if self._serve is None:
            raise HostUnknownError(url)
        session = self._session
        self.waiting += 1
        try:
            await self._resumed.wait()
        finally:
            self.waiting -= 1
        if session != self._session or reader.at_eof():
            raise ConnectionError("the session or the connection of the request has ended")
        address = self._server_address(host)
        if address is None or is_document(forwarded):
            return self._serve(method, url, forwarded, body)
        if headers.get("accept") == _EVENT_STREAM:
            return await forward_request(method, url, forwarded, body, address=address())
        # Long-polling requests wait for events, so they must not block the loop.
        serve = partial(self._serve, method, url, forwarded, body)
        return await (asyncio.to_thread(serve) if method in ("GET", "HEAD") else self._serve_in_order(serve))

    async def _serve_in_order(self, serve: Callable[[], HttpResponse]) -> HttpResponse:
        """Serve a request that may change state after the earlier ones, because a page can send two states in one moment.

        A request that takes longer than `ORDER_S`, such as one that waits for an event, is overtaken.
        """
        previous, current = self._last_write, asyncio.Event()
        self._last_write = current
        try:
            if previous is not None:
                with suppress(TimeoutError):
                    await asyncio.wait_for(previous.wait(), ORDER_S)
            return await asyncio.to_thread(serve)
        finally:
            current.set()

    def is_allowed(self, host: str) -> bool:
        """Return True if a host, with an optional port, is an allowed real server."""
        name, _, port = host.partition(":")
        return name in self._allowed or f"{name}:{port or 80}" in self._allowed

    def _server_address(self, host: str) -> Callable[[], ServerAddress] | None:
        """Return the function that returns the address of the server behind a site; None if there is none."""
        return self.network.address if self.network is not None and host in self.network.hosts else None

    async def _tunnel(self, target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Copy bytes in both directions between the browser and an allowed host or the server behind a site."""
        host, _, port = target.rpartition(":")
        address = self._server_address(host) if port == "80" else None
        if address is None and not (self.is_allowed(target) or self.is_allowed(host)):
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return
        session, task = self._session, asyncio.current_task()
        if address is not None:
            await self._resumed.wait()
        try:
            if address is not None and task is not None:
                if session != self._session:
                    return
                self._streams.add(task)
            server_reader, server_writer = await _connect(address and address(), host, int(port))
        except (OSError, ValueError):
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        try:
            await asyncio.gather(_copy_bytes(reader, server_writer), _copy_bytes(server_reader, writer))
        finally:  # also if the session ends and cancels the task
            server_writer.close()


def _encode_headers(headers: Sequence[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.strip(" \t").encode("latin-1", "replace")) for name, value in headers]


async def _copy_bytes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while chunk := await reader.read(CHUNK):
            writer.write(chunk)
            await writer.drain()
    writer.close()


def as_shown(response: HttpResponse, request_headers: Mapping[str, str]) -> HttpResponse:
    """Return a document's response in the form in which every Chromium shows it, also when it is loaded again without its server.

    An error status without a body gets its page, and a feed the type text/plain, as which Chromium loads it over HTTP.
    """
    if not is_document(request_headers):
        return response
    rest = [(name, value) for name, value in response.headers if name.lower() != "content-type"]
    if 400 <= response.status < 600 and not response.body:
        return response._replace(headers=[*rest, ("Content-Type", "text/html")], body=error_page(response.status))
    media_type, mark, parameters = next(
        (value for name, value in response.headers if name.lower() == "content-type"), ""
    ).partition(";")
    if media_type.strip().lower() in {"application/atom+xml", "application/rss+xml"}:
        return response._replace(headers=[*rest, ("Content-Type", f"text/plain{mark}{parameters}")])
    return response


def has_script(body: bytes) -> bool:
    """Return True if a document may contain a script, or another document, which may."""
    return _SCRIPT.search(body) is not None
