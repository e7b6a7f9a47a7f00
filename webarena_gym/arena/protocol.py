"""The toolbox over the Model Context Protocol: on stdin and stdout, or over HTTP. The only module that imports its SDK."""

from collections.abc import Callable
from contextlib import closing

import anyio
import uvicorn
from anyio import to_thread
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    CallToolRequestParams,
    CallToolResult,
    ErrorData,
    JSONRPCError,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)
from mcp.types import Tool as ToolMessage
from pydantic import ValidationError
from starlette.applications import Starlette

from webarena_gym import __version__
from webarena_gym.arena.doors import listen
from webarena_gym.arena.registry import Arena
from webarena_gym.arena.schema import Limits, NewEpisode
from webarena_gym.arena.toolbox import INSTRUCTIONS, Toolbox

_ENDING_S = 3
_HOST = "127.0.0.1"


def server(toolbox: Toolbox) -> "Server[object]":
    """Return a server of MCP whose tools are those of a toolbox."""
    one_at_a_time = anyio.CapacityLimiter(1)

    async def list_tools(_: object, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(
            tools=[
                ToolMessage(name=tool.name, description=tool.description, input_schema=tool.schema) for tool in toolbox.tools()
            ]
        )

    async def call_tool(_: object, call: CallToolRequestParams) -> CallToolResult:
        returned = await to_thread.run_sync(toolbox.call, call.name, call.arguments or {}, limiter=one_at_a_time)
        return CallToolResult(
            content=[TextContent(type="text", text=returned.text)],
            is_error=returned.is_error,
            structured_content=returned.result,
        )

    return Server(
        "webarena-gym", version=__version__, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )


def serve_stdio(settings: NewEpisode) -> None:
    """Serve one player on stdin and stdout, until it goes away."""
    toolbox = Toolbox(Arena(), settings, names_episodes=False)

    async def run() -> None:
        played = server(toolbox)
        async with stdio_server() as (incoming, outgoing), anyio.create_task_group() as tasks:
            into, read = anyio.create_memory_object_stream[SessionMessage | Exception]()

            async def answer_what_is_no_message() -> None:
                """Pass messages on; the SDK drops all other lines without a word."""
                async with into:
                    async for item in incoming:
                        if isinstance(item, Exception):
                            faults = item.errors(include_url=False) if isinstance(item, ValidationError) else []
                            is_json = bool(faults) and faults[0]["type"] != "json_invalid"
                            error = (
                                ErrorData(code=INVALID_REQUEST, message="Invalid Request: expected a message of JSON-RPC 2.0")
                                if is_json
                                else ErrorData(code=PARSE_ERROR, message="Parse error: expected one JSON object a line")
                            )
                            await outgoing.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=None, error=error)))
                        else:
                            await into.send(item)

            tasks.start_soon(answer_what_is_no_message)
            await played.run(read, outgoing, played.create_initialization_options())

    anyio.run(run)


def http_application(settings: NewEpisode, limits: Limits | None = None) -> Starlette:
    """Return an ASGI application that serves any number of players of this machine, at the path /mcp."""
    names = ["127.0.0.1", "localhost", "[::1]"]
    return server(Toolbox(Arena(limits), settings, names_episodes=True)).streamable_http_app(
        transport_security=TransportSecuritySettings(
            allowed_hosts=[f"{name}:*" for name in names], allowed_origins=[f"http://{name}:*" for name in names]
        )
    )


def serve_http(settings: NewEpisode, port: int, on_open: Callable[[str], None]) -> None:
    """Serve players of this machine over HTTP, until interrupted; `on_open` is told the address. Raises ArenaError for a port in use."""
    with closing(listen(_HOST, (port,))) as listener:
        on_open(f"http://{_HOST}:{listener.getsockname()[1]}/mcp")
        # Streams that clients keep open would hold the end back for ever.
        config = uvicorn.Config(http_application(settings), log_level="warning", timeout_graceful_shutdown=_ENDING_S)
        uvicorn.Server(config).run(sockets=[listener])
