#!/usr/bin/env bash
# ollama 0.6.3: the schema of a Python function that is passed as a tool.
#
# Guess: `chat(tools=[function])` sends the types of the parameters, and only parameters without a default are required.
# Seen:  each parameter that is not Optional is required, also `*args` and `**options`. The values of a Literal or an enum and the types of
#        elements are left out, a pydantic model is a "string", and `int | str` has the type "integer, string", which JSON Schema does not
#        have. Descriptions are read from Google's style only.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet ollama==0.6.3 pydantic==2.13.5 jsonschema==4.26.0
"$folder/venv/bin/python" - <<'PYTHON'
import enum
from typing import Literal, Optional

import pydantic
from jsonschema import Draft202012Validator, SchemaError
from ollama._utils import convert_function_to_tool


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Address(pydantic.BaseModel):
    street: str


def buy(
    name: str,
    sizes: list[int],
    mode: Literal["now", "later"],
    color: Color,
    address: Address,
    count: int = 1,
    code: int | str = "",
    note: Optional[str] = None,
    **options,
):
    """Buy a product.

    Args:
        name: name of the product
        count: number of items
    """


parameters = convert_function_to_tool(buy).model_dump(exclude_none=True)["function"]["parameters"]
print("required:", parameters["required"])
assert parameters["required"] == ["name", "sizes", "mode", "color", "address", "count", "code", "options"], "the behaviour has changed"
EXPECTED = {"name": "string", "sizes": "array", "mode": "string", "color": "string", "address": "string", "count": "integer"}
EXPECTED |= {"code": "integer, string", "note": "string", "options": "string"}
for name, schema in parameters["properties"].items():
    print(f"{name}: {schema}")
    assert schema["type"] == EXPECTED[name], f"the behaviour has changed; expected {EXPECTED[name]}"
    assert set(schema) == {"type", "description"}, "the behaviour has changed; expected a type and a description only"
assert parameters["properties"]["count"]["description"] == "number of items"
try:
    Draft202012Validator.check_schema({"type": parameters["properties"]["code"]["type"]})
except SchemaError as error:
    print(error.message)
else:
    raise AssertionError("the behaviour has changed; expected a SchemaError")
PYTHON
