#!/usr/bin/env bash
# markdownify 1.2.3: valid HTML that omits the end tags of list items and table cells, as the standard allows.
#
# Guess: the Markdown is that of the same page with end tags.
# Seen:  the default parser nests each item and cell in the one before. Items lose their line and their number, and a table
#        of two rows has one row with tables in it. With bs4_options="html5lib" it is right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet markdownify==1.2.3 beautifulsoup4==4.15.0 html5lib==1.1
"$folder/venv/bin/python" - <<'PYTHON'
import re

from markdownify import markdownify

pages = [
    "<ol><li>pens</li><li>paper</li></ol>",
    "<table><tr><th>name</th><th>price</th></tr><tr><td>pens</td><td>3</td></tr></table>",
]
texts = []
for page in pages:
    short = re.sub("</(li|tr|th|td)>", "", page)
    whole, omitted, other = markdownify(page), markdownify(short), markdownify(short, bs4_options="html5lib")
    texts.append(omitted)
    print(f"with end tags:\n{whole}\nwithout:\n{omitted}\nwithout, html5lib:\n{other}")
    assert other == whole != omitted, "the behaviour has changed"
assert texts[0].split() == ["1.", "pens-", "paper"], "the behaviour has changed"
PYTHON
