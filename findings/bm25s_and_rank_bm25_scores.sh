#!/usr/bin/env bash
# bm25s 0.3.16 and rank-bm25 0.2.2: rankings of short product names.
#
# Guess: a document with the words of the query is ranked before others, and texts with different numbers have different tokens.
# Seen:  `bm25s.tokenize` drops every word of one character and splits numbers: "bag $1.50" and "bag $9.50" have the tokens bag and 50,
#        and "size 5" and "size 6" are equal. `BM25Okapi` of rank-bm25 gives a word that is in half of the documents the weight 0:
#        among four names with two words each, "red bag" is not among the best two for its own name. Of two documents a word in both
#        has a negative score, less than a document without it would have.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet bm25s==0.3.16 rank-bm25==0.2.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import bm25s
from rank_bm25 import BM25Okapi

names = ["bag $1.50", "bag $9.50", "bag $12", "shoes size 5", "shoes size 6", "shoes size 42"]
tokens = bm25s.tokenize(names, return_ids=False, show_progress=False)
print(dict(zip(names, tokens)))
assert tokens == [["bag", "50"], ["bag", "50"], ["bag", "12"], ["shoes", "size"], ["shoes", "size"], ["shoes", "size", "42"]]
index = bm25s.BM25()
index.index(bm25s.tokenize(names, show_progress=False), show_progress=False)
for query, equal in (("bag $1.50", (0, 1)), ("shoes size 6", (3, 4))):
    scores = index.get_scores(bm25s.tokenize(query, return_ids=False, show_progress=False)[0])
    print(f"bm25s, {query!r}: {scores.round(3).tolist()}")
    assert scores[equal[0]] == scores[equal[1]] == scores.max() > 0, "the behaviour has changed"

names = ["red bag", "blue bag", "red shoes", "blue hat"]
ranking = BM25Okapi([name.split() for name in names])
scores = ranking.get_scores(["red", "bag"])
best = ranking.get_top_n(["red", "bag"], names, n=2)
print(f"rank-bm25, 'red bag' in {names}: {scores.tolist()}, best two {best}")
assert scores.tolist() == [0, 0, 0, 0] and "red bag" not in best, "the behaviour has changed"
scores = BM25Okapi([["red", "bag"], ["blue", "bag"]]).get_scores(["bag"])
print(f"rank-bm25, 'bag' in two bags: {scores.round(3).tolist()}")
assert (scores < 0).all(), "the behaviour has changed"
PYTHON
