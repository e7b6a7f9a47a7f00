#!/usr/bin/env bash
# cssselect 1.6.0: selectors for HTML, with `HTMLTranslator`.
#
# Guess: they select what `querySelectorAll` selects, or are an error.
# Seen:  the values of attributes such as `type` and `method`, whose case HTML ignores, are compared exactly: `:checked` and
#        `[type=checkbox]` miss a ticked box with type=CHECKBOX, and form[method=post] misses method=POST. `option:checked` misses the
#        first option of a list without `selected`, which is the chosen one. `:is(.a, .b)` is read, `:not(.a, .b)` is a syntax error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet cssselect==1.6.0 lxml==6.1.3
"$folder/venv/bin/python" - <<'PYTHON'
import lxml.html
from cssselect import HTMLTranslator, SelectorSyntaxError

for body, selector, expected in (
    ("<input type=checkbox checked>", ":checked", 1),
    ("<input type=CHECKBOX checked>", ":checked", 0),
    ("<input type=CHECKBOX checked>", "[type=checkbox]", 0),
    ("<form method=POST></form>", "form[method=post]", 0),
    ("<form method=POST></form>", "form[method=post i]", 1),
    ("<select><option>S<option>M</select>", "option:checked", 0),
    ("<select><option>S<option selected>M</select>", "option:checked", 1),
    ("<p class=a></p><p class=b></p><p></p>", "p:is(.a, .b)", 2),
    ("<p class=a></p><p class=b></p><p></p>", "p:not(.a):not(.b)", 1),
):
    root = lxml.html.document_fromstring(f"<!DOCTYPE html><html><body>{body}</body></html>")
    seen = len(root.xpath(HTMLTranslator().css_to_xpath(selector)))
    print(f"{body}, {selector}: {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
try:
    HTMLTranslator().css_to_xpath("p:not(.a, .b)")
except SelectorSyntaxError as error:
    print("p:not(.a, .b):", error)
else:
    raise AssertionError("the behaviour has changed; expected SelectorSyntaxError")
PYTHON
