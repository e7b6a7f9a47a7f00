#!/usr/bin/env bash
# polyfactory 3.5.0: numbers that a ModelFactory draws for fields with constraints.
#
# Guess: `multiple_of=5` between 0 and 100 draws the multiples in it, as the integers between 0 and 100 are drawn, and each model is valid.
# Seen:  each of 1,000 models has the same multiple: 5 between 0 and 100, and 0.01 as a price of cents. Between 12 and 100 it is 10, which is a
#        ValidationError. A number of at least 0 without an upper bound is one of 0 to 9.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet polyfactory==3.5.0 pydantic==2.14.4
"$folder/venv/bin/python" - <<'PYTHON'
from polyfactory.factories.pydantic_factory import ModelFactory
from pydantic import Field, ValidationError, create_model


def values(kind, constraints):
    model = create_model("Product", value=(kind, Field(**constraints)))
    factory = ModelFactory.create_factory(model)
    factory.seed_random(1)
    return sorted({factory.build().value for _ in range(1000)})


for kind, constraints, expected in (
    (int, {"ge": 0, "le": 100}, list(range(101))),
    (int, {"ge": 0, "le": 100, "multiple_of": 5}, [5]),
    (int, {"ge": 50, "le": 1000, "multiple_of": 5}, [50]),
    (float, {"ge": 0, "le": 100, "multiple_of": 0.01}, [0.01]),
    (float, {"ge": 0, "le": 5, "multiple_of": 0.5}, [0.5]),
    (int, {"ge": 0}, list(range(10))),
):
    seen = values(kind, constraints)
    print(f"{kind.__name__}, {constraints}: {len(seen)} different values from {seen[0]} to {seen[-1]}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
try:
    values(int, {"ge": 12, "le": 100, "multiple_of": 5})
except ValidationError as error:
    print(f"int from 12 to 100, multiples of 5: {error.errors()[0]['msg']}, got {error.errors()[0]['input']}")
    assert error.errors()[0]["input"] == 10, "the behaviour has changed"
else:
    raise AssertionError("the behaviour has changed; expected a ValidationError")
PYTHON
