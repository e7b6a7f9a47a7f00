"""The sites of one world over HTTP, for a person's own browser.

People get what agents do not see: a link that leads past the menus, and maps that can be dragged.
"""

import os
import re
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from werkzeug.serving import WSGIRequestHandler, make_server

from webarena_gym.errors import ArenaError
from webarena_gym.sites.catalogue import HOSTS
from webarena_gym.sites.country.scales import Scale
from webarena_gym.sites.kit.sessions import COOKIE
from webarena_gym.sites.layout import PLAIN, Layout
from webarena_gym.sites.world import load_site, load_world

_HOST = "127.0.0.1"
_BODY = re.compile(rb"<body[^<>]*>")
_SKIP_LINK = b'<a class="skip" href="#main">Skip to the content</a>'
_MAIN = (b"<main>", b'<main id="main">')
_MAP = b'<p class="map">'
_MAP_SCRIPT = b'<script src="/static/map.js" defer></script>'


class Front:
    """One WSGI application for all sites of a world: the first part of the host name chooses the site.

    Whoever comes without a session gets the one that tasks start with, so that a person is logged in as an agent would be.
    """

    def __init__(self, world_seed: int, layout: Layout = PLAIN, scale: Scale = "standard") -> None:
        world = load_world(world_seed, scale)
        databases = world.open()
        self._sites = {_label(host): load_site(name).app(databases[name], layout) for name, host in HOSTS.items()}
        self._sessions = {_label(host): cookies[COOKIE] for host, cookies in world.cookies(HOSTS).items()}
        self._lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        label = _label(environ.get("HTTP_HOST", ""))
        if label not in self._sites:
            start_response("404 Not Found", [("Content-Type", "text/plain")])
            return [f"Open one of {', '.join(addresses(None).values())}, with this port.\n".encode()]
        answer = start_response
        if label in self._sessions and f"{COOKIE}=" not in environ.get("HTTP_COOKIE", ""):
            session = f"{COOKIE}={self._sessions[label]}"
            environ["HTTP_COOKIE"] = session

            def answer(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
                return start_response(status, [*headers, ("Set-Cookie", f"{session}; Path=/; HttpOnly")], *rest)

        told: list[Any] = []
        with self._lock:
            body = b"".join(self._sites[label](environ, lambda *start: told.extend(start)))
        status, headers, *rest = told
        if any(name == "Content-Type" and value.startswith("text/html") for name, value in headers):
            body = for_people(body)
            headers = [(name, str(len(body)) if name == "Content-Length" else value) for name, value in headers]
        answer(status, headers, *rest)
        return [body]


def for_people(page: bytes) -> bytes:
    """Return a page as people get it: with a link past the menus, and the script of its map if it has one."""
    page = _BODY.sub(lambda body: body[0] + _SKIP_LINK, page, count=1).replace(*_MAIN, 1)
    return page.replace(b"</body>", _MAP_SCRIPT + b"</body>") if _MAP in page else page


def addresses(port: int | None) -> dict[str, str]:
    """Return where the sites stand when served at a port: the URL by the name of the site."""
    return {name: f"http://{_label(host)}.localhost" + (f":{port}" if port else "") + "/" for name, host in HOSTS.items()}


class _Quiet(WSGIRequestHandler):
    """Logs no request."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing."""


def serve(
    world_seed: int, port: int, layout: Layout, on_open: Callable[[Mapping[str, str]], None], scale: Scale = "standard"
) -> None:
    """Serve a world's sites on the loopback interface until interrupted. Changes last as long as the server.

    `on_open` is told the addresses once it listens. Raises ArenaError for a port in use.
    """
    try:
        listener = socket.create_server((_HOST, port))
    except OSError as error:
        raise ArenaError(
            f"cannot listen at port {port} of {_HOST}: {os.strerror(error.errno or 0)}; choose another", status=503
        ) from error
    with listener:
        port = listener.getsockname()[1]
        front = Front(world_seed, layout, scale)
        server = make_server(_HOST, port, front, threaded=True, request_handler=_Quiet, fd=listener.fileno())
        on_open(addresses(port))
        server.serve_forever()


def _label(host: str) -> str:
    return host.partition(".")[0]
