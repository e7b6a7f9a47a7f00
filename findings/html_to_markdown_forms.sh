#!/usr/bin/env bash
# html-to-markdown 3.19.0 (PyPI): the content of forms.
#
# Guess: without the fields, the words and tables within a form are in the Markdown, as those around it are.
# Seen:  by default a `form` is removed with all that it contains: of a cart page, whose table is in a form, the heading is left. `nav` is
#        removed too, with "Page 2 of 5". A field outside of a form loses its value, and a list its choice.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet html-to-markdown==3.19.0
"$folder/venv/bin/python" - <<'PYTHON'
from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

table = "<table><tr><th>Item</th><th>Price</th></tr><tr><td>Bag</td><td>$5</td></tr></table><p>Total: $5</p>"
markdown = "| Item | Price |\n| ---- | ----- |\n| Bag  | $5    |\n\nTotal: $5"
kept = ConversionOptions(preprocessing=PreprocessingOptions(enabled=False))
for options, source, expected in (
    (None, f"<h1>Cart</h1>{table}", f"# Cart\n\n{markdown}"),
    (None, f"<h1>Cart</h1><form action='/cart'>{table}</form>", "# Cart"),
    (kept, f"<h1>Cart</h1><form action='/cart'>{table}</form>", f"# Cart\n\n{markdown}"),
    (None, "<p>40 reviews</p><nav>Page <b>2</b> of 5</nav>", "40 reviews"),
    (None, "<p>Size <select><option>S</option><option selected>M</option></select> <input value='2'> pieces</p>", "Size S M pieces"),
):
    seen = convert(source, options).content.strip()
    print(f"{source}\n  {seen!r}{'' if options is None else ', without the preprocessing'}")
    assert seen == expected, f"the behaviour has changed; expected {expected!r}"
PYTHON
