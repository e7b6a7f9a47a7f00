#!/usr/bin/env bash
# ragas 0.4.3 (with langchain-community 0.3.31, as newer ones cannot be imported): metrics that need no language model.
#
# Guess: equal texts and equal calls have the score 1, other ones less.
# Seen:  BLEU of "the red bag" and itself is 0, as of all texts of fewer than four words. `ToolCallAccuracy` is 1 with an argument too
#        many and with "1" for 1. `ToolCallF1` is 1 if the call is made twice, and 0 if no call is made and none expected.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet ragas==0.4.3 langchain-community==0.3.31 sacrebleu==2.6.0
"$folder/venv/bin/python" - <<'PYTHON'
import asyncio
import os
import warnings

os.environ["RAGAS_DO_NOT_TRACK"] = "true"
warnings.simplefilter("ignore")
from ragas.dataset_schema import MultiTurnSample, SingleTurnSample  # noqa: E402
from ragas.messages import AIMessage, HumanMessage, ToolCall  # noqa: E402
from ragas.metrics import BleuScore, ToolCallAccuracy, ToolCallF1  # noqa: E402

for text, score in {"the red bag": 0, "the red bag costs five dollars": 1}.items():
    seen = asyncio.run(BleuScore().single_turn_ascore(SingleTurnSample(response=text, reference=text)))
    print(f"BLEU of {text!r} and itself: {seen:.2f}")
    assert round(seen, 2) == score, f"the behaviour has changed; expected {score}"


def scores(arguments, expected_arguments):
    calls = [ToolCall(name="click", args=values) for values in arguments]
    conversation = [HumanMessage(content="Click."), AIMessage(content="", tool_calls=calls)]
    expected = [ToolCall(name="click", args=values) for values in expected_arguments]
    sample = MultiTurnSample(user_input=conversation, reference_tool_calls=expected)
    return tuple(asyncio.run(metric().multi_turn_ascore(sample)) for metric in (ToolCallAccuracy, ToolCallF1))


cases = [
    ([{"id": 1}], [{"id": 1}], (1, 1)),
    ([{"id": 1, "double": True}], [{"id": 1}], (1, 0)),
    ([{"id": "1"}], [{"id": 1}], (1, 0)),
    ([{"id": 1}, {"id": 1}], [{"id": 1}], (0, 1)),
    ([], [], (1, 0)),
]
for arguments, expected_arguments, result in cases:
    seen = scores(arguments, expected_arguments)
    print(f"calls {arguments}, expected {expected_arguments}: accuracy {seen[0]}, F1 {seen[1]}")
    assert seen == result, f"the behaviour has changed; expected {result}"
PYTHON
