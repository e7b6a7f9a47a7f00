#!/usr/bin/env bash
# trafilatura 2.3.1: the text of a short page.
#
# Guess: `extract` gives a paragraph the same text on a short page and on a long one.
# Seen:  on a short page each piece of text between two tags is a line: "$5.00" is read as "$", "5" and ".00", and "H2O" as "H",
#        "2" and "O". After a long paragraph the same paragraph is one line, as it is with `favor_precision` and in `html2txt`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet trafilatura==2.3.1 lxml-html-clean==0.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import trafilatura

LONG = "<p>" + "This mug is made of clay and contains a quarter of a litre, enough for a cup of tea in the morning. " * 5 + "</p>"


def page(body):
    return f"<!DOCTYPE html><html><head><title>Mug</title></head><body>{body}</body></html>"


for body, lines, text in (
    ("<p>Total: <span>$</span><span>5</span><span>.00</span></p>", ["Total:", "$", "5", ".00"], "Total: $5.00"),
    ("<p>It is H<sub>2</sub>O.</p>", ["It is H", "2", "O."], "It is H2O."),
    ("<p>un<b>known</b></p>", ["un", "known"], "unknown"),
):
    short = trafilatura.extract(page(body)).splitlines()
    long = trafilatura.extract(page(LONG + body)).splitlines()
    print(f"{body}: {short}; after a long paragraph: {long[1:]}")
    assert short == lines, f"the behaviour has changed; expected {lines}"
    assert long[1:] == [text]
    assert trafilatura.extract(page(body), favor_precision=True) == trafilatura.html2txt(page(body)) == text
PYTHON
