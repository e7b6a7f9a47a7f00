"""Commands `serve` and `mcp`: the sites of a world for a person's browser together with an episode server, and episodes as MCP tools.

Pages for people have two additions that agents do not get: a link that skips the menus, and a script for dragging maps.
"""

import argparse
import asyncio
import os
import re
import secrets
import sys
from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from urllib.parse import urlsplit

from webarena_gym import suite as task_suite
from webarena_gym.arena.schema import Limits, NewEpisode
from webarena_gym.arguments import quote_value
from webarena_gym.console import decimal, integer
from webarena_gym.errors import ArenaError
from webarena_gym.options import add_source, read_source
from webarena_gym.pages.page import Network, Response
from webarena_gym.sites.catalogue import HOSTS
from webarena_gym.sites.country.dice import Scale
from webarena_gym.sites.country.seeding import COOKIE
from webarena_gym.sites.layout import PLAIN, Layout, layout_of
from webarena_gym.sites.world import load_site, load_world
from webarena_gym.toolbox import BUNDLED
from webarena_gym.tools.play import settings_of

_SESSION_STEPS = 100
_LOOPBACK = "127.0.0.1"
_MORE_PORTS = 100  # after the port of a task's first site, for its other sites
_TOKEN = "WEBARENA_GYM_TOKEN"  # noqa: S105 - the name of a variable
_BODY = re.compile(rb"<body[^<>]*>")
_SKIP_LINK = b'<a class="skip" href="#main">Skip to the content</a>'
_MAIN = (b"<main>", b'<main id="main">')
_MAP = b'<p class="map">'
_MAP_SCRIPT = b'<script src="/static/map.js" defer></script>'


class WorldSites(Network):
    """The sites of one world for a person's browser, at a port.

    A client without a session gets the session of tasks, so that a person is logged in like an agent.
    """

    def __init__(self, port: int, world_seed: int, layout: Layout = PLAIN, scale: Scale = "standard") -> None:
        world = load_world(world_seed, scale)
        databases = world.open()
        names = {name: urlsplit(url).netloc for name, url in addresses(port).items()}
        super().__init__({names[name]: load_site(name).app(databases[name], layout) for name in HOSTS})
        cookies = world.cookies(HOSTS)
        self._sessions = {names[name]: cookies[host][COOKIE] for name, host in HOSTS.items() if host in cookies}

    def request(self, method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Response:
        """Send one request and return the response with the additions for people."""
        headers, session = headers or {}, self._sessions.get(urlsplit(url).netloc, "")
        is_new = session and f"{COOKIE}=" not in headers.get("cookie", "")
        response = super().request(method, url, {**headers, "cookie": f"{COOKIE}={session}"} if is_new else headers, body)
        is_page = response.header("Content-Type").startswith("text/html")
        added = [("Set-Cookie", f"{COOKIE}={session}; Path=/; HttpOnly")] if is_new else []
        return Response(response.status, [*response.headers, *added], for_people(response.body) if is_page else response.body)


def for_people(page: bytes) -> bytes:
    """Return a page with the additions for people: a skip link, and the script of its map if it has one."""
    page = _BODY.sub(lambda body: body[0] + _SKIP_LINK, page, count=1).replace(*_MAIN, 1)
    return page.replace(b"</body>", _MAP_SCRIPT + b"</body>") if _MAP in page else page


def addresses(port: int) -> dict[str, str]:
    """Return the URL of each site when served at a port, by the site's name."""
    return {name: f"http://{host.partition('.')[0]}.localhost:{port}/" for name, host in HOSTS.items()}


def add_serve_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the episode server to the parser of `serve`."""
    limits = Limits()
    parser.add_argument(
        "--task",
        metavar="ID",
        help="solve this task in your browser: a bar above each page shows the goal and a field for the answer",
    )
    add = parser.add_argument_group("network").add_argument
    add("--port", type=integer(0, 65_535), default=8000, metavar="N", help="port of the server; 0: any free port")
    add("--host", default=_LOOPBACK, help="IP address to listen on; 0.0.0.0: all interfaces")
    add(
        "--name",
        action="append",
        default=[],
        metavar="HOST",
        help="host name by which clients reach this server, such as my-machine.lan (may be repeated)",
    )
    add(
        "--ports",
        type=_ports,
        default=(),
        metavar="FIRST-LAST",
        help="ports for the sites of episodes, such as 20000-20999, to forward or to open in a firewall: each open episode needs one for each "
        "of its sites (default: any free ports; with --task, the site where the task begins has --port, and its other sites have the next ones)",
    )
    add(
        "--token",
        help=f"token that clients must send (default: ${_TOKEN}; if it is not set, no token on 127.0.0.1 and a random one on other hosts)",
    )
    add, numbers = parser.add_argument_group("limits").add_argument, decimal(above=0)
    add("--episodes", type=integer(1), default=limits.episodes, metavar="N", help="maximum number of open episodes")
    add("--idle", type=numbers, default=limits.idle_s, metavar="S", help="close an episode after S seconds without a request")
    add(
        "--memory",
        type=numbers,
        default=limits.memory_mb,
        metavar="MB",
        help="start no episode while the server uses more memory than this",
    )


def serve_sites(options: argparse.Namespace) -> int:
    """Serve the sites of one world, an application or a suite, and the episode server, until interrupted."""
    if find_spec("pydantic") is None or find_spec("uvicorn") is None:
        raise ArenaError("serve needs more packages: pip install 'webarena-gym[serve]'", 500)
    asyncio.run(_serve(options))
    return 0


async def _serve(options: argparse.Namespace) -> None:
    from webarena_gym.arena.app import open_server  # noqa: PLC0415 - needs an extra
    from webarena_gym.arena.service import ServerSettings, is_loopback  # noqa: PLC0415

    is_local = is_loopback(options.host)
    token = options.token or os.environ.get(_TOKEN, "") or ("" if is_local else secrets.token_urlsafe(16))
    # With --task, the given port is that of the site where the task begins, so that one forwarded port is enough for most tasks.
    is_first = options.task is not None and not options.ports
    ports = range(options.port + 1, min(options.port + _MORE_PORTS, 65_536)) if is_first and options.port else options.ports
    address = ServerSettings(options.host, 0 if is_first else options.port, tuple(options.name), tuple(ports), token)
    try:
        limits = Limits(episodes=options.episodes, idle_s=options.idle, memory_mb=options.memory)
    except ValueError as error:
        raise ArenaError(str(error), 422) from error
    source = read_source(options.application, options.suite)
    layout = layout_of(options.world_seed, options.variation)
    sites = partial(WorldSites, world_seed=options.world_seed, layout=layout, scale=options.scale)
    has_sites = is_local and not source
    async with open_server(address, limits, sites if has_sites else None, **source) as service:
        if options.task is None:
            for name, url in addresses(urlsplit(service.url).port or 0).items() if has_sites else ():
                print(f"{name:<15} {url}", flush=True)
            print(f"{'arena':<15} {service.url}/docs", flush=True)
            if token:
                print(f"{'token':<15} {token}", flush=True)
        else:
            settings = NewEpisode(task=options.task, variation=options.variation)
            name = next(iter(options.name), options.host)
            state = await service.create_episode(settings, name, has_toolbar=True, port=options.port if is_first else 0)
            print(state.goal, flush=True)
            for url in state.start_urls:
                print(f"open {url}", flush=True)
        await asyncio.Event().wait()


def add_mcp_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `mcp`."""
    add_source(parser)
    parser.add_argument(
        "--task",
        metavar="ID",
        help="id of the task of every episode, such as shopping.cart_add/1000/0 (default: random tasks of --split)",
    )
    parser.add_argument(
        "--split",
        metavar="SPLIT",
        default="test",
        help=f"set of tasks from which random tasks are chosen: {', '.join(task_suite.SPLITS)}; or a split of --suite (default: test)",
    )
    parser.add_argument(
        "--http", type=integer(0, 65_535), metavar="PORT", help="serve over HTTP at 127.0.0.1:PORT instead of stdin and stdout"
    )
    parser.add_argument(
        "--max-steps", type=integer(1), default=_SESSION_STEPS, metavar="N", help="end an episode after N steps"
    )
    parser.add_argument(
        "--tools", nargs="*", choices=BUNDLED, default=[], help="offer search in the encyclopedia, or SQL over tables of pages"
    )


def serve_mcp(options: argparse.Namespace) -> int:
    """Serve the tools over the Model Context Protocol."""
    if find_spec("mcp") is None:
        raise ArenaError("MCP needs its SDK: pip install 'webarena-gym[mcp]'", 500)
    from webarena_gym.arena.mcp_tools import serve_http, serve_stdio  # noqa: PLC0415 - needs an extra

    settings = settings_of(options)
    source = read_source(options.application, options.suite)
    if options.task is not None:
        task_suite.find(options.task, options.variation, **source)  # the error is for the user who starts the server
    elif "suite" in source:
        task_suite.load(options.split, **source)
    elif not source:
        task_suite.expect_split(options.split)
    if options.http is None:
        serve_stdio(settings, **source)
    else:
        serve_http(settings, options.http, lambda url: print(url, file=sys.stderr, flush=True), **source)
    return 0


def _ports(text: str) -> tuple[int, ...]:
    first, dash, last = text.partition("-")
    ports = range(int(first), int(last) + 1) if dash and first.isdecimal() and last.isdecimal() else range(0)
    if not ports or not 0 < ports[0] <= ports[-1] < 65_536:
        raise argparse.ArgumentTypeError(f"is {quote_value(text)}; expected FIRST-LAST, such as 20000-20999")
    return tuple(ports)
