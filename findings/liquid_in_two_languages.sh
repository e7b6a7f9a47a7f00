#!/usr/bin/env bash
# liquidjs 10.30.1 (npm) and python-liquid 2.3.6 (PyPI): one Liquid template in two languages.
#
# Guess: a prompt in Liquid is the same in both.
# Seen:  7 divided by 2 is 3.5 in JavaScript and 3 in Python. 19.99 times 100, rounded down, is 1998 and 1999; 2.5 is rounded to 3 and to 2,
#        and 1.15 to 1.2 and to 1.1. Empty fields at the end of a text that is split are dropped in JavaScript, and `concat` flattens
#        its input in Python. A price that is missing makes `sort` an error in Python.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet python-liquid==2.3.6
cd "$folder"
npm install --silent --no-audit --no-fund liquidjs@10.30.1
cat > render.mjs <<'JAVASCRIPT'
import { readFileSync } from "node:fs";

import { Liquid } from "liquidjs";

const { templates, values } = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(templates.map((template) => new Liquid().parseAndRenderSync(template, values))));
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import json
import subprocess

from liquid import Environment

VALUES = {
    "boxes": [[5, 6], [7]],
    "products": [{"name": "mug", "price": 5}, {"name": "cap"}, {"name": "hat", "price": 2.5}],
}
CASES = (  # template; in JavaScript; in Python
    ("{{ 7.0 | divided_by: 2 }}", "3.5", "3.5"),
    ("{{ products | map: 'name' | sort | join: ',' }}", "cap,hat,mug", "cap,hat,mug"),
    ("{{ 7 | divided_by: 2 }}", "3.5", "3"),
    ("{{ 10 | divided_by: 4 | times: 2 }}", "5", "4"),
    ("{{ 19.99 | times: 100 | floor }}", "1998", "1999"),
    ("{{ 2.5 | round }}", "3", "2"),
    ("{{ 1.15 | round: 1 }}", "1.2", "1.1"),
    ("{{ 'red,blue,,' | split: ',' | size }}", "2", "4"),
    ("{{ boxes | concat: boxes | size }}", "4", "5"),
    ("{{ products | sort: 'price' | map: 'name' | join: ',' }}", "hat,mug,cap", "FilterArgumentError"),
)
source = json.dumps({"templates": [template for template, *_ in CASES], "values": VALUES})
results = json.loads(subprocess.run(["node", "render.mjs"], input=source, capture_output=True, text=True, check=True).stdout)
for (template, in_javascript, in_python), other in zip(CASES, results, strict=True):
    try:
        seen = Environment().from_string(template).render(**VALUES)
    except Exception as error:
        seen = type(error).__name__
    print(f"{template}: {other} in JavaScript, {seen} in Python")
    assert other == in_javascript, f"liquidjs has changed; expected {in_javascript}"
    assert seen == in_python, f"python-liquid has changed; expected {in_python}"
PYTHON
