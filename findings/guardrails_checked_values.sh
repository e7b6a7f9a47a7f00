#!/usr/bin/env bash
# guardrails-ai 0.11.0: replies that a guard made from a pydantic model checks.
#
# Guess: a reply passes `Guard.for_pydantic(Model)` if `Model` accepts it, and the output is valid for `Model`.
# Seen:  validators of the model are not called. A boolean field is True for "no" and "false", which pydantic reads as False. A date
#        field accepts "soon", 7.5 is 7 in an integer field (also in lists and in `int | str`), and "[1]" is a list. Keys with null
#        are removed, so that the output lacks a required field that may be None. Each of these replies has `validation_passed`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet guardrails-ai==0.11.0 pydantic==2.14.4
HOME="$folder" "$folder/venv/bin/python" -W ignore - <<'PYTHON'
import datetime
import json
import logging
from typing import Optional, Union

from guardrails import Guard
from pydantic import BaseModel, ValidationError, create_model, field_validator

logging.disable(logging.CRITICAL)


def accepts(model, value):
    try:
        model.model_validate({"x": value})
    except ValidationError:
        return False
    return True


class Even(BaseModel):
    x: int

    @field_validator("x")
    @classmethod
    def check(cls, value):
        if value % 2:
            raise ValueError(f"{value} is odd")
        return value


def model(type_):
    return create_model("Reply", x=(type_, ...))


for reply_model, value, expected in (
    (model(bool), False, {"x": False}),
    (model(bool), "no", {"x": True}),
    (model(bool), "false", {"x": True}),
    (model(datetime.date), "soon", {"x": "soon"}),
    (model(int), 7.5, {"x": 7}),
    (model(int), "abc", None),
    (model(list[int]), [1, 2.5], {"x": [1, 2]}),
    (model(list[int]), "[1]", {"x": [1]}),
    (model(Union[int, str]), 7.5, {"x": 7}),
    (model(Optional[int]), None, {}),
    (Even, 11, {"x": 11}),
):
    outcome = Guard.for_pydantic(reply_model).parse(json.dumps({"x": value}))
    seen = outcome.validated_output if outcome.validation_passed else None
    print(f"{reply_model.model_fields['x'].annotation}, {value!r}: pydantic {accepts(reply_model, value)}, guardrails {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
