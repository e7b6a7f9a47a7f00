"""The sites of one world over HTTP, for a person's own browser."""

import threading
from collections.abc import Callable, Iterable
from typing import Any

from werkzeug.serving import run_simple

from webarena_gym.network import WSGIApplication
from webarena_gym.sites.kit import Site
from webarena_gym.sites.world import DATABASE_OF, HOSTS, load_site, load_world

_HELP = b"Open http://shop.localhost or http://shop-admin.localhost, with this port.\n"


class Front:
    """One WSGI application for all sites of a world: the first part of the host name chooses the site.

    Whoever comes without a session gets the one that tasks start with, so that a person is logged in as an agent would be.
    """

    def __init__(self, world_seed: int) -> None:
        world = load_world(world_seed)
        databases = world.copy_databases()
        self._sites: dict[str, WSGIApplication] = {}
        self._sessions: dict[str, str] = {}
        for name, host in HOSTS.items():
            label = host.partition(".")[0]
            self._sites[label] = load_site(name).app(databases[DATABASE_OF[name]])
            self._sessions[label] = world.cookies[host][Site.cookie]
        self._lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        label = environ.get("HTTP_HOST", "").partition(".")[0]
        if label not in self._sites:
            start_response("404 Not Found", [("Content-Type", "text/plain")])
            return [_HELP]
        if f"{Site.cookie}=" in environ.get("HTTP_COOKIE", ""):
            answer = start_response
        else:
            session = f"{Site.cookie}={self._sessions[label]}"
            environ["HTTP_COOKIE"] = session

            def answer(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
                return start_response(status, [*headers, ("Set-Cookie", f"{session}; Path=/; HttpOnly")], *rest)

        with self._lock:
            return list(self._sites[label](environ, answer))


def serve(world_seed: int, port: int) -> None:
    """Serve a world's sites on the loopback interface until interrupted. Changes last as long as the server."""
    run_simple("127.0.0.1", port, Front(world_seed), threaded=True)
