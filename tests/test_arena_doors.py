"""What a door leaves behind when it closes: nothing, whatever its connections were doing."""

import asyncio
import gc
import socket

from webarena_gym.arena.doors import Answer, Asked, Door, listen


async def _never(_: Asked) -> Answer:
    await asyncio.Event().wait()
    raise AssertionError("nothing sets it")


def _sockets_left_by(connections: int, turns: int) -> int:
    """Close a door that has connections whose tasks have had that many turns of the event loop; return how many of its sockets stay open."""
    clients: list[socket.socket] = []
    accepted: list[asyncio.StreamWriter] = []

    class Watched(Door):
        def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted.append(writer)
            super()._accept(reader, writer)

    async def visit() -> None:
        door = Watched(listen("127.0.0.1", (0,)), _never)
        await door.open()
        for _ in range(connections):
            clients.append(socket.create_connection(("127.0.0.1", door.port)))
            clients[-1].sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        while len(accepted) < connections:
            await asyncio.sleep(0)
        for _ in range(turns):
            await asyncio.sleep(0)
        await door.close()

    try:
        asyncio.run(visit())
    finally:
        for client in clients:
            client.close()
    return sum(writer.get_extra_info("socket").fileno() >= 0 for writer in accepted)


def test_a_closed_door_leaves_no_connection_open():
    for turns in (0, 1, 2, 5):
        assert _sockets_left_by(4, turns) == 0, turns
    gc.collect()  # pytest makes an error of a transport that was never closed


def test_a_door_that_closes_while_clients_arrive_leaves_no_connection_open():
    clients: list[socket.socket] = []

    async def visit(turns: int) -> None:
        door = Door(listen("127.0.0.1", (0,)), _never)
        await door.open()
        clients.extend(socket.create_connection(("127.0.0.1", door.port)) for _ in range(4))
        for _ in range(turns):  # of the event loop: nobody has accepted them, some have been, all have been
            await asyncio.sleep(0)
        await door.close()

    try:
        for turns in range(6):
            asyncio.run(visit(turns))
            gc.collect()
    finally:
        for client in clients:
            client.close()
