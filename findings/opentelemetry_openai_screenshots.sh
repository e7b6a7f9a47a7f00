#!/usr/bin/env bash
# opentelemetry-instrumentation-openai 0.62.4, openai 3.57.0: spans of calls whose history contains a screenshot.
#
# Guess: a span contains the messages, with the image or without it.
# Seen:  one image as a data URL anywhere in the history removes all messages from the span, the goal and the earlier actions among them,
#        without an error or a log message. An image with an https address, and audio, are recorded.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet opentelemetry-instrumentation-openai==0.62.4 opentelemetry-sdk==1.45.2 openai==3.57.0
"$folder/venv/bin/python" - <<'PYTHON'
import json
import logging

import httpx2
import openai
from opentelemetry.instrumentation.openai import OpenAIInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

records = []
logging.getLogger().addHandler(type("Records", (logging.Handler,), {"emit": lambda self, record: records.append(record)})())
exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
OpenAIInstrumentor().instrument(tracer_provider=provider)
reply = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "click 2"}, "finish_reason": "stop"}],
}
transport = httpx2.MockTransport(lambda request: httpx2.Response(200, json=reply))
client = openai.OpenAI(api_key="-", base_url="http://localhost/v1", http_client=httpx2.Client(transport=transport))


def recorded(part):
    history = [
        {"role": "system", "content": "Buy the red mug."},
        {"role": "user", "content": "The page has 3 links."},
        {"role": "assistant", "content": "click 1"},
        {"role": "user", "content": [{"type": "text", "text": "The page has 2 buttons."}, *([part] if part else [])]},
    ]
    exporter.clear()
    client.chat.completions.create(model="m", messages=history)
    [span] = exporter.get_finished_spans()
    return len(json.loads(span.attributes.get("gen_ai.input.messages", "[]")))


CASES = (
    ("text only", None, 4),
    ("an image with an address", {"type": "image_url", "image_url": {"url": "https://shop.example/mug.png"}}, 4),
    ("audio", {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}, 4),
    ("a screenshot as a data URL", {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}, 0),
)
for name, part, expected in CASES:
    seen = recorded(part)
    print(f"{name}: {seen} of 4 messages in the span")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
warnings = [record.getMessage() for record in records if record.levelno >= logging.WARNING]
print(f"warnings: {warnings}")
assert warnings == [], "the behaviour has changed"
PYTHON
