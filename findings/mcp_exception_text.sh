#!/usr/bin/env bash
# mcp 2.3.0: an exception in a tool of a server.
#
# Guess: the client gets the text of the exception, as with mcp 1.30.0 ("Error executing tool find: no item 7").
# Seen:  a model that calls the tool reads only "Error executing tool find". The text of a `ToolError` is passed on.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet mcp==2.3.0
"$folder/venv/bin/python" - <<'PYTHON'
import asyncio
import logging

from mcp import Client
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

logging.disable(logging.CRITICAL)
server = MCPServer("shop")


@server.tool()
def find(item: int) -> str:
    """Find an item."""
    raise LookupError(f"no item {item}")


@server.tool()
def buy(item: int) -> str:
    """Buy an item."""
    raise ToolError(f"no item {item}")


async def main():
    async with Client(server) as client:
        for name, expected in {"find": "Error executing tool find", "buy": "Error executing tool buy: no item 7"}.items():
            result = await client.call_tool(name, {"item": 7})
            text = result.content[0].text
            print(f"{name}: is_error {result.is_error}, {text!r}")
            assert result.is_error and text == expected, f"the behaviour has changed; expected {expected!r}"


asyncio.run(main())
PYTHON
