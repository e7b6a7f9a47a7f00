"""Forwards requests to real servers and returns their responses, whole or as a stream."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import NamedTuple
from urllib.parse import urlsplit

import h11

from webarena_gym.pages.traffic import Traffic

CHUNK = 65_536
HOP_BY_HOP = frozenset(("connection", "keep-alive", "proxy-connection", "proxy-authorization", "transfer-encoding", "upgrade"))
_CONDITIONS = frozenset(("if-none-match", "if-modified-since"))
_EVENTS = "text/event-stream"


class HttpResponse(NamedTuple):
    """What the gate gives back for one request."""

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


async def pass_on(
    method: str, url: str, headers: Mapping[str, str], body: bytes, *, whole: bool = False
) -> HttpResponse | Stream:
    """Send a plain request to a real server and return its answer. Raises OSError when there is none.

    Pages, and what has a length, are returned as a whole; with `whole`, all but events.
    """
    parts = _exchange(method, url, headers, body)
    head = await anext(parts)
    assert isinstance(head, h11.Response)
    kept = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers]
    kind = next((value for name, value in kept if name.lower() == "content-type"), "")
    is_open = head.status_code == 200 and not is_document(headers) and all(name.lower() != "content-length" for name, _ in kept)
    kept = [(name, value) for name, value in kept if name.lower() not in HOP_BY_HOP | {"content-length"}]
    if is_open and (kind.startswith(_EVENTS) or not whole):
        return Stream(head.status_code, kept, _contents(parts))
    content = [part async for part in _contents(parts)]
    return HttpResponse(head.status_code, kept, b"".join(content))


async def pass_on_record(
    traffic: Traffic, method: str, url: str, headers: Mapping[str, str], body: bytes
) -> HttpResponse | Stream:
    """Do what `pass_on` does, and keep a record, for which answers must be whole: neither compressed nor "not modified"."""
    exchange = traffic.ask(method, url, headers, body)
    plain = {name: value for name, value in headers.items() if name not in _CONDITIONS} | {"accept-encoding": "identity"}
    answer = await pass_on(method, url, plain, body, whole=True)
    traffic.answer(exchange, answer.status, answer.headers, answer.body if isinstance(answer, HttpResponse) else b"")
    return answer


async def _contents(parts: AsyncGenerator[h11.Response | bytes, None]) -> AsyncGenerator[bytes, None]:
    async with aclosing(parts):
        async for part in parts:
            assert isinstance(part, bytes)
            yield part


async def _exchange(
    method: str, url: str, headers: Mapping[str, str], body: bytes
) -> AsyncGenerator[h11.Response | bytes, None]:
    """Yield the head of a server's answer, and then its contents as they come. Raises OSError when there is no answer."""
    address = urlsplit(url)
    path = (address.path or "/") + (f"?{address.query}" if address.query else "")
    connection = h11.Connection(h11.CLIENT)
    reader, writer = await asyncio.open_connection(address.hostname, address.port or 80)
    try:
        sent = [("Host", address.netloc), *headers.items(), ("Connection", "close"), ("Content-Length", str(len(body)))]
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


def _encoded(headers: Sequence[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
