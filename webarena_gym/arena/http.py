"""HTTP/1.1 servers on uvicorn for untrusted clients: listeners, deadlines, limits on bodies, and error responses.

uvicorn has no time limit for receiving a request. `Connection` sets deadlines for the head and the body of each request, rejects requests of
ambiguous length, and drops clients that do not read their responses. uvicorn implements the rest of the protocol.
"""

import asyncio
import json
import logging
import os
import socket
import struct
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import fields
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

import h11
import uvicorn
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from webarena_gym.arena.schema import Problem
from webarena_gym.errors import ArenaError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MAX_BODY = 2_100_000
"""Largest body of a request, in bytes. The sites accept two million."""

MAX_CONNECTIONS = 2000
"""Limit on simultaneous connections of a listener for many clients."""

_MAX_HEAD = 65_536  # bytes of a request's line and headers
_IDLE_TIMEOUT_S = 75.0  # until the next request of a connection
_HEAD_TIMEOUT_S = 10.0  # for the line and the headers of a request, after its first byte
_TRANSFER_TIMEOUT_S = 30.0  # for the body of a request, and for the client to read the response
_ERROR_TIMEOUT_S = 2.0  # for the client to read an error response
_DEFAULT_CONNECTIONS = 64  # limit on simultaneous connections of a listener
_LONG_BODY = 65_536  # bytes; shorter bodies are not limited in number
_MAX_PENDING_BYTES = 16 * MAX_BODY  # of all longer bodies that are being received, in the whole process
_SHUTDOWN_TIMEOUT_S = 3  # for open response streams

_LOG = logging.getLogger("webarena_gym.arena.http")
_LOG.setLevel(logging.ERROR)  # uvicorn warns about every malformed request

_pending_bodies: dict[int, int] = {}  # bytes received of each long body


def _strict_parser() -> h11.Connection:
    """Return an h11 parser that also rejects requests that another server might parse differently (RFC 9112, sections 2.3 and 6.1).

    h11 itself rejects conflicting Content-Length headers, repeated or unknown transfer codings, and malformed lines.
    """
    parser = h11.Connection(h11.SERVER, _MAX_HEAD)
    h11_next_event = parser.next_event

    def next_event() -> Any:
        event = h11_next_event()
        if isinstance(event, h11.Request):
            names = {name for name, _ in event.headers}
            if not event.http_version.startswith(b"1."):
                raise h11.RemoteProtocolError(f"HTTP/{event.http_version.decode()}; expected HTTP/1.1", 505)
            if b"transfer-encoding" in names and b"content-length" in names:
                raise h11.RemoteProtocolError("both Content-Length and Transfer-Encoding; expected one of them")
            if b"transfer-encoding" in names and event.http_version == b"1.0":
                raise h11.RemoteProtocolError("Transfer-Encoding in an HTTP/1.0 request; expected Content-Length")
        return event

    parser.next_event = next_event  # type: ignore[method-assign]
    return parser


class Connection(H11Protocol):
    """uvicorn's connection to a client, with deadlines and a stricter parser."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn = _strict_parser()
        self.logger, self.access_log, self.limit_concurrency = _LOG, False, None
        self._phase = ""  # of the connection, see `_set_timer`
        self._is_rejected = self._is_half_closed = False
        # uvicorn's own timer cannot be used: it restarts whenever the client sends a byte.
        self._timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Drop a client above the limit on connections."""
        super().connection_made(transport)
        limit = self.config.limit_concurrency
        if limit is not None and len(self.connections) > limit:
            transport.abort()
        self._set_timer()

    def data_received(self, data: bytes) -> None:
        """Parse received bytes; after a rejected request they are ignored."""
        if not self._is_rejected:
            super().data_received(data)
            self._set_timer()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Keep a half-closed connection open until the current response is complete."""
        self._is_half_closed = True
        return self._is_responding() and not self._is_rejected

    def on_response_complete(self) -> None:
        """Close a half-closed connection."""
        super().on_response_complete()
        if self._is_half_closed and not self._is_responding():
            self.transport.close()
        self._set_timer()

    def pause_writing(self) -> None:
        """Start the deadline for a client to read its response."""
        super().pause_writing()
        self._write_timer = self.loop.call_later(_TRANSFER_TIMEOUT_S, self._reset)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._write_timer is not None:
            self._write_timer.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for timer in (self._timer, self._write_timer):
            if timer is not None:
                timer.cancel()

    def _expire(self) -> None:
        """Reject a request that was not received in time, or drop an idle client."""
        if self._phase in ("head", "body"):
            timeout_s = _HEAD_TIMEOUT_S if self._phase == "head" else _TRANSFER_TIMEOUT_S
            self._reject(408, f"the {self._phase} of the request was not sent within {timeout_s:g} s")
        elif self._phase == "idle":
            self.transport.abort()
        else:
            self._reset()

    def _reset(self) -> None:
        """Drop the client with a TCP reset, so that the kernel keeps no half-closed socket and no unsent bytes."""
        sock = self.transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Reject a request that cannot be parsed, with the parser's status."""
        error = sys.exception()
        assert isinstance(error, h11.RemoteProtocolError), msg
        self._reject(error.error_status_hint, f"malformed request: {error}")

    def _reject(self, status: int, message: str) -> None:
        """Send an error response instead of the application's, and ignore all further bytes of the client.

        The socket stays open for a moment, because closing it with unread bytes would discard the response.
        """
        if self._is_responding():
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        body = f"{message}\n".encode()
        head = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body)), "Connection": "close"}
        response = h11.Response(status_code=status, headers=list(head.items()), reason=b"")
        self._is_rejected = True
        try:
            for event in (response, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
            self.transport.write_eof()
        except h11.LocalProtocolError:  # the application's response has started, or must have no body
            self.transport.abort()
        self._set_timer()

    def _is_responding(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _set_timer(self) -> None:
        """Start the deadline of the connection's phase if the phase has changed. The phase in which the application works has none."""
        client_state = self.conn.their_state
        if self.transport.is_closing():
            phase, timeout_s = "closing", _TRANSFER_TIMEOUT_S
        elif self._is_rejected or (client_state is h11.SEND_BODY and not self._is_responding()):
            phase, timeout_s = "rejected", _ERROR_TIMEOUT_S
        elif client_state is h11.SEND_BODY:
            phase, timeout_s = "body", _TRANSFER_TIMEOUT_S
        elif client_state is h11.IDLE and self.conn.trailing_data[0]:
            phase, timeout_s = "head", _HEAD_TIMEOUT_S
        else:
            phase, timeout_s = ("responding", 0.0) if self._is_responding() else ("idle", _IDLE_TIMEOUT_S)
        if phase != self._phase:
            self._phase = phase
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None if phase == "responding" else self.loop.call_later(timeout_s, self._expire)


def uvicorn_config(app: ASGIApp, connections: int = _DEFAULT_CONNECTIONS, *, has_lifespan: bool = False) -> uvicorn.Config:
    """Return the uvicorn configuration of an application; clients above the number of `connections` are dropped."""
    return uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="on" if has_lifespan else "off",
        interface="asgi3",
        log_config=None,
        proxy_headers=False,
        timeout_keep_alive=int(2 * _IDLE_TIMEOUT_S),  # longer than our own, which must expire first
        limit_concurrency=connections,
        timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT_S,
    )


def listen(host: str, ports: Iterable[int]) -> socket.socket:
    """Return a socket that listens at the first free port of `ports`. Raises ArenaError if none is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    last_error: OSError | None = None
    candidates = list(ports)
    for port in candidates:
        try:
            sock = socket.create_server((host, port), family=family, backlog=256)
        except OSError as error:
            last_error = error
            continue
        sock.setsockopt(
            socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
        )  # uvicorn writes the head and the body of a response separately
        return sock
    target = f"port {candidates[0]}" if len(candidates) == 1 else "any port of the range"
    why = os.strerror(last_error.errno or 0) if last_error is not None else "the range is empty"
    raise ArenaError(f"cannot listen at {target} of {host}: {why}; choose another", 503) from last_error


class Listener:
    """Serves an application at a socket in the running event loop. Meant for servers that open and close many sockets."""

    def __init__(self, sock: socket.socket, app: ASGIApp, connections: int = _DEFAULT_CONNECTIONS) -> None:
        self.port = int(sock.getsockname()[1])
        self._socket = sock
        self._config = uvicorn_config(app, connections)
        self._state = ServerState()
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        create = partial(Connection, self._config, self._state, {})
        self._server = await asyncio.get_running_loop().create_server(create, sock=self._socket)

    async def close(self) -> None:
        """Stop listening, drop all connections, and cancel their requests."""
        self._config.limit_concurrency = 0
        server, self._server = self._server, None
        if server is not None:
            server.get_loop().remove_reader(self._socket)
            # A connection that was just accepted must get its transport first; a closed server would lose it (CPython 3.11).
            await asyncio.sleep(0)
            server.close()
        self._socket.close()
        for connection in list(self._state.connections):
            connection.transport.abort()
        tasks = list(self._state.tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


def serve(app: ASGIApp, sock: socket.socket, *, has_lifespan: bool = False) -> None:
    """Serve an application at a listening socket, until interrupted."""
    uvicorn.Server(uvicorn_config(app, MAX_CONNECTIONS, has_lifespan=has_lifespan)).run(sockets=[sock])


def with_error_responses(respond: Callable[[Request], Awaitable[Response]], *, in_json: bool) -> ASGIApp:
    """Return an ASGI application that turns exceptions of `respond` into error responses.

    The response is a `Problem` in JSON, or one line of text. Exceptions other than ArenaError are logged, and get status 500.
    """

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        with suppress(ClientDisconnect, asyncio.CancelledError):  # no client waits for a response
            try:
                response = await respond(Request(scope, receive))
            except ClientDisconnect:
                raise
            except Exception as error:  # noqa: BLE001 - every error needs a response
                response = _error_response(error, in_json=in_json)
            await response(scope, receive, send)

    return app


def _error_response(error: Exception, *, in_json: bool) -> Response:
    if isinstance(error, ArenaError):
        problem, status = Problem(str(error), error.at, _json_numbers(error.value), error.expected), error.status
    else:
        _LOG.error("internal error of the arena in a request", exc_info=error)
        problem, status = Problem(f"a fault of the arena, not of the player: {type(error).__name__}: {error}"), 500
    headers = {"Retry-After": "5"} if status == 503 else {}
    if in_json:
        return json_response(problem, status, headers)
    return Response(f"{problem.error}\n", status, headers, "text/plain")


def json_response(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with a dataclass, or another value, as JSON."""

    def to_dict(value: "DataclassInstance") -> dict[str, Any]:  # unlike `asdict`, without deep copies
        return {field.name: getattr(value, field.name) for field in fields(value)}

    content = json.dumps(value, default=to_dict, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    return Response(content, status, headers, "application/json")


def _json_numbers(value: object) -> object:
    """Return a value with infinite and undefined numbers as strings, because JSON cannot represent them."""
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _json_numbers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_numbers(item) for item in value]
    return value


async def read_body(request: Request) -> bytes:
    """Return the body of a request.

    Raises ArenaError with status 413 for a body that is too long, and with 503 while too many long bodies are being received.
    """
    too_long: Final = ArenaError(f"the request's body has more than {MAX_BODY:,} bytes", 413)
    content_length = request.headers.get("content-length", "0")
    if len(content_length) > 9 or int(content_length) > MAX_BODY:
        raise too_long
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > MAX_BODY:
                raise too_long
            if len(body) > _LONG_BODY:
                _pending_bodies[id(body)] = len(body)
                if sum(list(_pending_bodies.values())) > _MAX_PENDING_BYTES:
                    raise ArenaError("too many long bodies are being sent; try again", 503)
    finally:
        _pending_bodies.pop(id(body), None)
    return bytes(body)


def host_name(host: str) -> str:
    """Return the host name of "host:port", in lower case.

    >>> host_name("Shop.localhost:8000"), host_name("[::1]:8000")
    ('shop.localhost', '::1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
