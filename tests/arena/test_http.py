"""Listeners: what one leaves behind when it closes, and that nobody holds it open with half a request."""

import asyncio
import gc
import select
import socket
import time
from contextlib import ExitStack, suppress
from urllib.parse import urlsplit

import pytest

from tests.serving import serving_episodes
from webarena_gym.arena import http
from webarena_gym.arena.http import Listener, listen, with_error_responses
from webarena_gym.arena.service import ServerSettings


async def _wait_for_ever(_):
    await asyncio.Event().wait()


NEVER = with_error_responses(_wait_for_ever, in_json=False)


@pytest.mark.parametrize("are_at_work", [True, False])
def test_a_closed_listener_leaves_no_connection_open(are_at_work, caplog):
    async def visit(turns):
        """Close a listener after so many turns of the event loop: nobody has been accepted, some have, all have, all are at work."""
        listener = Listener(listen("127.0.0.1", (0,)), NEVER)
        await listener.open()
        with ExitStack() as stack:
            clients = [stack.enter_context(socket.create_connection(("127.0.0.1", listener.port))) for _ in range(4)]
            for client in clients if are_at_work else ():
                client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            while are_at_work and len(listener._state.connections) < len(clients):
                await asyncio.sleep(0)
            accepted = [connection.transport for connection in listener._state.connections]
            for _ in range(turns):
                await asyncio.sleep(0)
            await listener.close()
        return accepted

    for turns in range(6):
        accepted = asyncio.run(visit(turns))
        assert [transport.get_extra_info("socket").fileno() for transport in accepted] == [-1] * len(accepted), turns
    gc.collect()  # pytest makes an error of a transport that was never closed
    assert not caplog.records


HEAD = b"POST /episodes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
LETTER = b"Authorization: Bearer secret\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(scope="module")
def address():
    with serving_episodes(ServerSettings(token="secret")) as url:
        yield "127.0.0.1", urlsplit(url).port


def status_of(client):
    """The status of the answer to a request that may not have been sent to its end."""
    client.settimeout(60)
    with client.makefile("rb") as answer:
        return int(answer.readline().split()[1])


@pytest.mark.parametrize(("sent", "status"), [
    (HEAD + b"Content-Length: 2000000\r\n\r\n{", 401),
    (HEAD + b"Content-Length: 2000000\r\nExpect: 100-continue\r\n\r\n", 401),
    (HEAD + CHUNKED + b"1\r\n{\r\n", 401),
    (HEAD.replace(b"/episodes", b"/health") + CHUNKED, 401),  # a path that is open to all takes nothing from them
    (HEAD + b"Authorization: Bearer sacred\r\n" + CHUNKED, 401),
    (HEAD.replace(b"localhost", b"elsewhere") + LETTER + CHUNKED, 421),
    (HEAD + LETTER + b"Origin: http://elsewhere\r\n" + CHUNKED, 403),
    (HEAD + LETTER + b"Content-Length: 2100001\r\n\r\n", 413),
    (HEAD + LETTER + b"Content-Length: 99999999999999999999\r\n\r\n", 413),
    (HEAD + LETTER + CHUNKED + b"200b21\r\n" + b" " * 2_100_001, 413),
    (HEAD + LETTER + b"Content-Length: -1\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nX: " + b"x" * 200_000, 431),
])  # fmt: skip
def test_requests_are_rejected_by_headers_before_the_body_arrives(address, sent, status):
    with socket.create_connection(address) as client:
        client.sendall(sent)
        assert status_of(client) == status


POST = b"POST /health HTTP/1.1\r\nHost: localhost\r\n"
TE = b"Transfer-Encoding: chunked\r\n"
EMPTY = b"\r\n0\r\n\r\n"
SECOND = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
AMBIGUOUS = {
    "content-length and chunked": (POST + b"Content-Length: 4\r\n" + TE + EMPTY, 400),
    "chunked and content-length": (POST + TE + b"Content-Length: 4\r\n" + EMPTY, 400),
    "chunked and content-length 0": (POST + TE + b"Content-Length: 0\r\n" + EMPTY, 400),
    "chunked in HTTP/1.0": (POST.replace(b"1.1", b"1.0") + b"Connection: keep-alive\r\n" + TE + EMPTY, 400),
    "two lengths": (POST + b"Content-Length: 0\r\nContent-Length: 3\r\n\r\n", 400),
    "two lengths in a list": (POST + b"Content-Length: 0, 3\r\n\r\n", 400),
    "signed length": (POST + b"Content-Length: +0\r\n\r\n", 400),
    "hexadecimal length": (POST + b"Content-Length: 0x0\r\n\r\n", 400),
    "empty length": (POST + b"Content-Length:\r\n\r\n", 400),
    "chunked twice": (POST + TE + TE + EMPTY, 501),
    "other coding": (POST + b"Transfer-Encoding: gzip, chunked\r\n" + EMPTY, 501),
    "identity": (POST + b"Transfer-Encoding: identity\r\n\r\n", 501),
    "blank before colon": (POST + b"Transfer-Encoding : chunked\r\n" + EMPTY, 400),
    "vertical tab": (POST + b"Transfer-Encoding:\x0bchunked\r\n" + EMPTY, 400),
    "carriage return in a value": (POST + b"X: a\rTransfer-Encoding: chunked\r\n" + EMPTY, 400),
    "continuation at the start": (POST.replace(b"Host", b" Host") + b"\r\n", 400),
    "two hosts": (POST + b"Host: elsewhere\r\n\r\n", 400),
    "signed chunk": (POST + TE + b"\r\n+2\r\n{}\r\n0\r\n\r\n", 400),
    "chunk ended by line feed": (POST + TE + b"\r\n2\n{}\n0\n\n", 400),
    "chunk longer than its size": (POST + TE + b"\r\n2\r\n{}xx0\r\n\r\n", 400),
    "HTTP/2": (POST.replace(b"1.1", b"2.0") + b"\r\n", 505),
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_a_request_that_servers_split_differently_is_refused_with_what_follows_it(address, name):
    sent, status = AMBIGUOUS[name]
    with socket.create_connection(address) as client:
        client.sendall(sent + SECOND)
        answers = end_of(client)
    assert [int(line.split()[1]) for line in answers.split(b"\r\n") if line.startswith(b"HTTP/")] in ([status], [405, status])


HALVES = {
    "letter": b"G",
    "line": b"GET / HTTP/1.1\r\n",
    "head": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ",
    "second head": SECOND + b"GET /he",
    "no body": HEAD + b"Content-Length: 9\r\n\r\n",
    "half a body": HEAD + b"Content-Length: 9\r\n\r\n{",
    "no chunk": HEAD + CHUNKED,
    "half a chunk": HEAD + CHUNKED + b"9\r\n{",
    "no last chunk": HEAD + CHUNKED + b"1\r\n{\r\n",
    "half a trailer": HEAD + CHUNKED + b"0\r\nX: ",
}


def test_no_half_sent_request_outlives_its_deadline():
    """The clock of the event loop is set, so that nothing is waited for."""

    async def answer(request):
        await http.read_body(request)
        return http.Response("done")

    async def visit():
        loop, ahead = asyncio.get_running_loop(), 0.0
        now = loop.time
        loop.time = lambda: now() + ahead
        listener = Listener(
            listen("127.0.0.1", (0,)), with_error_responses(answer, in_json=False), connections=len(HALVES) * 20
        )
        await listener.open()
        connections = listener._state.connections

        async def wait_for(condition):
            end = time.monotonic() + 60
            while not condition():
                assert time.monotonic() < end
                await asyncio.sleep(0)

        clients = {}
        for half in [*HALVES.values()] * 20:
            reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
            writer.write(half)
            clients[reader] = writer
        await wait_for(lambda: [each._phase in ("head", "body") for each in connections] == [True] * len(clients))
        ahead = http._HEAD_TIMEOUT_S + 1
        await wait_for(lambda: all(each._phase in ("body", "rejected") for each in connections))
        assert sum(each._phase == "rejected" for each in connections) == 4 * 20
        ahead += http._TRANSFER_TIMEOUT_S
        await wait_for(lambda: all(each._phase == "rejected" for each in connections))
        ahead += http._ERROR_TIMEOUT_S + 1
        await wait_for(lambda: not connections)
        for reader, writer in clients.items():
            response = b""
            with suppress(ConnectionResetError):
                while part := await reader.read(65_536):
                    response += part
            assert b"HTTP/1.1 408" in response
            writer.close()
        await listener.close()

    asyncio.run(visit())


@pytest.mark.parametrize(
    "head", [HEAD + LETTER + CHUNKED, HEAD + LETTER + b"Content-Length: 2000000\r\n\r\n", b"GET / HTTP/1.1\r\nX: "]
)
def test_the_parts_of_a_request_share_one_deadline(address, monkeypatch, head):
    monkeypatch.setattr(http, "_TRANSFER_TIMEOUT_S", 0.3)
    monkeypatch.setattr(http, "_HEAD_TIMEOUT_S", 0.3)
    part = b"1\r\n \r\n" if b"chunked" in head else b"x"
    with socket.create_connection(address) as client:
        client.sendall(head)
        while not select.select([client], [], [], 0.05)[0]:
            client.sendall(part)  # each of them alone is in time
        assert status_of(client) == 408


def test_half_sent_bodies_hold_little_memory_and_nobody_else_up(address, monkeypatch):
    monkeypatch.setattr(http, "_MAX_PENDING_BYTES", 1_000_000)
    with ExitStack() as stack:
        clients = [stack.enter_context(socket.create_connection(address)) for _ in range(20)]
        for client in clients:
            client.sendall(HEAD + LETTER + b"Content-Length: 2000000\r\n\r\n" + b" " * 200_000)
        refused = set()
        while len(refused) < 15:  # five are as many as there is room for; a part of another was read, too
            found = select.select([client for client in clients if client not in refused], [], [], 60)[0]
            assert found
            refused.update(found)
        assert {status_of(client) for client in refused} == {503}
        assert sum(http._pending_bodies.values()) <= 1_000_000
        with socket.create_connection(address) as client:
            client.sendall(HEAD + LETTER + b"Content-Length: 15\r\n\r\n" + b'{"tusk": "sun"}')
            assert status_of(client) == 422


def end_of(client):
    """What is sent to a client until its connection ends."""
    client.settimeout(60)
    with suppress(ConnectionResetError), client.makefile("rb") as answer:
        return answer.read()
    return b""


def test_clients_that_do_nothing_do_not_read_or_never_end_are_dropped(address, monkeypatch):
    monkeypatch.setattr(http, "_IDLE_TIMEOUT_S", 0.2)
    for sent in (b"", b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"):
        with socket.create_connection(address) as client:
            client.sendall(sent)
            assert end_of(client).startswith(b"HTTP/1.1 200" if sent else b"")
    monkeypatch.setattr(http, "_TRANSFER_TIMEOUT_S", 0.3)
    monkeypatch.setattr(http, "_ERROR_TIMEOUT_S", 0.2)
    order = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for begun, part in ((b"", order * 100), (HEAD + CHUNKED, b"1000\r\n" + b" " * 4096 + b"\r\n")):
        with socket.create_connection(address, timeout=60) as client, suppress(ConnectionResetError, BrokenPipeError):
            client.sendall(begun)
            while True:
                client.sendall(part)


def test_a_client_whose_request_is_its_last_is_answered(address):
    with socket.create_connection(address) as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2)
        client.shutdown(socket.SHUT_WR)
        assert end_of(client).count(b"HTTP/1.1 200") == 2


def test_clients_beyond_the_limit_are_dropped():
    async def visit():
        listener = Listener(listen("127.0.0.1", (0,)), NEVER, connections=2)
        await listener.open()
        streams = [await asyncio.open_connection("127.0.0.1", listener.port) for _ in range(3)]
        assert await streams[2][0].read() == b""
        assert not streams[1][0].at_eof()
        await listener.close()
        for _, writer in streams:
            writer.close()

    asyncio.run(visit())
