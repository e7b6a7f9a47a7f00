#!/usr/bin/env bash
# inscriptis 2.7.6: the text of words and amounts that consist of several `span` elements.
#
# Guess: a `span` does not change the text, as in a browser: "un<span>known</span>" is "unknown".
# Seen:  by default it is surrounded by blanks: "un known", "$ 5 .00". Elements such as `b` are not. The profile "strict" gives a
#        browser's text. In both, numbered lists begin with 1, whatever `start` states, and elements with `hidden` are shown.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet inscriptis==2.7.6
"$folder/venv/bin/python" - <<'PYTHON'
from inscriptis import get_text
from inscriptis.css_profiles import CSS_PROFILES
from inscriptis.model.config import ParserConfig

strict = ParserConfig(css=CSS_PROFILES["strict"])
for body, default, expected in (
    ("<p>un<span>known</span></p>", "un known", "unknown"),
    ("<p>Total: <span>$</span><span>5</span><span>.00</span></p>", "Total: $ 5 .00", "Total: $5.00"),
    ("<p>un<b>known</b></p>", "unknown", "unknown"),
    ("<ol start=5><li>five</li></ol>", "1. five", "1. five"),
    ("<p>open</p><p hidden>closed</p>", "open\n\nclosed", "open\n\nclosed"),
):
    page = f"<!DOCTYPE html><html><body>{body}</body></html>"
    seen = get_text(page).strip(), get_text(page, strict).strip()
    print(f"{body}: {seen[0]!r}, strict: {seen[1]!r}")
    assert seen == (default, expected), f"the behaviour has changed; expected {(default, expected)}"
PYTHON
