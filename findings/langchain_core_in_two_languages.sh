#!/usr/bin/env bash
# langchain-core 1.8.3 and @langchain/core 1.4.0 (npm): output parsers of one name, in Python and in JavaScript.
#
# Guess: a parser returns the same in both languages.
# Seen:  JSON that was cut off is completed in Python and an error in JavaScript, XML that was cut off the reverse. Of text with elements
#        in it, Python keeps the text before the first one, JavaScript the elements. A quoted item of a list is one item or two, lines
#        are items or not, and an empty reply is no item or an empty one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langchain-core==1.8.3 defusedxml==0.7.1
cd "$folder"
npm install --silent --no-audit --no-fund @langchain/core@1.4.0
cat > parse.mjs <<'JAVASCRIPT'
import { readFileSync } from "node:fs";

import { CommaSeparatedListOutputParser, JsonOutputParser, XMLOutputParser } from "@langchain/core/output_parsers";

const parsers = { json: new JsonOutputParser(), xml: new XMLOutputParser(), list: new CommaSeparatedListOutputParser() };
const results = [];
for (const [name, reply] of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    results.push(await parsers[name].parse(reply));
  } catch {
    results.push("ERROR");
  }
}
console.log(JSON.stringify(results));
JAVASCRIPT
"$folder/venv/bin/python" - <<'PYTHON'
import json
import subprocess

from langchain_core.exceptions import OutputParserException
from langchain_core.output_parsers import CommaSeparatedListOutputParser, JsonOutputParser, XMLOutputParser

PARSERS = {"json": JsonOutputParser(), "xml": XMLOutputParser(), "list": CommaSeparatedListOutputParser()}
CASES = (
    ("json", 'The call: ```json\n{"price": 12}\n```', {"price": 12}, {"price": 12}),
    ("json", '{"price": 12', {"price": 12}, "ERROR"),
    ("json", '{"order": 9007199254740993}', {"order": 9007199254740993}, {"order": 9007199254740992}),
    ("json", '{"text": "a\nb"}', {"text": "a\nb"}, "ERROR"),
    ("json", '{"text": "```a```"}', {"text": "```a```"}, "ERROR"),
    ("xml", "<a><b>1</b><b>2</b></a>", {"a": [{"b": "1"}, {"b": "2"}]}, {"a": [{"b": "1"}, {"b": "2"}]}),
    ("xml", "<a>1", "ERROR", {"a": "1"}),
    ("xml", "<a>1 <b>2</b> 3</a>", {"a": "1 "}, {"a": [{"b": "2"}]}),
    ("xml", "<a><b/></a>", {"a": [{"b": None}]}, {"a": [{"b": ""}]}),
    ("list", "red, blue", ["red", "blue"], ["red", "blue"]),
    ("list", '"New York, NY", Boston', ["New York, NY", "Boston"], ['"New York', 'NY"', "Boston"]),
    ("list", "red\nblue", ["red", "blue"], ["red\nblue"]),
    ("list", "", [], [""]),
)
cases = json.dumps([[name, reply] for name, reply, *_ in CASES])
output = subprocess.run(["node", "parse.mjs"], input=cases, capture_output=True, text=True, check=True).stdout
for (name, reply, in_python, in_javascript), javascript in zip(CASES, json.loads(output), strict=True):
    try:
        python = PARSERS[name].parse(reply)
    except OutputParserException:
        python = "ERROR"
    print(f"{name}, {reply!r}\n  Python: {python}\n  JavaScript: {javascript}")
    assert python == in_python, f"the behaviour has changed; expected {in_python}"
    assert javascript == in_javascript, f"the behaviour has changed; expected {in_javascript}"
PYTHON
