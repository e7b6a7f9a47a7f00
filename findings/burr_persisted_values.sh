#!/usr/bin/env bash
# apache-burr 0.43.0: values of a state after an application is built again from its persister.
#
# Guess: an action reads the value that the action before it wrote, whether the application was built again between them or not; what
#        cannot be stored is an error.
# Seen:  what is no plain JSON becomes its text, without an error: a tuple is "(1, 2)", bytes are "b'ab'", a date and a Decimal are
#        texts, NumPy's integer 3 is "3", and its False is the text "False", which is true. Integer keys become texts.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet apache-burr==0.43.0 numpy==2.4.6
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import datetime
import decimal
import sys
import uuid
from pathlib import Path

import numpy as np
from burr.core import ApplicationBuilder, State, action
from burr.core.persistence import SQLitePersister


@action(reads=[], writes=["value"])
def write(state: State, value: object) -> State:
    return state.update(value=value)


@action(reads=["value"], writes=["seen"])
def read(state: State) -> State:
    return state.update(seen=state["value"])


def read_value(value, rebuilt):
    persister = SQLitePersister(str(Path(sys.argv[1]) / f"{uuid.uuid4()}.db"), "states")
    persister.initialize()

    def build():
        builder = ApplicationBuilder().with_actions(write, read).with_transitions(("write", "read")).with_identifiers(app_id="1")
        start = {"resume_at_next_action": True, "default_state": {}, "default_entrypoint": "write"}
        return builder.initialize_from(persister, **start).with_state_persister(persister).build()

    application = build()
    application.step(inputs={"value": value})
    if rebuilt:
        application = build()
    application.step(inputs={})
    return application.state["seen"]


for value, expected in (
    (3, 3),
    ([0.5, None, "a"], [0.5, None, "a"]),
    ((1, 2), "(1, 2)"),
    ([("click", 5)], ["('click', 5)"]),
    ({1}, "{1}"),
    (b"ab", "b'ab'"),
    ({5: "link"}, {"5": "link"}),
    (datetime.date(2026, 1, 5), "2026-01-05"),
    (decimal.Decimal("1.50"), "1.50"),
    (np.float64(0.5), 0.5),
    (np.float32(0.5), "0.5"),
    (np.int64(3), "3"),
    (np.bool_(False), "False"),
    (np.array([1, 2]), "[1 2]"),
):
    direct, seen = read_value(value, False), read_value(value, True)
    print(f"{direct!r} is read as {seen!r}")
    assert type(direct) is type(value), "the behaviour without a new application has changed"
    assert np.array_equal(direct, value), "the behaviour without a new application has changed"
    assert type(seen) is type(expected), f"the behaviour has changed; expected {expected!r}"
    assert seen == expected, f"the behaviour has changed; expected {expected!r}"
PYTHON
