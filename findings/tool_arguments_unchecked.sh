#!/usr/bin/env bash
# haystack-ai 3.4.1 and llama-index-core 0.14.25: Python functions as tools.
#
# Guess: the arguments of a call are checked against the schema that the library made of the function, and converted to its types.
# Seen:  the schema has types, a Literal and a nested model, and the call passes whatever it got: "7" for an int, "z" for
#        Literal["x", "y"], and a dict where the function declares a Pydantic model.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet haystack-ai==3.4.1 llama-index-core==0.14.25
"$folder/venv/bin/python" - <<'PYTHON'
from typing import Literal

from haystack.tools import create_tool_from_function
from llama_index.core.tools import FunctionTool
from pydantic import BaseModel


class Line(BaseModel):
    item: int


def order(line: Line, count: int = 1, mode: Literal["x", "y"] = "x") -> str:
    """Order an item."""
    return repr((line, count, mode))


haystack, llama_index = create_tool_from_function(order), FunctionTool.from_defaults(order)
for schema in (haystack.parameters, llama_index.metadata.get_parameters_dict()):
    print({name: value.get("type") or value for name, value in schema["properties"].items()})
    assert schema["properties"]["count"]["type"] == "integer" and schema["properties"]["mode"]["enum"] == ["x", "y"]
arguments = {"line": {"item": 5}, "count": "7", "mode": "z"}
expected = "({'item': 5}, '7', 'z')"
for name, result in {"haystack": haystack.invoke(**arguments), "llama-index": llama_index.call(**arguments).raw_output}.items():
    print(f"{name}: {result}")
    assert result == expected, f"the behaviour has changed; expected {expected}"
PYTHON
