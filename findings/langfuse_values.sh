#!/usr/bin/env bash
# langfuse 5.0.4: values of inputs and outputs that are no plain JSON.
#
# Guess: a value that JSON does not have is stored as its text, or is an error.
# Seen:  Decimal("1.50") is "<Decimal>", and one tuple among its keys replaces a whole dict by the words that it is not serializable.
#        Integers of more than 53 bits are texts, as is NaN. There is no error and no warning.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langfuse==5.0.4 opentelemetry-sdk==1.45.2
"$folder/venv/bin/python" -W error::UserWarning - <<'PYTHON'
import json
import os
from decimal import Decimal

from langfuse import Langfuse
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
client = Langfuse(public_key="-", secret_key="-", base_url="http://127.0.0.1:9", tracer_provider=provider)
CASES = (
    ({"price": 1.5, "cells": (0, 1), "seen": {2}}, {"price": 1.5, "cells": [0, 1], "seen": [2]}),
    ({"price": Decimal("1.50")}, {"price": "<Decimal>"}),
    ({"board": {(0, 1): "x"}, "reward": 1}, {"board": '"<not serializable object of type: dict>"', "reward": 1}),
    ({"order": 2**53 + 1, "item": 7}, {"order": "9007199254740993", "item": 7}),
    ({"loss": float("nan")}, {"loss": "NaN"}),
)
for value, expected in CASES:
    with client.start_as_current_observation(name="step", input=value):
        pass
    seen = json.loads(exporter.get_finished_spans()[-1].attributes["langfuse.observation.input"])
    print(f"{value} is stored as {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
os._exit(0)  # the client would otherwise wait for a server
PYTHON
