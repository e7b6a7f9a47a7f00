#!/usr/bin/env bash
# semantic-kernel 1.45.0: arguments of a function that a model calls.
#
# Guess: arguments are converted as pydantic does, and those that do not fit are an error.
# Seen:  the type is called with the value: "false" and "no" are True for a parameter of type bool, 5.7 is 5 for an int, and null is
#        the text "None" for a str. A misspelled argument is dropped, and the function runs with the default. "abc" for an int is
#        an error, as is a missing argument. The message of either names the function only.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet semantic-kernel==1.45.0 pydantic==2.11.10
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import asyncio
import logging

from semantic_kernel import Kernel
from semantic_kernel.exceptions import KernelInvokeException
from semantic_kernel.functions import KernelArguments, kernel_function

logging.disable(logging.CRITICAL)


class Shop:
    @kernel_function(name="find")
    def find(self, name: str, count: int = 3, in_stock: bool = False) -> str:
        return repr((name, count, in_stock))


kernel = Kernel()
kernel.add_plugin(Shop(), "shop")


def call(**arguments):
    return asyncio.run(kernel.invoke(plugin_name="shop", function_name="find", arguments=KernelArguments(**arguments))).value


for arguments, expected in (
    ({"name": "bag"}, ("bag", 3, False)),
    ({"name": "bag", "in_stock": "false"}, ("bag", 3, True)),
    ({"name": "bag", "in_stock": "no"}, ("bag", 3, True)),
    ({"name": "bag", "in_stock": False}, ("bag", 3, False)),
    ({"name": "bag", "count": 5.7}, ("bag", 5, False)),
    ({"name": "bag", "cuont": 5}, ("bag", 3, False)),
    ({"name": None}, ("None", 3, False)),
    ({"name": 5}, ("5", 3, False)),
):
    seen = call(**arguments)
    print(f"{arguments}: {seen}")
    assert seen == repr(expected), f"the behaviour has changed; expected {expected}"
for arguments in ({"name": "bag", "count": "abc"}, {}):
    try:
        call(**arguments)
    except KernelInvokeException as error:
        print(f"{arguments}: {error}")
        assert str(error) == "Error occurred while invoking function: 'shop-find'"
    else:
        raise AssertionError("the behaviour has changed; expected a KernelInvokeException")
PYTHON
