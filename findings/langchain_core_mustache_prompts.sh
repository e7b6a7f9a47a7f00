#!/usr/bin/env bash
# langchain-core 1.8.3 and @langchain/core 1.4.0 (npm): one prompt template with `template_format="mustache"` in two languages.
#
# Guess: a template and its values are one prompt in Python and in JavaScript, and the values are in it as they are.
# Seen:  in Python HTML of a page is escaped: "<b>" is "&lt;b&gt;" and a quotation mark "&quot;"; in JavaScript it is not. In a list Python
#        leaves out each item that is 0, an empty text, None or an empty dict: the rewards 0, 1 and 0.5 are "1 0.5". An empty dict is true
#        in JavaScript only, a dict is "[object Object]" there, and the names within a section are variables of the template.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langchain-core==1.8.3
cd "$folder"
npm install --silent --no-audit --no-fund @langchain/core@1.4.0
cat > format.mjs <<'JAVASCRIPT'
import { readFileSync } from "node:fs";

import { PromptTemplate } from "@langchain/core/prompts";

const prompts = JSON.parse(readFileSync(0, "utf8")).map(async ([text, values]) => {
  const template = PromptTemplate.fromTemplate(text, { templateFormat: "mustache" });
  return [await template.format(values), template.inputVariables];
});
console.log(JSON.stringify(await Promise.all(prompts)));
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import json
import subprocess

from langchain_core.prompts import PromptTemplate

CASES = (
    ("{{page}}", {"page": "Mug"}, "Mug", "Mug"),
    ("{{page}}", {"page": '<b title="5">'}, "&lt;b title=&quot;5&quot;&gt;", '<b title="5">'),
    ("{{{page}}}", {"page": "<b>"}, "<b>", "<b>"),
    ("{{#rewards}}{{.}} {{/rewards}}", {"rewards": [0, 1, 0.5]}, "1 0.5 ", "0 1 0.5 "),
    ("{{#cart}}{{total}}{{/cart}}", {"cart": {"total": 0}}, "0", "0"),
    ("{{#cart}}full{{/cart}}{{^cart}}empty{{/cart}}", {"cart": {}}, "empty", "full"),
    ("{{cart}}", {"cart": {"mug": 1}}, "{'mug': 1}", "[object Object]"),
    ("{{done}}", {"done": False}, "False", "false"),
)
cases = json.dumps([[template, values] for template, values, *_ in CASES])
output = subprocess.run(["node", "format.mjs"], input=cases, capture_output=True, text=True, check=True).stdout
for (text, values, in_python, in_javascript), (javascript, names) in zip(CASES, json.loads(output), strict=True):
    template = PromptTemplate.from_template(text, template_format="mustache")
    python = template.format(**values)
    print(f"{text}, {values}\n  Python: {python!r}, names {template.input_variables}\n  JavaScript: {javascript!r}, names {names}")
    assert python == in_python, f"the behaviour has changed; expected {in_python!r}"
    assert javascript == in_javascript, f"the behaviour has changed; expected {in_javascript!r}"
    if text.startswith("{{#cart}}{{total}}"):
        assert (template.input_variables, names) == (["cart"], ["cart", "total"]), "the behaviour has changed"
PYTHON
