#!/usr/bin/env bash
# cssselect2 0.10.1, lxml 6.1.3: selectors for a page that lxml.html has parsed.
#
# Guess: `:disabled` selects the fields of a disabled `fieldset`, as in a browser, and the length of a list does not matter.
# Seen:  a field in a disabled `fieldset` is selected by `:enabled` and not by `:disabled`: with `from_html_root`, the elements around it are
#        looked up by names with a namespace, which a page parsed as HTML does not have. [type=text] misses TYPE=TEXT, whose case HTML
#        ignores. `li ~ .last` finds the last of 500 items, and is a RecursionError for the last of 2,000.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet cssselect2==0.10.1 tinycss2==1.5.1 lxml==6.1.3
"$folder/venv/bin/python" - <<'PYTHON'
import lxml.html
from cssselect2 import ElementWrapper


def select(body, selector):
    root = ElementWrapper.from_html_root(lxml.html.document_fromstring(f"<!DOCTYPE html><html><body>{body}</body></html>"))
    return [element.id for element in root.query_all(selector)]


for body, selector, expected in (
    ("<input id=a disabled>", "input:disabled", ["a"]),
    ("<fieldset id=f disabled><input id=a></fieldset>", ":disabled", ["f"]),
    ("<fieldset id=f disabled><input id=a></fieldset>", "input:enabled", ["a"]),
    ("<input id=a type=text><input id=b TYPE=TEXT>", "[type=text]", ["a"]),
    ("<input id=a type=text><input id=b TYPE=TEXT>", "[type=text i]", ["a", "b"]),
    ("<ul>" + "<li>" * 500 + "<li class=last id=a></ul>", "li ~ .last", ["a"]),
):
    seen = select(body, selector)
    print(f"{body[:60]}, {selector}: {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
try:
    select("<ul>" + "<li>" * 2000 + "<li class=last id=a></ul>", "li ~ .last")
except RecursionError:
    print("2,000 items, li ~ .last: RecursionError")
else:
    raise AssertionError("the behaviour has changed; expected RecursionError")
PYTHON
