"""The arena on the command line: `serve`, `mcp`, and `play --session`."""

import argparse
import asyncio
import os
import secrets
import sys
from dataclasses import fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import get_args
from urllib.parse import urlsplit

from webarena_gym import tasks as task_suite
from webarena_gym.actions import DIALECTS
from webarena_gym.arena import sessions
from webarena_gym.arena.schema import Limits, NewEpisode, Split
from webarena_gym.arguments import shown
from webarena_gym.console import decimal, whole
from webarena_gym.errors import ArenaError
from webarena_gym.pages.page import Network
from webarena_gym.sites.layout import layout_of
from webarena_gym.tools.play import play_in_terminal, spelled_out
from webarena_gym.tools.serve import Front, addresses

_SESSION_STEPS = 100
LOOPBACK = "127.0.0.1"
_TOKEN = "WEBARENA_GYM_TOKEN"  # noqa: S105 - the name of a variable


def add_serve_options(parser: argparse.ArgumentParser) -> None:
    """Add what `serve` can be told of its arena."""
    limits = Limits()
    parser.add_argument(
        "--task", metavar="ID", help="play this task yourself: a bar above the sites has the goal and a box to answer"
    )
    parser.add_argument("--host", default=LOOPBACK, help="the address to listen on; 0.0.0.0 is all")
    parser.add_argument(
        "--name", action="append", default=[], help="a host name under which clients reach the arena (may be repeated)"
    )
    parser.add_argument(
        "--ports",
        type=_ports,
        default=(),
        metavar="FIRST-LAST",
        help="the ports of the episodes' sites (default: any that are free)",
    )
    parser.add_argument(
        "--token", help=f"what clients must send; needed, and drawn if not given, with other hosts (default: ${_TOKEN})"
    )
    parser.add_argument("--episodes", type=whole(1), default=limits.episodes, metavar="N", help="open at once")
    parser.add_argument(
        "--idle",
        type=decimal(above=0),
        default=limits.idle_s,
        metavar="S",
        help="seconds until one is closed",
    )
    parser.add_argument(
        "--memory",
        type=decimal(above=0),
        default=limits.memory_mb,
        metavar="MB",
        help="of the process, beyond which none is begun",
    )


def is_wanted(options: argparse.Namespace) -> bool:
    """Say whether `serve` opens an arena: where its packages are there, or it is told something of one.

    Raises ArenaError for the second without the first.
    """
    is_there = find_spec("pydantic") is not None and find_spec("h11") is not None
    is_asked_for = options.task is not None or options.host != LOOPBACK or options.name or options.ports or options.token
    if is_asked_for and not is_there:
        raise ArenaError("an arena needs more packages: pip install 'webarena-gym[serve]'", status=500)
    if not is_there:
        _say("(sites alone; an arena needs more packages: pip install 'webarena-gym[serve]')")
    return is_there


def serve(options: argparse.Namespace) -> int:
    """Serve the sites of one world and an arena, until interrupted."""
    asyncio.run(_serve(options))
    return 0


async def _serve(options: argparse.Namespace) -> None:
    from webarena_gym.arena.server import Address, opened  # noqa: PLC0415 - needs an extra
    from webarena_gym.arena.service import is_loopback  # noqa: PLC0415

    is_own = is_loopback(options.host)
    token = options.token or os.environ.get(_TOKEN, "") or ("" if is_own else secrets.token_urlsafe(16))
    address = Address(options.host, options.port, tuple(options.name), options.ports, token)
    try:
        limits = Limits(episodes=options.episodes, idle_s=options.idle, memory_mb=options.memory)
    except ValueError as error:
        raise ArenaError(str(error), status=422) from error
    front = Front(options.world_seed, layout_of(options.world_seed, options.variation), options.scale)
    places = addresses(options.port)
    sites = Network({url.removeprefix("http://").rstrip("/"): front for url in places.values()}) if is_own else None
    async with opened(address, limits, sites) as arena:
        if options.task is None:
            for name, url in addresses(urlsplit(arena.url).port).items() if is_own else ():
                _say(f"{name:<15} {url}")
            _say(f"{'arena':<15} {arena.url}/docs")
            if token:
                _say(f"{'token':<15} {token}")
        else:
            settings = NewEpisode(task=options.task, variation=options.variation)
            name = next(iter(options.name), options.host)
            state = await arena.service.begin(settings, name, has_bar=True)
            _say(f"{state.goal}")
            for url in state.start_urls:
                _say(f"open {url}")
        await asyncio.Event().wait()


def add_mcp_options(parser: argparse.ArgumentParser) -> None:
    """Add what `mcp` can be told."""
    parser.add_argument("--task", metavar="ID", help="always begin this task")
    parser.add_argument("--split", choices=get_args(Split), default="test", help="the split to draw from")
    parser.add_argument(
        "--http", type=whole(0, 65_535), metavar="PORT", help="serve over HTTP at 127.0.0.1 instead of stdin and stdout"
    )
    parser.add_argument("--max-steps", type=whole(1), default=_SESSION_STEPS, metavar="N", help="of an episode")


def mcp(options: argparse.Namespace) -> int:
    """Serve the tools over the Model Context Protocol."""
    if find_spec("mcp") is None:
        raise ArenaError("MCP needs its SDK: pip install 'webarena-gym[mcp]'", status=500)
    from webarena_gym.arena.protocol import serve_http, serve_stdio  # noqa: PLC0415 - needs an extra

    settings = _settings(options)
    if options.task is not None:
        task_suite.find(options.task, options.variation)  # its error is for whoever starts the server, not for its first client
    if options.http is None:
        serve_stdio(settings)
    else:
        serve_http(settings, options.http, lambda url: _say(url, to_errors=True))
    return 0


def play(options: argparse.Namespace) -> int:
    """Play in the terminal or, with --session, do one command: start, act, observe or submit."""
    if options.session is None:
        return play_in_terminal(options)
    command, *words = options.words or ["observe"]
    path: Path = options.session
    most = {"start": 1, "act": 1, "observe": 0, "submit": 1}
    if command not in most or len(words) > most[command] or (command == "act" and not words):
        raise ArenaError(
            f"play --session got {' '.join(options.words)!r}; expected start [TASK], act ACTION, observe or submit [ANSWER]",
            status=400,
        )
    if command == "start":
        if path.exists():
            raise ArenaError(f"{path} is there already; expected the name of a new file", status=409)
        session, told = sessions.start(_settings(options, task=words[0] if words else None))
    else:
        session = sessions.read(path)
        if command == "observe":
            _say(sessions.observe(session))
            return 0
        if command == "act":
            session, told = sessions.act(session, _spelled_out(words[0], session.settings.dialect))
        else:
            session, told = sessions.submit(session, "".join(words))
    sessions.write(session, path)
    _say(told)
    return 0


def _spelled_out(line: str, dialect: str) -> str:
    try:
        return spelled_out(line, DIALECTS[dialect])
    except ValueError as error:
        raise ArenaError(str(error), status=400) from error


def _settings(options: argparse.Namespace, task: str | None = None) -> NewEpisode:
    """Return the settings of an episode, with those options that the command has."""
    chosen = {name: getattr(options, name) for name in (field.name for field in fields(NewEpisode)) if hasattr(options, name)}
    try:
        return replace(NewEpisode(**chosen), task=task or chosen.get("task"), mode="step")
    except ValueError as error:
        raise ArenaError(str(error), status=422) from error


def _ports(text: str) -> tuple[int, ...]:
    """Return the ports of a range."""
    first, dash, last = text.partition("-")
    ports = range(int(first), int(last) + 1) if dash and first.isdecimal() and last.isdecimal() else range(0)
    if not ports or not 0 < ports[0] <= ports[-1] < 65_536:
        raise argparse.ArgumentTypeError(f"is {shown(text)}; expected FIRST-LAST, such as 20000-20999")
    return tuple(ports)


def _say(text: str, *, to_errors: bool = False) -> None:
    print(text, file=sys.stderr if to_errors else sys.stdout, flush=True)
