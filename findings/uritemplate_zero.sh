#!/usr/bin/env bash
# uritemplate 4.2.0 and url-template 3.1.1 (npm): RFC 6570 templates of addresses, in Python and in JavaScript.
#
# Guess: both make the same address of a template and its values.
# Seen:  in Python, which accepts integers in its types, the page 0 of "{?page}" is "page=", although it is 0 in "{page}" and in a
#        list; null in a list is the text "None"; and "{+path}" leaves the blanks of a text as they are if it contains "%20". In
#        JavaScript an empty list is "page=" instead of nothing, and "{+path}" of a list of numbers is an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet uritemplate==4.2.0
cd "$folder"
npm install --silent --no-audit --no-fund url-template@3.1.1
cat > expand.mjs <<'JAVASCRIPT'
import { readFileSync } from "node:fs";

import { parseTemplate } from "url-template";

const results = JSON.parse(readFileSync(0, "utf8")).map(([template, value]) => {
  try {
    return parseTemplate(template).expand({ x: value });
  } catch {
    return "ERROR";
  }
});
console.log(JSON.stringify(results));
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import json
import subprocess

from uritemplate import expand

CASES = (
    ("/items{?x}", 1, "/items?x=1", "/items?x=1"),
    ("/items{?x}", 0, "/items?x=", "/items?x=0"),
    ("/items?size=20{&x}", 0, "/items?size=20&x=", "/items?size=20&x=0"),
    ("/items/{x}", 0, "/items/0", "/items/0"),
    ("/items{?x*}", [0, 1], "/items?x=0&x=1", "/items?x=0&x=1"),
    ("/items{?x}", [None, 1], "/items?x=None,1", "/items?x=1"),
    ("/items{?x}", [], "/items", "/items?x="),
    ("/{+x}", "red mug", "/red%20mug", "/red%20mug"),
    ("/{+x}", "red mug/50%20off", "/red mug/50%20off", "/red%20mug/50%20off"),
    ("/{+x}", ["1", "2"], "/1,2", "/1,2"),
    ("/{+x}", [1, 2], "/1,2", "ERROR"),
)
cases = json.dumps([[template, value] for template, value, *_ in CASES])
output = subprocess.run(["node", "expand.mjs"], input=cases, capture_output=True, text=True, check=True).stdout
for (template, value, in_python, in_javascript), javascript in zip(CASES, json.loads(output), strict=True):
    python = expand(template, x=value)
    print(f"{template}, {value!r}: {python} in Python, {javascript} in JavaScript")
    assert python == in_python, f"the behaviour has changed; expected {in_python}"
    assert javascript == in_javascript, f"the behaviour has changed; expected {in_javascript}"
PYTHON
