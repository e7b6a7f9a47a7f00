#!/usr/bin/env bash
# readability-lxml 0.8.4.1: tables in the summary of a page.
#
# Guess: a table of data in an article is a part of its summary.
# Seen:  it is dropped if it has fewer than 25 characters of text, and if its names are links: of a list of 40 orders nothing is
#        left, also between two long paragraphs of an `article`, and the summary of a page with nothing else is empty. A list of
#        40 orders without links stays, as does the linked list with long names.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet readability-lxml==0.8.4.1 lxml-html-clean==0.4.6
"$folder/venv/bin/python" - <<'PYTHON'
from readability import Document

LONG = "<p>" + "This mug is made of clay and contains a quarter of a litre, enough for a cup of tea in the morning. " * 5 + "</p>"


def cells(rows, name, layout):
    body = layout.format("".join(f"<tr><td>{name.format(row)}</td><td>${row}.00</td></tr>" for row in range(rows)))
    summary = Document(f"<!DOCTYPE html><html><head><title>Mugs</title></head><body>{body}</body></html>").summary()
    assert ("clay" in summary) == ("clay" in layout)
    return summary.count("<td>")


for layout in ("<table>{}</table>", f"<article>{LONG}<table>{{}}</table>{LONG}</article>"):
    for rows, name, expected in (
        (2, "Mug {}", 0),
        (3, "Mug {}", 6),
        (40, "Mug {}", 80),
        (40, "<a href=/mug/{0}>Mug {0}</a>", 0),
        (40, "<a href=/mug/{0}>Stoneware mug with a handle, made by hand, number {0}</a>", 80),
    ):
        seen = cells(rows, name, layout)
        print(f"{rows} rows of {name}, {'in an article' if 'article' in layout else 'alone'}: {seen} cells in the summary")
        assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
