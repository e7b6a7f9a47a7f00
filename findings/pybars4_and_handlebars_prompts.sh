#!/usr/bin/env bash
# pybars4 0.9.13 (PyPI) and handlebars 4.7.10 (npm): one Handlebars template in two languages. semantic-kernel uses pybars4 for its prompts.
#
# Guess: a prompt in Handlebars is the same in both, apart from the form of lists and objects.
# Seen:  in Python a list at the end of a template has no line breaks: "- mug- cap". A block of the number 0 is written in JavaScript only,
#        `#with` of null and `#each` of a text in Python only, and an empty object is true in JavaScript. "&" is "&amp;" in
#        JavaScript only, and a missing value is an error in Python.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pybars4==0.9.13
cd "$folder"
npm install --silent --no-audit --no-fund handlebars@4.7.10
cat > render.mjs <<'JAVASCRIPT'
import { readFileSync } from "node:fs";

import Handlebars from "handlebars";

const { templates, values } = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(templates.map((template) => Handlebars.compile(template)(values))));
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import json
import subprocess

from pybars import Compiler, PybarsError

VALUES = {
    "products": [{"name": "mug", "stock": 3}, {"name": "cap", "stock": 0}],
    "goal": "Mugs & caps",
    "reward": 0,
    "cart": {},
    "error": None,
}
CASES = (  # template; in JavaScript; in Python
    ("{{#each products}}{{@index}}{{name}};{{/each}}", "0mug;1cap;", "0mug;1cap;"),
    ("{{#if reward}}yes{{else}}no{{/if}}", "no", "no"),
    ("{{#each products}}\n- {{name}}\n{{/each}}\nEnd", "- mug\n- cap\nEnd", "- mug\n- cap\nEnd"),
    ("Cart:\n{{#each products}}\n- {{name}}\n{{/each}}", "Cart:\n- mug\n- cap\n", "Cart:\n- mug- cap"),
    ("{{#reward}}The reward is {{this}}.{{/reward}}", "The reward is 0.", ""),
    ("{{^reward}}No reward.{{/reward}}", "", "No reward."),
    ("{{#with error}}There was an error.{{/with}}", "", "There was an error."),
    ("{{#each goal}}*{{/each}}", "", "***********"),
    ("{{#if cart}}full{{else}}empty{{/if}}", "full", "empty"),
    ("{{goal}}", "Mugs &amp; caps", "Mugs & caps"),
    ("{{price}}", "", "PybarsError"),
)
source = json.dumps({"templates": [template for template, *_ in CASES], "values": VALUES})
results = json.loads(subprocess.run(["node", "render.mjs"], input=source, capture_output=True, text=True, check=True).stdout)
for (template, in_javascript, in_python), other in zip(CASES, results, strict=True):
    try:
        seen = str(Compiler().compile(template)(VALUES))
    except PybarsError as error:
        seen = type(error).__name__
    print(f"{template!r}: {other!r} in JavaScript, {seen!r} in Python")
    assert other == in_javascript, f"handlebars has changed; expected {in_javascript!r}"
    assert seen == in_python, f"pybars4 has changed; expected {in_python!r}"
PYTHON
