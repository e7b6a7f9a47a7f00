#!/usr/bin/env bash
# baml-py 0.226.3: replies that are read as numbers, booleans, enums and lists.
#
# Guess: a reply that contains the name of an enum value as a part of another word, or with "not", is an error; a missing list too.
# Seen:  names are searched in the letters of the reply: "hundred" is RED, "untrue" and "not true" are True, "nothing" is "no", and
#        "light blue" is BLUE although the enum has LIGHT_BLUE. The minus sign U+2212 is dropped ("−5" is 5), "1,5" is 15, and 2.5
#        becomes 3 as an integer. A class without its list gets an empty one, and items of a list that do not fit are left out.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet baml-py==0.226.3 pydantic==2.13.5 typing-extensions==4.16.0
"$folder/venv/bin/python" - <<'PYTHON'
import enum
import types

import baml_py
import pydantic

CLIENT = """client<llm> Model {
  provider openai
  options {
    model "m"
    api_key "none"
  }
}
"""
TYPES = """enum Color {
  RED
  BLUE
  LIGHT_BLUE
}
class Item {
  price float
  tags string[]
}
"""
RETURNS = {"GetCount": "int", "GetFlag": "bool", "GetColor": "Color", "GetConsent": '"yes" | "no"', "GetCounts": "int[]", "GetItem": "Item"}
functions = [f'function {name}(x: string) -> {type_} {{\n  client Model\n  prompt #"{{{{x}}}}"#\n}}\n' for name, type_ in RETURNS.items()]
runtime = baml_py.BamlRuntime.from_files("/baml", {"main.baml": CLIENT + TYPES + "".join(functions)}, {})
models = types.ModuleType("models")


class Color(str, enum.Enum):
    RED = "RED"
    BLUE = "BLUE"
    LIGHT_BLUE = "LIGHT_BLUE"


class Item(pydantic.BaseModel):
    price: float
    tags: list[str]


models.Color = Color
models.Item = Item


def parse(name, reply):
    context = runtime.create_context_manager()
    return runtime.parse_llm_response(name, reply, models, models, models, False, context, None, None, {})


for name, reply, expected in (
    ("GetColor", "LIGHT_BLUE", Color.LIGHT_BLUE),
    ("GetColor", "light blue", Color.BLUE),
    ("GetColor", "not RED", Color.RED),
    ("GetColor", "one hundred", Color.RED),
    ("GetFlag", "untrue", True),
    ("GetFlag", "It is not true.", True),
    ("GetConsent", "nothing", "no"),
    ("GetConsent", "eyes", "yes"),
    ("GetCount", "−5", 5),
    ("GetCount", "-5", -5),
    ("GetCount", "1,5", 15),
    ("GetCount", "2.5", 3),
    ("GetCounts", '["12%", "none", null, 3.5]', [12, 4]),
    ("GetItem", '{"price": 5}', Item(price=5, tags=[])),
    ("GetItem", '{"price":5%,"tags":["sale"]}', Item(price=5, tags=[])),
    ("GetItem", '{"price": [5, 6], "tags": ["a", null]}', Item(price=5, tags=["a"])),
):
    seen = parse(name, reply)
    print(f"{RETURNS[name]}, {reply!r}: {seen!r}")
    assert seen == expected, f"the behaviour has changed; expected {expected!r}"
try:
    parse("GetCount", "between 5 and 7")
except Exception as error:
    print(type(error).__name__)
    assert type(error).__name__ == "BamlError"
else:
    raise AssertionError("the behaviour has changed; expected an error")
PYTHON
