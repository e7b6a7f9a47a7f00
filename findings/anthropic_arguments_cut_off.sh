#!/usr/bin/env bash
# anthropic 2.14.0 and @anthropic-ai/sdk 1.14.0 (npm): the arguments of a tool call in a stream that ends at `max_tokens`.
#
# Guess: arguments that were cut off are an error, or the same in both languages, without values that are not whole.
# Seen:  neither raises. Of {"quantity": 1 the quantity is 1 in Python, also if the model was about to write 12, and missing in JavaScript; of
#        {"item": "mu the item is missing in both. NaN, or a second object after the first, is an error in JavaScript only; Python
#        keeps the first object. Only `stop_reason` shows the difference.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet anthropic==2.14.0 httpx2==2.16.2 jiter==0.19.0
cd "$folder"
npm install --silent --no-audit --no-fund @anthropic-ai/sdk@1.14.0
cat > read.mjs <<'JAVASCRIPT'
import { readFileSync } from "node:fs";

import Anthropic from "@anthropic-ai/sdk";

const results = [];
for (const stream of JSON.parse(readFileSync(0, "utf8"))) {
  const reply = new Response(stream, { headers: { "Content-Type": "text/event-stream" } });
  const client = new Anthropic({ apiKey: "none", maxRetries: 0, fetch: async () => reply });
  try {
    const request = { model: "model", max_tokens: 5, messages: [{ role: "user", content: "Buy." }] };
    results.push((await client.messages.stream(request).finalMessage()).content[0].input);
  } catch {
    results.push("ERROR");
  }
}
console.log(JSON.stringify(results));
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import json
import subprocess

import anthropic
import httpx2

CASES = (
    ('{"quantity": 12}', "{'quantity': 12}", "{'quantity': 12}"),
    ('{"quantity": 1', "{'quantity': 1}", "{}"),
    ('{"quantity": 12, "size": 4', "{'quantity': 12, 'size': 4}", "{'quantity': 12}"),
    ('{"item": "mu', "{}", "{}"),
    ('{"items": ["mug", "cu', "{'items': ['mug']}", "{'items': ['mug']}"),
    ('{"quantity": 1}{"quantity": 2}', "{'quantity': 1}", "ERROR"),
    ('{"price": NaN}', "{'price': nan}", "ERROR"),
    ('{"order": 9007199254740993}', "{'order': 9007199254740993}", "{'order': 9007199254740992}"),
)


def stream(text: str) -> str:
    message = {"id": "1", "type": "message", "role": "assistant", "model": "model", "content": [], "stop_reason": None, "stop_sequence": None}
    block = {"type": "tool_use", "id": "2", "name": "buy", "input": {}}
    events = (
        {"type": "message_start", "message": message | {"usage": {"input_tokens": 1, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": text}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens", "stop_sequence": None}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    )
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


def read(text: str) -> object:
    reply = httpx2.Response(200, headers={"Content-Type": "text/event-stream"}, text=stream(text))
    http = httpx2.Client(transport=httpx2.MockTransport(lambda request: reply))
    client = anthropic.Anthropic(api_key="none", max_retries=0, http_client=http)
    with client.messages.stream(model="model", max_tokens=5, messages=[{"role": "user", "content": "Buy."}]) as events:
        return events.get_final_message().content[0].input


streams = json.dumps([stream(text) for text, *_ in CASES])
output = subprocess.run(["node", "read.mjs"], input=streams, capture_output=True, text=True, check=True).stdout
for (text, in_python, in_javascript), javascript in zip(CASES, json.loads(output), strict=True):
    python = read(text)
    print(f"{text}\n  Python: {python}\n  JavaScript: {javascript}")
    assert str(python) == in_python, f"the behaviour has changed; expected {in_python}"
    assert str(javascript) == in_javascript, f"the behaviour has changed; expected {in_javascript}"
PYTHON
