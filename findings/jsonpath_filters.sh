#!/usr/bin/env bash
# jsonpath-plus 10.4.0 (npm), python-jsonpath 2.2.2 and jsonpath-ng 1.16.0 (PyPI): filters of prices.
#
# Guess: a filter compares numbers with numbers only, as RFC 9535 states, or the path is an error.
# Seen:  in jsonpath-plus the price "7" is below 10 and equal to 7, a missing stock is null, a price of 0 does not exist, and the last
#        product and two keys at once are nothing. In python-jsonpath, which follows the RFC, the price true is below 10. jsonpath-ng has
#        the RFC's result in all of these cases.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet python-jsonpath==2.2.2 jsonpath-ng==1.16.0
cd "$folder"
npm install --silent --no-audit --no-fund jsonpath-plus@10.4.0
cat > find.mjs <<'JAVASCRIPT'
import { readFileSync } from "node:fs";

import { JSONPath } from "jsonpath-plus";

const { paths, json } = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(paths.map((path) => JSONPath({ path, json }))));
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import json
import subprocess

import jsonpath
from jsonpath_ng.ext import parse

SHOP = {
    "user": {"name": "Ann", "age": 30},
    "products": [
        {"name": "mug", "price": 5, "stock": None},
        {"name": "cap", "price": 19.99},
        {"name": "hat", "price": "7"},
        {"name": "tag", "price": 0},
        {"name": "bag", "price": True},
    ],
}
CASES = (  # path; the result of RFC 9535, of python-jsonpath and of jsonpath-plus
    ("$.products[?(@.name == 'mug')].price", [5], [5], [5]),
    ("$.products[?(@.price == 5)].name", ["mug"], ["mug"], ["mug"]),
    ("$.products[?(@.price < 10)].name", ["mug", "tag"], ["mug", "tag", "bag"], ["mug", "hat", "tag", "bag"]),
    ("$.products[?(@.price == 7)].name", [], [], ["hat"]),
    ("$.products[?(@.price == 1)].name", [], [], ["bag"]),
    ("$.products[?(@.stock == null)].name", ["mug"], ["mug"], ["mug", "cap", "hat", "tag", "bag"]),
    ("$.products[?(@.stock)].name", ["mug"], ["mug"], []),
    ("$.products[?(@.price)].name", *[["mug", "cap", "hat", "tag", "bag"]] * 2, ["mug", "cap", "hat", "bag"]),
    ("$.products[-1].name", ["bag"], ["bag"], []),
    ("$.user['name','age']", ["Ann", 30], ["Ann", 30], []),
)
source = json.dumps({"paths": [path for path, *_ in CASES], "json": SHOP})
results = json.loads(subprocess.run(["node", "find.mjs"], input=source, capture_output=True, text=True, check=True).stdout)
for (path, standard, *expected), in_javascript in zip(CASES, results, strict=True):
    seen = [jsonpath.findall(path, SHOP), in_javascript]
    print(f"{path}: {standard} by RFC 9535, {seen[0]} in python-jsonpath, {seen[1]} in jsonpath-plus")
    assert [match.value for match in parse(path).find(SHOP)] == standard, "jsonpath-ng has changed"
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
