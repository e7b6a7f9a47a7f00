#!/usr/bin/env bash
# @huggingface/jinja 0.5.11 (npm), Jinja2 3.1.6: one chat template in a browser and in Python.
#
# Guess: the package that renders chat templates in JavaScript makes the prompt that transformers makes in Python.
# Seen:  without an error, arguments are in JSON and not as a Python dict, True is "true", None is empty, 1.0 is 1 (also with `tojson`),
#        and integers of more than 53 bits are rounded. `"1" == 1` is true, `1.0 is integer` is true, `-7 % 3` is -1, and
#        `rstrip("/")` strips white space only.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet Jinja2==3.1.6
cd "$folder"
npm install --silent --no-audit --no-fund @huggingface/jinja@0.5.11
cat > render.mjs <<'JAVASCRIPT'
import { readFileSync } from "node:fs";

import { Template } from "@huggingface/jinja";

const cases = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(cases.map(([template, variables]) => new Template(template).render(variables))));
JAVASCRIPT
"$folder/venv/bin/python" - <<'PYTHON'
import json
import subprocess

from jinja2.sandbox import ImmutableSandboxedEnvironment

CALL = {"item": "mug", "quantity": 1.0, "gift": True, "note": None, "order": 9007199254740993}
CASES = (
    ("{{ call }}", str(CALL), '{"item": "mug", "quantity": 1, "gift": true, "note": null, "order": 9007199254740992}'),
    ("{{ call | tojson }}", json.dumps(CALL), '{"item": "mug", "quantity": 1, "gift": true, "note": null, "order": 9007199254740992}'),
    ("{{ call.gift }} {{ call.note }}.", "True None.", "true ."),
    ("{{ call.quantity }}", "1.0", "1"),
    ("{% for name in call %}{{ name }} {% endfor %}", "item quantity gift note order ", "item quantity gift note order "),
    ("{{ 'a' if '1' == 1 else 'b' }}", "b", "a"),
    ("{{ 'a' if call.quantity is integer else 'b' }}", "b", "a"),
    ("{{ -7 % 3 }}", "2", "-1"),
    ("{{ 'shop/'.rstrip('/') }}", "shop", "shop/"),
)
environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
cases = json.dumps([[template, {"call": CALL}] for template, *_ in CASES])
output = subprocess.run(["node", "render.mjs"], input=cases, capture_output=True, text=True, check=True).stdout
for (template, in_python, in_javascript), seen in zip(CASES, json.loads(output), strict=True):
    python = environment.from_string(template).render(call=CALL)
    print(f"{template}\n  Python: {python}\n  JavaScript: {seen}")
    assert python == in_python
    assert seen == in_javascript, f"the behaviour has changed; expected {in_javascript}"
PYTHON
