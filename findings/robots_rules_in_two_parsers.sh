#!/usr/bin/env bash
# protego 0.7.0 and robots-parser 3.0.1 (npm): which pages of a shop an agent may read.
#
# Guess: both parsers, which refer to the same standard, allow and refuse the same pages.
# Seen:  a rule for "bot" is one for "botnet" and for "Mozilla/5.0 (compatible; bot/1.0)" in protego only, a rule for "Bot/1.0" is one for
#        "bot" in robots-parser only. A group without rules allows all in protego, and is ignored in robots-parser. "/~ann" refuses
#        "/%7Eann" in protego only. After a byte order mark protego drops the first group, and allows all.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet protego==0.7.0
cd "$folder"
npm install --silent --no-audit --no-fund robots-parser@3.0.1
cat > allowed.mjs <<'JAVASCRIPT'
import { readFileSync } from "node:fs";

import robots from "robots-parser";

const cases = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(cases.map(([rules, agent, url]) => robots("http://shop.example/robots.txt", rules).isAllowed(url, agent))));
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import json
import subprocess

from protego import Protego

CASES = (  # rules, agent, path, allowed by protego and by robots-parser
    ("User-agent: bot\nDisallow: /cart", "bot", "/cart", False, False),
    ("User-agent: bot\nDisallow: /cart", "bot/1.0", "/cart", False, False),
    ("User-agent: bot\nDisallow: /cart", "mybot", "/cart", True, True),
    ("User-agent: bot\nDisallow: /cart", "botnet", "/cart", False, True),
    ("User-agent: bot\nDisallow: /cart", "Mozilla/5.0 (compatible; bot/1.0)", "/cart", False, True),
    ("User-agent: Bot/1.0\nDisallow: /cart", "bot", "/cart", True, False),
    ("User-agent: *\nDisallow: /\n\nUser-agent: bot", "bot", "/cart", True, False),
    ("User-agent: *\nDisallow: /~ann", "bot", "/%7Eann", False, True),
    ("\ufeffUser-agent: *\nDisallow: /cart", "bot", "/cart", True, False),
)
cases = json.dumps([[rules, agent, f"http://shop.example{path}"] for rules, agent, path, *_ in CASES])
output = subprocess.run(["node", "allowed.mjs"], input=cases, capture_output=True, text=True, check=True).stdout
for (rules, agent, path, *expected), in_javascript in zip(CASES, json.loads(output), strict=True):
    seen = [Protego.parse(rules).can_fetch(f"http://shop.example{path}", agent), in_javascript]
    print(f"{rules!r}, {agent}, {path}: protego {seen[0]}, robots-parser {seen[1]}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
