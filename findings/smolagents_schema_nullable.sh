#!/usr/bin/env bash
# smolagents 1.26.0: the JSON Schema of a tool whose parameters have defaults.
#
# Guess: only a parameter of type Optional may be null.
# Seen:  every parameter with a default is "nullable", also `k: int = 3` and a Literal, so a model may send null where
#        the function gets None instead of its default; the schema does not hold the default itself.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet smolagents==1.26.0
cat >"$folder/lookup.py" <<'PYTHON'
from typing import Literal

from smolagents import tool


@tool
def lookup(query: str, k: int = 3, mode: Literal["exact", "fuzzy"] = "exact") -> str:
    """Look up a term.

    Args:
        query: the term
        k: the number of results
        mode: the comparison
    """
    return f"{query} {k} {mode}"


for name, schema in lookup.inputs.items():
    print(name, schema)
assert "nullable" not in lookup.inputs["query"]
assert lookup.inputs["k"]["nullable"] is True and lookup.inputs["mode"]["nullable"] is True
assert not any("default" in schema for schema in lookup.inputs.values())
print("called with k=None:", lookup(query="orr", k=None))
PYTHON
"$folder/venv/bin/python" "$folder/lookup.py"
