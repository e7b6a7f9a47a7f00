#!/usr/bin/env bash
# jmespath 0.16.0 (npm) and jmespath 1.1.0 (PyPI): products that a filter selects.
#
# Guess: <, <=, > and >= are true for numbers only; with any other type they are null, as the specification states, in both languages.
# Seen:  in JavaScript products without a price, or with null, cost less than 5, and the text "50" is more than 5. In Python they
#        are not selected, but one price that is a text makes the query a TypeError, and texts are compared with texts.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet jmespath==1.1.0
cd "$folder"
npm install --silent --no-audit --no-fund jmespath@0.16.0
cat > search.cjs <<'JAVASCRIPT'
const { search } = require("jmespath");

const cases = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(cases.map(([query, data]) => search(data, query))));
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import json
import subprocess

import jmespath

PRICES = [{"n": "mug", "p": 9.5}, {"n": "cup", "p": 0}, {"n": "hat", "p": None}, {"n": "jar"}, {"n": "pen", "p": False}]
TEXTS = [{"n": "mug", "p": 9.5}, {"n": "bag", "p": "50"}]
CASES = (  # query, data; products by the specification, in JavaScript and in Python
    ("[?p == `9.5`].n", PRICES, "mug", "mug", "mug"),
    ("[?p > `5`].n", PRICES, "mug", "mug", "mug"),
    ("[?p < `5`].n", PRICES, "cup", "cup hat jar pen", "cup"),
    ("[?p <= `0`].n", PRICES, "cup", "cup hat jar pen", "cup"),
    ("[?p > `5`].n", TEXTS, "mug", "mug bag", "TypeError"),
    ("[?p < '6'].n", TEXTS[1:], "", "bag", "bag"),
)
output = subprocess.run(["node", "search.cjs"], input=json.dumps([case[:2] for case in CASES]), capture_output=True, text=True, check=True).stdout
for (query, data, specification, *expected), names in zip(CASES, json.loads(output), strict=True):
    try:
        in_python = " ".join(jmespath.search(query, data))
    except TypeError:
        in_python = "TypeError"
    seen = [" ".join(names), in_python]
    print(f"{query}: specification {specification or 'nothing'}; JavaScript {seen[0]}; Python {seen[1]}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
