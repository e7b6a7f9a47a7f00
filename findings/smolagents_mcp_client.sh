#!/usr/bin/env bash
# smolagents 1.26.0 with its extra "mcp", as pip installs it.
#
# Guess: `MCPClient`, for which the extra exists, can connect to a server.
# Seen:  it is an ImportError: pip selects mcp 2, which has no `streamablehttp_client`, and mcpadapt imports that name.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet "smolagents[mcp]==1.26.0"
"$folder/venv/bin/python" - <<'PYTHON'
import sys
from importlib.metadata import version

from mcp import StdioServerParameters
from smolagents import MCPClient

print({package: version(package) for package in ("smolagents", "mcpadapt", "mcp")})
try:
    MCPClient(StdioServerParameters(command=sys.executable, args=["-c", ""]))
except ImportError as error:
    print(type(error).__name__, error)
    assert "streamablehttp_client" in str(error)
else:
    raise AssertionError("the behaviour has changed: no error")
PYTHON
