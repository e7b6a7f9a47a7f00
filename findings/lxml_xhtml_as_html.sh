#!/usr/bin/env bash
# lxml 6.1.3: XHTML that is written as HTML.
#
# Guess: `tostring(method="html")` writes void elements without an end tag, so that an XHTML page can be handed to HTML parsers,
#        and a page with an XHTML doctype may use `&nbsp;`.
# Seen:  elements in the XHTML namespace are written as `<br></br>`, which browsers read as two line breaks, and `&nbsp;` is an
#        error, as lxml does not load the doctype's entities.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet lxml==6.1.3
"$folder/venv/bin/python" - <<'PYTHON'
from lxml import etree

for namespace, expected in (("", b"<p>a<br>b</p>"), (' xmlns="http://www.w3.org/1999/xhtml"', b"<br></br>")):
    seen = etree.tostring(etree.fromstring(f"<p{namespace}>a<br/>b</p>"), method="html")
    print(seen.decode())
    assert expected in seen, f"the behaviour has changed; expected {expected}"

DOCTYPE = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">'
try:
    etree.fromstring(f'{DOCTYPE}<html xmlns="http://www.w3.org/1999/xhtml"><body>a&nbsp;b</body></html>')
except etree.XMLSyntaxError as error:
    print("XMLSyntaxError:", error)
    assert "nbsp" in str(error), "the behaviour has changed"
else:
    raise AssertionError("the behaviour has changed: the page is read")
PYTHON
