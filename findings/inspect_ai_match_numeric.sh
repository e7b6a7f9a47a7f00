#!/usr/bin/env bash
# inspect-ai 0.3.285: match(numeric=True) with units, and with two numbers.
#
# Guess: "12%" and "12km" match the target "12", since "$" and "€" are accepted; "1,7" does not read as one number.
# Seen:  "$46.50" and "€46.50" match "46.5", but "12%" and "12km" match nothing; the list "1,7" is read as the number 17.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet inspect-ai==0.3.285
"$folder/venv/bin/python" - <<'PYTHON'
import asyncio

from inspect_ai.model import ChatMessageUser, ModelName, ModelOutput
from inspect_ai.scorer import Target, match
from inspect_ai.solver import TaskState

score = match(numeric=True)


def is_right(target, output):
    state = TaskState(
        model=ModelName("mockllm/model"), sample_id=1, epoch=1, input="?", messages=[ChatMessageUser(content="?")],
        output=ModelOutput.from_content("mockllm/model", output),
    )
    return asyncio.run(score(state, Target(target))).value == "C"


expected = {
    ("46.5", "$46.50"): True, ("46.5", "€46.50"): True, ("12", "12%"): False, ("12", "12km"): False, ("17", "1,7"): True, ("7", "1,7"): False,
}
seen = {pair: is_right(*pair) for pair in expected}
for (target, output), right in seen.items():
    print(f"target {target!r}, output {output!r}: {'right' if right else 'wrong'}")
assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
