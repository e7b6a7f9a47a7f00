#!/usr/bin/env bash
# agentlightning 0.3.0 (the last version for Python 3.11): two rewards after the last call of a model.
#
# Guess: with the default policy, "the first reward in chronological order after the current LLM call", the second reward changes nothing,
#        or the last call has the last reward, as `find_final_reward` returns it.
# Seen:  the last call has the first reward, and the second reward is assigned backwards, to the call before, although an earlier reward
#        follows that one. After three calls and the rewards 0.1 (a partial one) and 1.0 (the final one) the calls have None, 1.0 and 0.1;
#        with a single call the final reward is dropped.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet agentlightning==0.3.0
export LITELLM_LOCAL_MODEL_COST_MAP=True  # no request for a table of prices
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
from agentlightning.adapter import LlmProxyTraceToTriplet, TracerTraceToTriplet
from agentlightning.emitter.reward import emit_reward, find_final_reward
from agentlightning.types import Span


def trace(call_name, events):
    """Return the spans of one rollout: an event is None for a call of the model, or a reward."""
    spans = []

    def add(name, start, end, attributes, parent="root"):
        spans.append(
            Span.from_attributes(
                rollout_id="rollout",
                attempt_id="attempt",
                sequence_id=len(spans),
                trace_id="trace",
                span_id="root" if parent is None else f"span{len(spans)}",
                parent_id=parent,
                name=name,
                attributes=attributes,
                start_time=start,
                end_time=end,
            )
        )

    add("agent", 0.0, 100.0, {}, parent=None)
    for time, reward in enumerate(events, start=1):
        if reward is None:
            tokens = {"prompt_token_ids": [time], "response_token_ids": [time], "gen_ai.response.id": f"response{time}"}
            add(call_name, time, time + 0.5, tokens)
        else:
            emitted = emit_reward(reward, propagate=False)
            add(emitted.name, time, time + 0.5, dict(emitted.attributes))
    return spans


CASES = (
    ([None, 0.1, None, 1.0], [0.1, 1.0]),
    ([None, None, 0.1, 1.0], [1.0, 0.1]),
    ([None, None, None, 0.1, 1.0], [None, 1.0, 0.1]),
    ([None, 0.1, 1.0], [0.1]),
)
for events, expected in CASES:
    for adapter, call_name in ((TracerTraceToTriplet(), "openai.chat.completion"), (LlmProxyTraceToTriplet(), "litellm_request")):
        spans = trace(call_name, events)
        seen = [triplet.reward for triplet in adapter.adapt(spans)]
        text = ", ".join("call" if event is None else f"reward {event}" for event in events)
        print(f"{text}: {type(adapter).__name__} {seen}, find_final_reward {find_final_reward(spans)}")
        assert seen == expected, f"the behaviour has changed; expected {expected}"
        assert find_final_reward(spans) == 1.0
PYTHON
