#!/usr/bin/env bash
# openai-agents 0.24.0: a `function_tool` that is called with arguments that do not fit.
#
# Guess: the model gets the reason, so that its next call can be right; an argument that does not exist is an error.
# Seen:  a wrong type, a value outside of a Literal, a missing argument and broken JSON all return the same sentence, "An error
#        occurred while running the tool. Please try again." Unknown arguments are dropped, and the call succeeds.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet openai-agents==0.24.0
"$folder/venv/bin/python" - <<'PYTHON'
import asyncio
import logging
from typing import Literal

from agents import function_tool
from agents.tool_context import ToolContext

logging.disable(logging.CRITICAL)


@function_tool
def click(element: int, button: Literal["left", "right"] = "left") -> str:
    """Click on an element."""
    return f"clicked {element} {button}"


general = "An error occurred while running the tool. Please try again."
expected = {
    '{"element": 5}': "clicked 5 left",
    '{"element": 5, "buton": "right"}': "clicked 5 left",
    '{"element": "five"}': general,
    '{"element": 5, "button": "middle"}': general,
    '{"button": "left"}': general,
    '{"element": 5': general,
}
for arguments, result in expected.items():
    context = ToolContext(context=None, tool_name="click", tool_call_id="1", tool_arguments=arguments)
    seen = asyncio.run(click.on_invoke_tool(context, arguments))
    print(f"{arguments} -> {seen!r}")
    assert seen == result, f"the behaviour has changed; expected {result!r}"
PYTHON
