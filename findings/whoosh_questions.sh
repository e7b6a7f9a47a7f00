#!/usr/bin/env bash
# whoosh 2.7.4: a question of a user as a search query.
#
# Guess: "price?" finds what "price" finds, and "size 5" only documents with the 5.
# Seen:  a question mark stands for one more letter: "price?" finds "prices" and not "price", and a question that ends in it finds
#        nothing. Words of one letter or digit are not indexed and are removed from queries: "size 5" finds size 6, and "5" and "C++"
#        find nothing. `SimpleParser` has no wildcards, but finds nothing for "5" either.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet Whoosh==2.7.4
cd "$folder"
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
from whoosh import fields, index, qparser
from whoosh.filedb.filestore import RamStorage

texts = ("the price of the bag", "prices of bags", "shoes, size 5", "shoes, size 6", "C++ and C")
schema = fields.Schema(text=fields.TEXT(stored=True))
documents = RamStorage().create_index(schema)
writer = documents.writer()
for text in texts:
    writer.add_document(text=text)
writer.commit()
default, simple = qparser.QueryParser("text", schema), qparser.SimpleParser("text", schema)
with documents.searcher() as searcher:
    for parser, query, expected in (
        (default, "price", ["the price of the bag"]),
        (default, "price?", ["prices of bags"]),
        (default, "the price of the bag?", []),
        (default, "the price of the bag", ["the price of the bag"]),
        (default, "size 5", ["shoes, size 5", "shoes, size 6"]),
        (default, "5", []),
        (default, "C++", []),
        (simple, "price?", ["the price of the bag"]),
        (simple, "size 5", ["shoes, size 5", "shoes, size 6"]),
        (simple, "5", []),
    ):
        seen = [hit["text"] for hit in searcher.search(parser.parse(query))]
        print(f"{query!r}: {seen}")
        assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
