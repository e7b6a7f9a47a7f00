#!/usr/bin/env bash
# google-genai 3.6.1: automatic function calling with parameters of a fixed set of values.
#
# Guess: a call with a value that the declaration of the function lists is executed.
# Seen:  each call with an argument for a Literal is a TypeError, and each one for an enum an UnknownFunctionCallArgumentError, whatever the
#        value is. An Optional Literal is declared as a text without its values. Misspelled arguments are dropped.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet google-genai==3.6.1
"$folder/venv/bin/python" - <<'PYTHON'
import enum
from typing import Literal, Optional

from google.genai import types
from google.genai._extra_utils import invoke_function_from_dict_args


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


def choose_literal(color: Literal["red", "blue"] = "red", size: int = 5):
    return f"{color} {size}"


def choose_enum(color: Color):
    return color


def choose_optional(color: Optional[Literal["red", "blue"]] = None):
    return color


for function, arguments, values, expected in (
    (choose_literal, {"size": 7}, ["red", "blue"], "red 7"),
    (choose_literal, {"sise": 7}, ["red", "blue"], "red 5"),
    (choose_literal, {"color": "blue"}, ["red", "blue"], "TypeError"),
    (choose_enum, {"color": "blue"}, ["red", "blue"], "UnknownFunctionCallArgumentError"),
    (choose_optional, {"color": "blue"}, None, "TypeError"),
):
    declaration = types.FunctionDeclaration.from_callable_with_api_option(callable=function, api_option="GEMINI_API")
    declared = declaration.parameters.properties["color"].enum
    try:
        seen = invoke_function_from_dict_args(arguments, function)
    except Exception as error:
        seen = type(error).__name__
    print(f"{function.__name__}, declared values {declared}, called with {arguments}: {seen}")
    assert declared == values, f"the behaviour has changed; expected {values}"
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
