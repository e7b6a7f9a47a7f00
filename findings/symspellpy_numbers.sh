#!/usr/bin/env bash
# symspellpy 6.10.1 with its own dictionaries: a search query with numbers.
#
# Guess: `lookup_compound` corrects words and keeps numbers; with `ignore_non_words=True` it changes words with a misspelling only.
# Seen:  numbers become short words: "price below 50" is "price below of", and "size 5" is "size a". With `ignore_non_words=True` numbers
#        stay, but "$5.99" is "5 99", "usb-c" is "us a", "i5" and "16gb" are words, "ok" is "of", and "C++" is "a".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet symspellpy==6.10.1
"$folder/venv/bin/python" - <<'PYTHON'
from pathlib import Path

import symspellpy

folder = Path(symspellpy.__file__).parent
speller = symspellpy.SymSpell(max_dictionary_edit_distance=2, prefix_length=7)
assert speller.load_dictionary(str(folder / "frequency_dictionary_en_82_765.txt"), 0, 1)
assert speller.load_bigram_dictionary(str(folder / "frequency_bigramdictionary_en_243_342.txt"), 0, 2)
for query, expected, without_non_words in (
    ("serch for two cups", "search for two cups", "search for two cups"),
    ("price below 50", "price below of", "price below 50"),
    ("size 5 red shirt", "size a red shirt", "size 5 red shirt"),
    ("order 1234 at $5.99", "order of of at a of", "order 1234 at 5 99"),
    ("usb-c cable", "us a cable", "us a cable"),
    ("i5 laptop 16gb", "in laptop a web", "in laptop a web"),
    ("click on ok", "click on of", "click on of"),
    ("C++ book", "a book", "a book"),
):
    seen = [speller.lookup_compound(query, 2, ignore_non_words=ignore)[0].term for ignore in (False, True)]
    print(f"{query}: {seen[0]}; with ignore_non_words: {seen[1]}")
    assert seen == [expected, without_non_words], f"the behaviour has changed; expected {expected!r} and {without_non_words!r}"
PYTHON
