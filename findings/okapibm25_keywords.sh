#!/usr/bin/env bash
# okapibm25 1.4.1 (npm) and rank-bm25 0.2.2 (PyPI): scores of documents for the words of a query.
#
# Guess: a document scores if it contains the word, and both have the same order of documents.
# Seen:  in okapibm25 a keyword is a regular expression that is counted anywhere in the text: "cup" is in "cupboard", "5" in "50" and in
#        "$5.99", and "$5.99" in no document. "C++" is an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet rank-bm25==0.2.2 numpy==2.4.6
cd "$folder"
npm install --silent --no-audit --no-fund okapibm25@1.4.1
cat > scores.mjs <<'JAVASCRIPT'
import { readFileSync } from "node:fs";

import module from "okapibm25";

const { documents, queries } = JSON.parse(readFileSync(0, "utf8"));
const scores = queries.map((words) => {
  try {
    return module.default(documents, words, { k1: 1.5, b: 0.75 });
  } catch (error) {
    return error.message;
  }
});
console.log(JSON.stringify(scores));
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import json
import subprocess

from rank_bm25 import BM25Okapi

DOCUMENTS = ["red mug", "blue mug", "oak cupboard", "tea cup", "size 5 hat", "size 50 hat", "hat for $5.99", "C++ book"]
CASES = (  # words, the documents with a positive score in rank-bm25 and in okapibm25
    (["mug"], ["red mug", "blue mug"], ["red mug", "blue mug"]),
    (["red", "mug"], ["red mug", "blue mug"], ["red mug", "blue mug"]),
    (["cup"], ["tea cup"], ["oak cupboard", "tea cup"]),
    (["5"], ["size 5 hat"], ["size 5 hat", "size 50 hat", "hat for $5.99"]),
    (["$5.99"], ["hat for $5.99"], []),
    (["C++"], ["C++ book"], "Invalid regular expression: /C++/g: Nothing to repeat"),
)
source = json.dumps({"documents": DOCUMENTS, "queries": [words for words, *_ in CASES]})
results = json.loads(subprocess.run(["node", "scores.mjs"], input=source, capture_output=True, text=True, check=True).stdout)
index = BM25Okapi([document.split() for document in DOCUMENTS])


def positive(scores):
    """Return the documents with a positive score, or the message of an error."""
    return scores if isinstance(scores, str) else [document for document, score in zip(DOCUMENTS, scores, strict=True) if score > 0]


for (words, in_python, in_javascript), scores in zip(CASES, results, strict=True):
    seen = positive(list(index.get_scores(words))), positive(scores)
    print(f"{words}: rank-bm25 finds {seen[0]}, okapibm25 {seen[1]}")
    assert seen == (in_python, in_javascript), f"the behaviour has changed; expected {in_python} and {in_javascript}"
PYTHON
