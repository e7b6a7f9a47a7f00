"""The ports of an episode: a listening socket for each of its sites, spoken to in HTTP/1.1."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import NamedTuple

import h11

from webarena_gym.errors import ArenaError

MAX_BODY = 2_100_000
"""Bytes of a request's body; the sites themselves take two million."""

_CHUNK = 65_536
_HEAD = 65_536  # bytes of a request's line and headers
_IDLE_S = 75.0  # for the next request of a connection
_SENDING_S = 30.0  # for a whole request that has begun, and for its answer to be taken
_LEAVING_S = 2.0  # for a client to read why it is refused
_CONNECTIONS = 64  # at once, of one site
_LONG_BODY = 65_536  # bytes; bodies up to this size are always taken
_MOST_UNDER_WAY = 16 * MAX_BODY  # bytes of longer bodies that are half read at once, at all doors of the process


class Asked(NamedTuple):
    """A request; names of headers are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


class Answer(NamedTuple):
    """What is answered; the length and the connection are the door's business."""

    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes


Answerer = Callable[[Asked], Awaitable[Answer]]
Doorkeeper = Callable[[Asked], Answer | None]
"""Looks at a request before its body is read, and returns what refuses it."""

_under_way: dict[int, int] = {}  # bytes that are set aside for each long body that is being read


def listen(host: str, ports: Iterable[int]) -> socket.socket:
    """Return a socket that listens at the first of these ports that is free. Raises ArenaError when none is."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    problem: OSError | None = None
    tried = list(ports)
    for port in tried:
        try:
            return socket.create_server((host, port), family=family, backlog=256)
        except OSError as error:
            problem = error
    which = f"port {tried[0]}" if len(tried) == 1 else "no port of the range"
    why = os.strerror(problem.errno or 0) if problem is not None else "the range is empty"
    raise ArenaError(f"cannot listen at {which} of {host}: {why}; choose another", status=503) from problem


class Door:
    """One listening socket, and what answers behind it. `refuse` sees each request before its body is read."""

    def __init__(
        self, listener: socket.socket, answer: Answerer, refuse: Doorkeeper = lambda _: None, connections: int = _CONNECTIONS
    ) -> None:
        self._listener = listener
        self._answer = answer
        self._refuse = refuse
        self._most = connections
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    @property
    def port(self) -> int:
        """The port at which it listens."""
        return int(self._listener.getsockname()[1])

    async def open(self) -> None:
        """Begin to answer."""
        self._server = await asyncio.start_server(self._accept, sock=self._listener, limit=_CHUNK)

    async def close(self) -> None:
        """Stop listening and drop all connections."""
        if self._server is not None:
            self._server.get_loop().remove_reader(self._listener)
            await asyncio.sleep(
                0
            )  # what was accepted just now gets its transport, which a closed server would lose (CPython 3.11)
            self._server.close()
        self._listener.close()
        for task, writer in self._connections.items():
            task.cancel()
            writer.transport.abort()  # a task that has not begun closes nothing, and what is not sent is not waited for

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._server or not self._server.is_serving() or len(self._connections) >= self._most:
            writer.transport.abort()
            return
        task = asyncio.create_task(self._attend(reader, writer))
        self._connections[task] = writer
        task.add_done_callback(self._connections.pop)

    async def _attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._converse(reader, writer)
        except (OSError, TimeoutError, asyncio.CancelledError):
            pass  # the browser went away or is not heard any more, or the door is closed
        finally:
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection until it ends."""
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD)
        while True:
            if not connection.trailing_data[0]:
                async with asyncio.timeout(_IDLE_S):
                    if not (begun := await reader.read(_CHUNK)):
                        return
                connection.receive_data(begun)
            method = "GET"
            try:
                async with asyncio.timeout(_SENDING_S):
                    heard = await self._hear(connection, reader, writer)
                if heard is None:
                    return
                asked, refused = heard
                answer, method = refused or await self._answer(asked), asked.method
            except h11.RemoteProtocolError as error:
                answer = _refusal(error.error_status_hint, f"the request is no HTTP: {error}")
            except TimeoutError:
                answer = _refusal(408, f"the request was not sent within {_SENDING_S:g} s")
            async with asyncio.timeout(_SENDING_S):
                writer.write(_encoded(connection, answer, method))
                await writer.drain()
            if connection.our_state is not h11.DONE or connection.their_state is not h11.DONE:
                async with asyncio.timeout(_LEAVING_S):  # a socket that is closed with something unread takes the answer back
                    writer.write_eof()
                    while await reader.read(_CHUNK):
                        pass
                return
            connection.start_next_cycle()

    async def _hear(
        self, connection: h11.Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[Asked, Answer | None] | None:
        """Return the next request and, where its body is not to be read, what refuses it; None when there is none.

        Raises h11.RemoteProtocolError for what is no request.
        """

        async def next_event() -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
            while (event := connection.next_event()) is h11.NEED_DATA:
                if connection.they_are_waiting_for_100_continue:
                    writer.write(connection.send(h11.InformationalResponse(status_code=100, headers=[])) or b"")
                connection.receive_data(await reader.read(_CHUNK))
            return event

        head = await next_event()
        if not isinstance(head, h11.Request):
            return None
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
        asked = Asked(head.method.decode("ascii"), head.target.decode("latin-1"), headers, b"")
        if refused := self._refuse(asked):
            return asked, refused
        announced, body = headers.get("content-length", "0"), bytearray()
        size = int(announced) if len(announced) < 10 else MAX_BODY + 1
        try:
            while size <= MAX_BODY and isinstance(part := await next_event(), h11.Data):
                body += part.data
                size = max(size, len(body))
                if len(body) > _LONG_BODY:
                    _under_way[id(body)] = len(body)
                    if sum(list(_under_way.values())) > _MOST_UNDER_WAY:
                        busy = _refusal(503, "too many long bodies are being sent; try again")
                        return asked, busy._replace(headers=[*busy.headers, ("Retry-After", "5")])
        finally:
            _under_way.pop(id(body), None)
        if size > MAX_BODY:
            raise h11.RemoteProtocolError(f"its body has more than {MAX_BODY:,} bytes", error_status_hint=413)
        return asked._replace(body=bytes(body)), None


def _refusal(status: int, message: str) -> Answer:
    return Answer(status, [("Content-Type", "text/plain; charset=utf-8")], f"{message}\n".encode())


def _encoded(connection: h11.Connection, answer: Answer, method: str) -> bytes:
    headers = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in answer.headers]
    headers.append((b"Content-Length", str(len(answer.body)).encode()))
    if connection.their_state is not h11.DONE:  # it was not heard to its end
        headers.append((b"Connection", b"close"))
    reason = b""
    with suppress(ValueError):
        reason = HTTPStatus(answer.status).phrase.encode()
    body = b"" if method == "HEAD" or answer.status in {204, 304} else answer.body
    head = h11.Response(status_code=answer.status, headers=headers, reason=reason)
    events: tuple[h11.Event, ...] = (head, h11.Data(data=body), h11.EndOfMessage())
    return b"".join(connection.send(event) or b"" for event in events)
