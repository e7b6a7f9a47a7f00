#!/usr/bin/env bash
# browsergym-core 0.14.3: actions in prose, and texts of two lines.
#
# Guess: a reply with prose around a call is refused, and a text with a line break in plain quotation marks is read.
# Seen:  a call anywhere in prose is executed, also one that the text speaks of; a text with a line break is no action
#        at all ("Received an empty action") unless it stands in triple quotation marks; a positional and a named value for
#        the same parameter pass the parser and fail only when the action runs.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet browsergym-core==0.14.3
"$folder/venv/bin/python" - <<'PYTHON'
from browsergym.core.action.highlevel import HighLevelActionSet

actions = HighLevelActionSet(subsets=["bid", "chat"], multiaction=False, strict=False)


def read(reply):
    try:
        return actions.to_python_code(reply).strip().splitlines()[-1]
    except ValueError as error:
        return f"ValueError: {error}"


expected = {
    "I will not click('5') before the page has loaded": "click('5')",
    "fill('5', 'one\ntwo')": "ValueError: Received an empty action.",
    "fill('5', '''one\ntwo''')": "fill('5', 'one\\ntwo')",
    "fill('5', 'a', value='b')": "fill('5', 'a', value='b')",
}
for reply, code in expected.items():
    print(repr(reply), "->", read(reply))
    assert read(reply) == code, f"the behaviour has changed; expected {code}"
PYTHON
