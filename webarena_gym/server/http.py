"""HTTP/1.1 on uvicorn for programs that others can reach: listeners, deadlines, limits on bodies, and errors as answers.

uvicorn waits without limit for the rest of a request. `Connection` sets deadlines for the head and for the body of each request, refuses
requests whose length is ambiguous, and drops clients that do not read their responses. The rest of the protocol is uvicorn's.
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
from typing import Any, Final

import h11
import uvicorn
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from webarena_gym.errors import ArenaError
from webarena_gym.server.schema import Problem

MAX_BODY = 2_100_000
"""Bytes of a request's body; the sites themselves take two million."""

MANY = 2000
"""Connections at once, where many clients come to one listener."""

_HEAD = 65_536  # bytes of a request's line and headers
_IDLE_S = 75.0  # for the next request of a connection
_HEAD_S = 10.0  # for the line and the headers of a request, once its first byte has arrived
_SENDING_S = 30.0  # for the body of a request, and for the client to read the response
_LEAVING_S = 2.0  # for a client to read why it is refused
_CONNECTIONS = 64  # at once, of one listener
_LONG_BODY = 65_536  # bytes; bodies up to this size are always taken
_MOST_UNDER_WAY = 16 * MAX_BODY  # bytes of longer bodies that are half read at once, in the whole process
_ENDING_S = 3  # for streams that clients keep open, when a server is stopped

_LOG = logging.getLogger("webarena_gym.server.http")
_LOG.setLevel(logging.ERROR)  # uvicorn warns of every request that is no HTTP

_long_bodies: dict[int, int] = {}  # bytes of each long body that is being read


def _strict_parser() -> h11.Connection:
    """Return h11's parser, made to reject also requests that another server might split differently (RFC 9112, sections 2.3 and 6.1).

    h11 itself rejects conflicting Content-Length headers, repeated or unknown transfer codings, and malformed lines.
    """
    parser = h11.Connection(h11.SERVER, _HEAD)
    read = parser.next_event

    def next_event() -> Any:
        event = read()
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
    """A client's connection: uvicorn's, with deadlines and a stricter parser."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn = _strict_parser()
        self.logger, self.access_log, self.limit_concurrency = _LOG, False, None
        self._phase = ""  # of what the client does now
        self._is_refused = self._is_half_closed = False
        # The timer is one of our own, since uvicorn begins its timer anew with whatever is sent.
        self._timer: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Drop a client that is one too many."""
        super().connection_made(transport)
        most = self.config.limit_concurrency
        if most is not None and len(self.connections) > most:
            transport.abort()
        self._set_timer()

    def data_received(self, data: bytes) -> None:
        """Read on, unless the client was refused."""
        if not self._is_refused:
            super().data_received(data)
            self._set_timer()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Answer also a client that says that its request is its last."""
        self._is_half_closed = True
        return self._is_at_work() and not self._is_refused

    def on_response_complete(self) -> None:
        """Close the connection of a client that sends nothing more."""
        super().on_response_complete()
        if self._is_half_closed and not self._is_at_work():
            self.transport.close()
        self._set_timer()

    def pause_writing(self) -> None:
        """Drop the client if it does not read its answer in time."""
        super().pause_writing()
        self._stalled = self.loop.call_later(_SENDING_S, self._reset)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for timer in (self._timer, self._stalled):
            if timer is not None:
                timer.cancel()

    def _expire(self) -> None:
        """Refuse a request that was not sent in time; drop a client that does nothing."""
        if self._phase in ("head", "body"):
            allowed = _HEAD_S if self._phase == "head" else _SENDING_S
            self._refuse(408, f"the {self._phase} of the request was not sent within {allowed:g} s")
        elif self._phase == "idle":
            self.transport.abort()
        else:
            self._reset()

    def _reset(self) -> None:
        """Drop the client with a TCP reset, so that the kernel keeps no half-closed socket and no unsent bytes for it."""
        sock = self.transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that cannot be parsed, with the status that the parser gives."""
        error = sys.exception()
        assert isinstance(error, h11.RemoteProtocolError), msg
        self._refuse(error.error_status_hint, f"malformed request: {error}")

    def _refuse(self, status: int, message: str) -> None:
        """Answer in place of the application, and hear no more of the client; a socket that is closed with something unread takes the answer back."""
        if self._is_at_work():
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        body = f"{message}\n".encode()
        head = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body)), "Connection": "close"}
        answer = h11.Response(status_code=status, headers=list(head.items()), reason=b"")
        self._is_refused = True
        try:
            for event in (answer, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
            self.transport.write_eof()
        except h11.LocalProtocolError:  # the answer has begun, or has no body
            self.transport.abort()
        self._set_timer()

    def _is_at_work(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _set_timer(self) -> None:
        """Start the deadline of the connection's phase when the phase has changed. There is none while the application works."""
        sent = self.conn.their_state
        if self.transport.is_closing():
            phase, allowed = "closing", _SENDING_S
        elif self._is_refused or (sent is h11.SEND_BODY and not self._is_at_work()):
            phase, allowed = "leaving", _LEAVING_S
        elif sent is h11.SEND_BODY:
            phase, allowed = "body", _SENDING_S
        elif sent is h11.IDLE and self.conn.trailing_data[0]:
            phase, allowed = "head", _HEAD_S
        else:
            phase, allowed = ("working", 0.0) if self._is_at_work() else ("idle", _IDLE_S)
        if phase != self._phase:
            self._phase = phase
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None if phase == "working" else self.loop.call_later(allowed, self._expire)


def configured(app: ASGIApp, connections: int = _CONNECTIONS, *, has_lifespan: bool = False) -> uvicorn.Config:
    """Return how uvicorn serves an application here; beyond so many `connections` at once, others are dropped."""
    return uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="on" if has_lifespan else "off",
        interface="asgi3",
        log_config=None,
        proxy_headers=False,
        timeout_keep_alive=int(2 * _IDLE_S),  # ours comes first
        limit_concurrency=connections,
        timeout_graceful_shutdown=_ENDING_S,
    )


def listen(host: str, ports: Iterable[int]) -> socket.socket:
    """Return a socket that listens at the first of these ports that is free. Raises ArenaError when none is."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    problem: OSError | None = None
    tried = list(ports)
    for port in tried:
        try:
            sock = socket.create_server((host, port), family=family, backlog=256)
        except OSError as error:
            problem = error
            continue
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # uvicorn sends the head and the body of an answer in turn
        return sock
    which = f"port {tried[0]}" if len(tried) == 1 else "no port of the range"
    why = os.strerror(problem.errno or 0) if problem is not None else "the range is empty"
    raise ArenaError(f"cannot listen at {which} of {host}: {why}; choose another", 503) from problem


class Listener:
    """An application at a listening socket, in the event loop that runs: for servers that open and close many."""

    def __init__(self, sock: socket.socket, app: ASGIApp, connections: int = _CONNECTIONS) -> None:
        self.port = int(sock.getsockname()[1])
        self._socket = sock
        self._config = configured(app, connections)
        self._state = ServerState()
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        create = partial(Connection, self._config, self._state, {})
        self._server = await asyncio.get_running_loop().create_server(create, sock=self._socket)

    async def close(self) -> None:
        """Stop listening, drop all connections and end what is done for them."""
        self._config.limit_concurrency = 0
        server, self._server = self._server, None
        if server is not None:
            server.get_loop().remove_reader(self._socket)
            # What was accepted just now gets its transport, which a closed server would lose (CPython 3.11).
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
    uvicorn.Server(configured(app, MANY, has_lifespan=has_lifespan)).run(sockets=[sock])


def answering(respond: Callable[[Request], Awaitable[Response]], *, in_json: bool) -> ASGIApp:
    """Return an application that tells what is wrong with a request, as a `Problem` or as a line of text. A fault of ours is logged."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        with suppress(ClientDisconnect, asyncio.CancelledError):  # nobody is there to be answered
            try:
                response = await respond(Request(scope, receive))
            except ClientDisconnect:
                raise
            except Exception as error:  # noqa: BLE001 - whatever it is, the client is told
                response = _refusal(error, in_json=in_json)
            await response(scope, receive, send)

    return app


def _refusal(error: Exception, *, in_json: bool) -> Response:
    if isinstance(error, ArenaError):
        problem, status = Problem(str(error), error.at, _finite(error.value), error.expected), error.status
    else:
        _LOG.error("a request has failed through a fault of the arena", exc_info=error)
        problem, status = Problem(f"a fault of the arena, not of the player: {type(error).__name__}: {error}"), 500
    headers = {"Retry-After": "5"} if status == 503 else {}
    if in_json:
        return as_json(problem, status, headers)
    return Response(f"{problem.error}\n", status, headers, "text/plain")


def as_json(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer that holds a dataclass, or another value, as JSON."""

    def plain(value: Any) -> dict[str, Any]:  # without the copies that `asdict` makes of what is in it
        return {field.name: getattr(value, field.name) for field in fields(value)}

    content = json.dumps(value, default=plain, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    return Response(content, status, headers, "application/json")


def _finite(value: object) -> object:
    """Return a value with infinite and undefined numbers as texts, since JSON has no other way to say them."""
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


async def read_body(request: Request) -> bytes:
    """Return the body of a request. Raises ArenaError for one that is too long, or when too many long ones are half read."""
    too_long: Final = ArenaError(f"the request's body has more than {MAX_BODY:,} bytes", 413)
    announced = request.headers.get("content-length", "0")
    if len(announced) > 9 or int(announced) > MAX_BODY:
        raise too_long
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > MAX_BODY:
                raise too_long
            if len(body) > _LONG_BODY:
                _long_bodies[id(body)] = len(body)
                if sum(list(_long_bodies.values())) > _MOST_UNDER_WAY:
                    raise ArenaError("too many long bodies are being sent; try again", 503)
    finally:
        _long_bodies.pop(id(body), None)
    return bytes(body)


def name_of(host: str) -> str:
    """Return the host name of an address without its port.

    >>> name_of("Shop.localhost:8000"), name_of("[::1]:8000")
    ('shop.localhost', '::1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
