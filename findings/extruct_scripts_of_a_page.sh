#!/usr/bin/env bash
# extruct 0.18.0: structured data of a page with several scripts.
#
# Guess: with errors="ignore" the scripts that can be read are returned, and microdata have the values of the HTML standard.
# Seen:  one JSON-LD script that is empty, or ends in a semicolon, removes all of them, and the key "json-ld" with them. A script
#        whose type has a parameter ("application/ld+json; charset=utf-8") or capitals is skipped. A `time` element without the
#        attribute `datetime` has an empty value instead of its text, and "$<span>5</span>" is "$ 5".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet extruct==0.18.0 lxml==6.1.3
"$folder/venv/bin/python" - <<'PYTHON'
import logging

import extruct

logging.disable(logging.CRITICAL)
PRODUCT = '<script type="application/ld+json">{"@type": "Product", "price": "5.00"}</script>'


def linked_data(page):
    return extruct.extract(page, syntaxes=["json-ld"], errors="ignore")


product = {"@type": "Product", "price": "5.00"}
for script, expected in (
    ("", {"json-ld": [product]}),
    ('<script type="application/ld+json">{"name": "bag"}</script>', {"json-ld": [product, {"name": "bag"}]}),
    ('<script type="application/ld+json"></script>', {}),
    ('<script type="application/ld+json">{"name": "bag"};</script>', {}),
    ('<script type="application/ld+json; charset=utf-8">{"name": "bag"}</script>', {"json-ld": [product]}),
    ('<script type="Application/LD+JSON">{"name": "bag"}</script>', {"json-ld": [product]}),
):
    seen = linked_data(PRODUCT + script)
    print(f"a product and {script!r}: {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"

page = """<div itemscope><time itemprop="date">6 May 2024</time><p itemprop="price">$<span>5</span></p>
<data itemprop="weight" value="1.5">1.5 kg</data></div>"""
seen = extruct.extract(page, syntaxes=["microdata"])["microdata"][0]["properties"]
print(seen)
assert seen == {"date": "", "price": "$ 5", "weight": "1.5"}, "the behaviour has changed"
PYTHON
