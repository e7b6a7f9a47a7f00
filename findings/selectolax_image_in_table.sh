#!/usr/bin/env bash
# selectolax 1.0.2 (lexbor): the old tag <image> in a table.
#
# Guess: lexbor's tree is the standard's, in which <image> is an <img> wherever it stands.
# Seen:  in a table the element is lost; elsewhere it is an <img>.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet selectolax==1.0.2
"$folder/venv/bin/python" - <<'PYTHON'
from selectolax.lexbor import LexborHTMLParser

expected = {"<p><image src=/x></p>": '<p><img src="/x"></p>', "<table><image src=/x></table>": "<table></table>"}
for page, tree in expected.items():
    seen = LexborHTMLParser(f"<!doctype html>{page}").body.html
    print(f"{page}: {seen}")
    assert seen == f"<body>{tree}</body>", f"the behaviour has changed; expected {tree}"
PYTHON
