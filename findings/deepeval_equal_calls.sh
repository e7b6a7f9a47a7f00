#!/usr/bin/env bash
# deepeval 4.3.1: `ToolCorrectnessMetric`, which compares tool calls without a language model.
#
# Guess: the calls that are expected score 1.
# Seen:  equal calls count once, so that three clicks on "Next page" score 1/3 when three are expected. With `should_consider_ordering`
#        they score 1, and calls in between are free: one expected call among 100 other ones also scores 1, in both modes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet deepeval==4.3.1
cd "$folder"
DEEPEVAL_TELEMETRY_OPT_OUT=YES OPENAI_API_KEY=not-used "$folder/venv/bin/python" -W ignore - <<'PYTHON'
from deepeval.metrics import ToolCorrectnessMetric
from deepeval.test_case import LLMTestCase, ToolCall, ToolCallParams


def score(called, expected, **options):
    parameters = [ToolCallParams.INPUT_PARAMETERS]
    metric = ToolCorrectnessMetric(evaluation_params=parameters, async_mode=False, include_reason=False, **options)
    case = LLMTestCase(input="Open page 4.", actual_output="Done.", tools_called=called, expected_tools=expected)
    return round(metric.measure(case, _show_indicator=False), 2)


following = ToolCall(name="click", input_parameters={"element": "Next page"})
cart = ToolCall(name="click", input_parameters={"element": "Cart"})
others = [ToolCall(name="click", input_parameters={"element": f"Delete order {number}"}) for number in range(100)]
CASES = (
    ("the two expected calls", [following, cart], [following, cart], 1, 1),
    ("an equal call twice, as expected", [following] * 2, [following] * 2, 0.5, 1),
    ("an equal call three times, as expected", [following] * 3, [following] * 3, 0.33, 1),
    ("the expected call among 100 others", [*others, cart], [cart], 1, 1),
)
for name, called, expected, any_order, in_order in CASES:
    seen = score(called, expected), score(called, expected, should_consider_ordering=True)
    print(f"{name}: {seen[0]}; with should_consider_ordering: {seen[1]}")
    assert seen == (any_order, in_order), f"the behaviour has changed; expected {any_order} and {in_order}"
PYTHON
