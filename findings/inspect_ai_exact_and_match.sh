#!/usr/bin/env bash
# inspect-ai 0.3.285: the scorers exact() and match() on numbers and words.
#
# Guess: exact() distinguishes 5 from -5 and 3/4 from 34; match(), which looks at the end of a reply, compares whole words.
# Seen:  exact() removes punctuation before it compares: -5 is 5, 3/4 is 34, 10:30 is 1030 and C++ is C. match() compares
#        characters: "It is 112" and "It is -12" are right for 12, and "unknown" for "known".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet inspect-ai==0.3.285
"$folder/venv/bin/python" - <<'PYTHON'
import asyncio

from inspect_ai.model import ChatMessageUser, ModelName, ModelOutput
from inspect_ai.scorer import Target, exact, match
from inspect_ai.solver import TaskState


def score(scorer, reply, target):
    state = TaskState(
        model=ModelName("mockllm/model"),
        sample_id=1,
        epoch=1,
        input="question",
        messages=[ChatMessageUser(content="question")],
        output=ModelOutput.from_content("mockllm/model", reply),
    )
    return asyncio.run(scorer(state, Target(target))).value


expected = [
    (exact, "1.5", "15", "I"),
    (exact, "-5", "5", "C"),
    (exact, "3/4", "34", "C"),
    (exact, "10:30", "1030", "C"),
    (exact, "C++", "C", "C"),
    (match, "It is 13", "12", "I"),
    (match, "It is 112", "12", "C"),
    (match, "It is -12", "12", "C"),
    (match, "unknown", "known", "C"),
]
for scorer, reply, target, result in expected:
    seen = score(scorer(), reply, target)
    print(f"{scorer.__name__}(): reply {reply!r}, target {target!r}: {'correct' if seen == 'C' else 'incorrect'}")
    assert seen == result, f"the behaviour has changed; expected {result}"
PYTHON
