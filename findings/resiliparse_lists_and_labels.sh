#!/usr/bin/env bash
# resiliparse 2.0.1: lists and labels in `extract_plain_text`.
#
# Guess: `main_content=True` removes navigation and keeps the lists of an article; without form fields the words around them stay.
# Seen:  `main_content=True` drops every `ul`, also one within a `main` and between two long paragraphs; `ol` stays. By default the
#        text of every `label` and `button` is dropped, also outside of forms. `start` and `value` of numbered lists are ignored.
#        With `form_fields=True` all options of a list are joined, and the chosen one is not marked.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet resiliparse==2.0.1
"$folder/venv/bin/python" - <<'PYTHON'
from resiliparse.extract.html2text import extract_plain_text

LONG = "<p>" + "Fill the kettle with fresh water, switch it on and wait until it boils, which takes three minutes. " * 5 + "</p>"


def text(body, **options):
    return extract_plain_text(f"<!DOCTYPE html><html><head><title>Tea</title></head><body>{body}</body></html>", **options)


recipe = f"<main><h1>Tea</h1>{LONG}<p>You need:</p><ul><li>two cups of fresh water</li></ul>{LONG}</main>"
assert "two cups" in text(recipe)
main = text(recipe, main_content=True)
print("the list of an article is in its main content:", "two cups" in main)
assert "two cups" not in main
assert "You need:" in main
assert "two cups" in text(recipe.replace("ul>", "ol>"), main_content=True)
LISTS = "<select><option>red<option selected>blue</select>"
for body, options, expected in (
    ("<p>Status: <button>Open</button></p>", {}, "Status:"),
    ("<p><label>Total price</label> $5</p>", {}, "$5"),
    ("<p><label>Total price</label> $5</p>", {"form_fields": True}, "Total price $5"),
    (f"<p>{LISTS}</p>", {"form_fields": True}, "redblue"),
    ("<ol start=5><li>five</li><li value=9>nine</li></ol>", {}, "1. five\n  2. nine"),
):
    seen = text(body, **options).strip()
    print(f"{body} {options}: {seen!r}")
    assert seen == expected, f"the behaviour has changed; expected {expected!r}"
PYTHON
