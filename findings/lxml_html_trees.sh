#!/usr/bin/env bash
# lxml 6.1.3 (libxml2 2.14.6): trees of valid HTML.
#
# Guess: a valid page has the same tree in lxml as in a browser; only broken pages differ.
# Seen:  <wbr> takes what follows as its content; a list ends <address>, a table ends <a>; <tbody> is not implied.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet lxml==6.1.3
"$folder/venv/bin/python" - <<'PYTHON'
from lxml import html

expected = {
    "<p>a<wbr>b</p>": "<p>a<wbr>b</wbr></p>",
    "<address><ul><li>x</li></ul>y</address>": "<address></address><ul><li>x</li></ul>y",
    "<a href='/'><table><tbody></tbody></table>y</a>": '<a href="/"></a><table><tbody></tbody></table>y',
    "<table><tr><td>x</td></tr></table>": "<table><tr><td>x</td></tr></table>",
}
for page, tree in expected.items():
    seen = html.tostring(html.document_fromstring(page).find("body"), encoding="unicode")
    print(f"{page}: {seen}")
    assert seen == f"<body>{tree}</body>", f"the behaviour has changed; expected {tree}"
PYTHON
