#!/usr/bin/env bash
# weblinx 0.3.2: actions written by `format_output_dictionary` and read by `parse_predicted_output_string`.
#
# Guess: a text that is typed comes back as it was.
# Seen:  a text of digits becomes a number, although it is in quotation marks: "007" is 7 and "1.50" is 1.5. A line break comes back
#        as a backslash and an n. A value in single quotation marks keeps them, and `click("e1")` has no element.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet weblinx==0.3.2
"$folder/venv/bin/python" - <<'PYTHON'
from weblinx.processing.outputs import parse_predicted_output_string as parse
from weblinx.utils.format import format_output_dictionary

expected = {'I said "hi", ok': 'I said "hi", ok', "$5": "$5", "007": 7, "1.50": 1.5, "one\ntwo": "one\\ntwo"}
for text, result in expected.items():
    action = format_output_dictionary({"intent": "textinput", "text": text, "uid": "e1"}, function_key="intent")
    seen = parse(action)[1]["text"]
    print(f"{action} -> {seen!r}")
    assert repr(seen) == repr(result), f"the behaviour has changed; expected {result!r}"
for action, arguments in {"click(uid='e1')": {"uid": "'e1'"}, 'click("e1")': {}}.items():
    print(f"{action} -> {parse(action)[1]}")
    assert parse(action) == ("click", arguments), f"the behaviour has changed; expected {arguments}"
PYTHON
