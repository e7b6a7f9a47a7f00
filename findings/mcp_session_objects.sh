#!/usr/bin/env bash
# MCP Python SDK 2.3.0: what identifies a client over streamable HTTP.
#
# Guess: the calls that one connected Client makes share `ctx.session`, so that a server (an environment with an episode
#        for each client) may keep state by it; and they share a session id.
# Seen:  each call has another `ctx.session` object. In the default mode there is no session id either: nothing in the
#        requests says which client they are from. With Client(mode="legacy") the header mcp-session-id is equal in all.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet mcp==2.3.0 uvicorn
"$folder/venv/bin/python" - 2> "$folder/log" <<'PYTHON' || { cat "$folder/log"; exit 1; }
import asyncio
import socket

import uvicorn
from mcp import Client
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("episodes")
sessions, ids = [], []


@server.tool()
def act(ctx: Context) -> str:
    """Take one step."""
    sessions.append(ctx.session)
    ids.append(ctx.headers.get("mcp-session-id"))
    return "done"


async def main():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    web = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error"))
    serving = asyncio.create_task(web.serve(sockets=[listener]))
    while not web.started:
        await asyncio.sleep(0.05)
    for mode in ("auto", "legacy"):
        sessions.clear()
        ids.clear()
        async with Client(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", mode=mode) as client:
            for _ in range(3):
                await client.call_tool("act", {})
        objects = len({id(session) for session in sessions})
        named = {session_id is not None for session_id in ids}
        print(f"mode {mode}: 3 calls, {objects} session objects, {len(set(ids))} session id" + ("" if named == {True} else " (none)"))
        assert objects == 3 and len(set(ids)) == 1 and named == {mode == "legacy"}, "the behaviour has changed"
    web.should_exit = True
    await serving


asyncio.run(main())
PYTHON
