#!/usr/bin/env bash
# html2text 2025.4.15: letters that a page writes as entities.
#
# Guess: a letter has the same text whether the page has the character, its entity or its number.
# Seen:  "M&uuml;ller" and "M&#252;ller" are "Muller", and "Müller" is "Müller", also on one page. It concerns small vowels with accents:
#        "&Ouml;l", "Stra&szlig;e" and "ni&ntilde;o" stay. An answer that is searched in the text is found on one page and not on another.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet html2text==2025.4.15
"$folder/venv/bin/python" - <<'PYTHON'
import html

import html2text

for source, expected in (
    ("Müller", "Müller"),
    ("M&uuml;ller", "Muller"),
    ("M&#252;ller", "Muller"),
    ("Ren&eacute;e, Renée", "Renee, Renée"),
    ("cr&egrave;me br&ucirc;l&eacute;e", "creme brulee"),
    ("&Ouml;l", "Öl"),
    ("Stra&szlig;e", "Straße"),
    ("ni&ntilde;o", "niño"),
):
    seen = html2text.html2text(f"<p>{source}</p>").strip()
    print(f"{source} is {seen!r}, and a browser shows {html.unescape(source)!r}")
    assert seen == expected, f"the behaviour has changed; expected {expected!r}"
PYTHON
