#!/usr/bin/env bash
# google-adk 2.13.0: the arguments of a `FunctionTool`.
#
# Guess: they are checked against the declared types, as a nested Pydantic model is.
# Seen:  models are converted, other types are not: "7" for an int and "z" for Literal["x", "y"] reach the function as they are.
#        An unknown argument is dropped, so that a misspelled one has its default.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet google-adk==2.13.0
"$folder/venv/bin/python" - <<'PYTHON'
import asyncio
from typing import Literal

from google.adk.tools import FunctionTool
from pydantic import BaseModel


class Line(BaseModel):
    item: int


def order(line: Line, count: int = 1, mode: Literal["x", "y"] = "x") -> str:
    """Order an item."""
    return repr((line, count, mode))


expected = [
    ({"line": {"item": "5"}}, "(Line(item=5), 1, 'x')"),
    ({"line": {"item": 5}, "count": "7", "mode": "z"}, "(Line(item=5), '7', 'z')"),
    ({"line": {"item": 5}, "cuont": 7}, "(Line(item=5), 1, 'x')"),
]
for arguments, result in expected:
    seen = asyncio.run(FunctionTool(order).run_async(args=arguments, tool_context=None))
    print(f"{arguments} -> {seen}")
    assert seen == result, f"the behaviour has changed; expected {result}"
PYTHON
