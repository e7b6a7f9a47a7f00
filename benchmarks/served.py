"""A server of the sites of a world on the loopback interface, for browsers that need a socket."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from werkzeug.serving import WSGIRequestHandler, make_server

from webarena_gym.tools.serve import Front


class _Handler(WSGIRequestHandler):
    """Keeps connections open and sends each answer at once; as it ships, Python's handler takes 40 ms more for each."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def log(self, *_: object) -> None:
        """Say nothing."""


class Served:
    """One world behind a port; `renew` makes it as good as new."""

    def __init__(self, world_seed: int) -> None:
        self._world_seed = world_seed
        self.port = 0
        self.renew()

    def renew(self) -> None:
        """Put the world back to its beginning."""
        self._front = Front(self._world_seed)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        return self._front(environ, start_response)


@contextmanager
def serving(world_seed: int) -> Iterator[Served]:
    """Serve a world on a free port until the block ends."""
    served = Served(world_seed)
    server = make_server("127.0.0.1", 0, served, threaded=True, request_handler=_Handler)
    served.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        thread.join(5)
        server.server_close()
