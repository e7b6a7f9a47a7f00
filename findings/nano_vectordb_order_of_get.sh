#!/usr/bin/env bash
# nano-vectordb 0.0.4.3: records that are stored without an identifier, and `get`.
#
# Guess: `get(ids)` returns the records in the order of the identifiers, and each record is stored, with or without an identifier.
# Seen:  `get` returns them in the order of storage, so identifiers and records that are paired with `zip` do not belong together. Of two
#        records without an identifier and with equal vectors, such as two products with one text, the second replaces the first. If it was
#        added later, it has no identifier at all, and each further `upsert` is a KeyError. A query vector of zeros has the score NaN.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet nano-vectordb==0.0.4.3 numpy==2.4.6
cd "$folder"
venv/bin/python -W ignore - <<'PYTHON'
import numpy as np
from nano_vectordb import NanoVectorDB


def record(price, *vector, **identifier):
    return {"price": price, "__vector__": np.array(vector, dtype=np.float32), **identifier}


database = NanoVectorDB(2, storage_file="named.json")
database.upsert([record(5, 1, 0, __id__="mug"), record(7, 0, 1, __id__="cap"), record(9, 1, 1, __id__="hat")])
ids = ["hat", "mug", "cap"]
seen = [found["price"] for found in database.get(ids)]
print(f"prices of {ids}: {seen}; stored are hat 9, mug 5 and cap 7")
assert seen == [5, 7, 9], "the behaviour has changed; expected the order of storage"
nearest = [found["__id__"] for found in database.query(np.array([1, 0.1], dtype=np.float32), top_k=2)]
print(f"nearest: {nearest}")
assert nearest == ["mug", "hat"], "the search has changed"
scores = [float(found["__metrics__"]) for found in database.query(np.zeros(2, dtype=np.float32))]
print(f"scores of a vector of zeros: {scores}")
assert len(scores) == 3 and np.isnan(scores).all(), "the behaviour has changed; expected three scores of NaN"

database = NanoVectorDB(2, storage_file="unnamed.json")
database.upsert([record(5, 1, 0), record(8, 1, 0), record(7, 0, 1)])
prices = [found["price"] for found in database.query(np.array([1, 0.5], dtype=np.float32), top_k=3)]
print(f"stored are the prices 5, 8 and 7 without identifiers; found are {prices}")
assert prices == [8, 7], "the behaviour has changed; expected [8, 7]"
database.upsert([record(9, 1, 0)])
named = ["__id__" in found for found in database.query(np.array([1, 0.5], dtype=np.float32), top_k=3)]
print(f"the record with the price 9 has an identifier: {named[0]}; the one with the price 7: {named[1]}")
assert named == [False, True], "the behaviour has changed; expected no identifier of the replaced record"
try:
    database.upsert([record(6, 1, 1)])
except KeyError as error:
    print(f"a further upsert: KeyError: {error}")
else:
    raise AssertionError("the behaviour has changed; expected a KeyError")
PYTHON
