#!/usr/bin/env bash
# outlines 1.3.3: the regular expressions of Python types as output types.
#
# Guess: a model can write each value of the type, in the form in which it is written elsewhere: an empty list, a text with any character,
#        an address with capitals, a time as in ISO 8601.
# Seen:  `list[int]` has no empty list, so that a model must invent an element; `dict[str, int]` and the list of a pydantic model may be
#        empty. A `str` cannot contain a quotation mark. A dict with Booleans is `{"sold":True}`, which is no JSON. An email has small letters
#        only, a datetime has a blank and no "T", and February 30 is a date.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet outlines==1.3.3
"$folder/venv/bin/python" - <<'PYTHON'
import datetime
import re

from outlines.types import email
from outlines.types.dsl import python_types_to_terms, to_regex
from pydantic import BaseModel


class Cart(BaseModel):
    items: list[int]


for name, output_type, text, expected in (
    ("list[int]", list[int], "[1, 2]", True),
    ("list[int]", list[int], "[]", False),
    ("dict[str, int]", dict[str, int], "{}", True),
    ("a model with list[int]", Cart, '{"items": []}', True),
    ("str", str, '"a red bag"', True),
    ("str", str, '"a \\"red\\" bag"', False),
    ("dict[str, bool]", dict[str, bool], '{"sold":true}', False),
    ("dict[str, bool]", dict[str, bool], '{"sold":True}', True),
    ("email", email, "ann@shop.example", True),
    ("email", email, "Ann@shop.example", False),
    ("datetime", datetime.datetime, "2024-05-06 10:30:00", True),
    ("datetime", datetime.datetime, "2024-05-06T10:30:00", False),
    ("date", datetime.date, "2024-02-30", True),
):
    seen = re.fullmatch(to_regex(python_types_to_terms(output_type)), text) is not None
    print(f"{name}: {text} is {'possible' if seen else 'impossible'}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
