#!/usr/bin/env bash
# camel-ai 0.2.90: BaseExtractor, which takes the final answer from a reply before a verifier compares it.
#
# Guess: the last \boxed is the answer, and two tuples are the same answer if their elements are equal, one by one.
# Seen:  the first \boxed is. The elements of tuples and lists are sorted by their texts: the coordinates (640, 80) are (80, 640), and
#        the list of steps ['second', 'first'] is ['first', 'second'].
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet camel-ai==0.2.90
"$folder/venv/bin/python" - <<'PYTHON'
import asyncio

from camel.extractors import BaseExtractor, BoxedStrategy, PythonDictStrategy, PythonListStrategy, PythonTupleStrategy


async def extract(reply):
    literals = [PythonTupleStrategy(), PythonListStrategy(), PythonDictStrategy()]
    for pipeline in ([[BoxedStrategy()], literals], [[BoxedStrategy()]]):
        extractor = BaseExtractor(pipeline=pipeline)
        await extractor.setup()
        try:
            answer = await extractor.extract(reply)
        finally:
            await extractor.cleanup()
        if answer is not None:
            return answer


for reply, expected in (
    (r"It is \boxed{5}.", "5"),
    (r"I thought of \boxed{5}, but it is \boxed{6}.", "5"),
    (r"\boxed{(80, 640)}", "(640, 80)"),
    (r"\boxed{(640, 80)}", "(640, 80)"),
    (r"\boxed{[1, 10, 2]}", "[1, 10, 2]"),
    (r"\boxed{[2, 10, 1]}", "[1, 10, 2]"),
    (r"\boxed{['second', 'first']}", "['first', 'second']"),
):
    answer = asyncio.run(extract(reply))
    print(f"{reply}: {answer!r}")
    assert answer == expected, f"the behaviour has changed; expected {expected!r}"
PYTHON
