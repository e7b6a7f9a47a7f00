#!/usr/bin/env bash
# mongomock 4.3.0 and mingo 7.2.7 (npm): MongoDB's queries on the state of a shop.
#
# Guess: both return what MongoDB's manual states: conditions on a list hold if some elements satisfy them, $all is a conjunction of
#        equalities, $gte: null is true for missing fields, and a descending sort compares the largest element of a list.
# Seen:  in mongomock a text has $size 1, lines.q > 1 and lines.q < 2 must hold for one element, and a list is last in a descending sort.
#        In mingo $all does not match the value itself, and the descending sort compares other elements. In both $gte: null
#        leaves out missing fields.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet mongomock==4.3.0
cd "$folder"
npm install --silent --no-audit --no-fund mingo@7.2.7
cat > query.mjs <<'JAVASCRIPT'
import { readFileSync } from "node:fs";

import { find } from "mingo";

const { documents, cases } = JSON.parse(readFileSync(0, "utf8"));
const ids = ([query, sort]) => find(documents, query).sort({ ...sort, _id: 1 }).all().map(({ _id }) => _id);
console.log(JSON.stringify(cases.map(ids)));
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import json
import subprocess

import mongomock

DOCUMENTS = [
    {"_id": 1, "tags": ["red", "blue"], "sizes": 5, "price": 9, "lines": [{"q": 1}, {"q": 2}]},
    {"_id": 2, "tags": ["red"], "sizes": [5, 6], "price": None, "lines": [{"q": 2}]},
    {"_id": 3, "tags": [], "sizes": 6, "price": 0, "lines": []},
    {"_id": 4, "tags": "red", "sizes": 50},
]
CASES = (  # query, sort; documents in MongoDB, mongomock and mingo
    ({"tags": "red"}, {}, "1 2 4", "1 2 4", "1 2 4"),
    ({"sizes": {"$gt": 5, "$lt": 6}}, {}, "2", "2", "2"),
    ({"lines.q": {"$gt": 1, "$lt": 2}}, {}, "1", "", "1"),
    ({"tags": {"$size": 1}}, {}, "2", "2 4", "2"),
    ({"tags": {"$all": ["red"]}}, {}, "1 2 4", "1 2 4", "1 2"),
    ({"price": None}, {}, "2 4", "2 4", "2 4"),
    ({"price": {"$gte": None}}, {}, "2 4", "2", "2"),
    ({}, {"sizes": 1}, "1 2 3 4", "1 2 3 4", "1 2 3 4"),
    ({}, {"sizes": -1}, "4 2 3 1", "4 3 1 2", "4 3 2 1"),
    ({"_id": {"$lt": 3}}, {"tags": -1}, "1 2", "1 2", "2 1"),
)
task = json.dumps({"documents": DOCUMENTS, "cases": [[query, sort] for query, sort, *_ in CASES]})
results = json.loads(subprocess.run(["node", "query.mjs"], input=task, capture_output=True, text=True, check=True).stdout)
collection = mongomock.MongoClient().shop.products
collection.insert_many(DOCUMENTS)
for (query, sort, manual, *expected), in_mingo in zip(CASES, results, strict=True):
    found = collection.find(query).sort([*sort.items(), ("_id", 1)])
    seen = [" ".join(str(document["_id"]) for document in found), " ".join(map(str, in_mingo))]
    print(f"{query} {sort}: MongoDB's manual {manual}; mongomock {seen[0] or 'nothing'}; mingo {seen[1]}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
