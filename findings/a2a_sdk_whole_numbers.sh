#!/usr/bin/env bash
# a2a-sdk 1.3.0: whole numbers in the data of a message.
#
# Guess: `get_data_parts` returns the JSON value that `new_data_message` was given.
# Seen:  every number is a float, since the data is a protobuf value. 3 becomes 3.0, which is no index of a list and is "3.0" in an
#        address; 9007199254740993 becomes 9007199254740992.0. The JSON that is sent contains 3.0, too. Texts stay.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet a2a-sdk==1.3.0
"$folder/venv/bin/python" - <<'PYTHON'
from a2a.helpers import get_data_parts, new_data_message
from google.protobuf.json_format import MessageToDict

given = {"index": 3, "issue": 9007199254740993, "counts": [5, 1.5], "closed": True, "label": "3", "milestone": None}
message = new_data_message(given)
[seen] = get_data_parts(message.parts)
for key, value in given.items():
    print(f"{key}: {value!r} -> {seen[key]!r}")
expected = {"index": 3.0, "issue": 9007199254740992.0, "counts": [5.0, 1.5], "closed": True, "label": "3", "milestone": None}
assert {key: repr(value) for key, value in seen.items()} == {key: repr(value) for key, value in expected.items()}
assert repr(MessageToDict(message)["parts"][0]["data"]["index"]) == "3.0"
assert f"/issues/{seen['index']}" == "/issues/3.0"
try:
    ["a", "b", "c", "d"][seen["index"]]
except TypeError as error:
    print(error)
else:
    raise AssertionError("the behaviour has changed; expected a TypeError")
PYTHON
