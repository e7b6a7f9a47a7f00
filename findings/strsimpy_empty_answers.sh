#!/usr/bin/env bash
# strsimpy 0.2.1 and rapidfuzz 3.14.6: distances of an answer and a reference under one name in two libraries.
#
# Guess: both return the same, and an empty answer is as far away as the reference is long.
# Seen:  in strsimpy the optimal string alignment of an empty text and any other one is 0, as of equal texts. Jaro-Winkler has no limit
#        of four letters for the common prefix: two order numbers have 0.988 instead of 0.947. `SorensenDice` and
#        `OverlapCoefficient` of two different digits are a ZeroDivisionError.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet strsimpy==0.2.1 rapidfuzz==3.14.6
"$folder/venv/bin/python" - <<'PYTHON'
from rapidfuzz import distance
from strsimpy.damerau import Damerau
from strsimpy.jaro_winkler import JaroWinkler
from strsimpy.levenshtein import Levenshtein
from strsimpy.optimal_string_alignment import OptimalStringAlignment
from strsimpy.overlap_coefficient import OverlapCoefficient
from strsimpy.sorensen_dice import SorensenDice

for answer, reference, right, seen in (
    ("the red mug", "the red mug", 0, 0),
    ("the erd mug", "the red mug", 1, 1),
    ("", "the red mug", 11, 0),
    ("the red mug", "", 11, 0),
):
    alignment = OptimalStringAlignment().distance(answer, reference)
    others = {Levenshtein().distance(answer, reference), Damerau().distance(answer, reference)}
    print(f"{answer!r} and {reference!r}: alignment {alignment} in strsimpy, {distance.OSA.distance(answer, reference)} in rapidfuzz")
    assert distance.OSA.distance(answer, reference) == right, "the behaviour of rapidfuzz has changed"
    assert alignment == seen, f"the behaviour has changed; expected {seen}"
    assert right in others, "another distance of strsimpy has changed"
for answer, reference, right, seen in (
    ("martha", "marhta", 0.961, 0.961),
    ("Order 000000180", "Order 000000191", 0.947, 0.988),
    ("http://shop.example/product/1", "http://shop.example/help", 0.920, 0.959),
):
    here, there = JaroWinkler().similarity(answer, reference), distance.JaroWinkler.similarity(answer, reference)
    print(f"{answer!r} and {reference!r}: Jaro-Winkler {here:.3f} in strsimpy, {there:.3f} in rapidfuzz")
    assert round(there, 3) == right, "the behaviour of rapidfuzz has changed"
    assert round(here, 3) == seen, f"the behaviour has changed; expected {seen}"
for similarity in (SorensenDice(2), OverlapCoefficient(2)):
    assert similarity.similarity("5", "5") == 1
    try:
        similarity.similarity("5", "6")
    except ZeroDivisionError as error:
        print(f"{type(similarity).__name__} of 5 and 6: {error}")
    else:
        raise AssertionError("the behaviour has changed; expected a ZeroDivisionError")
PYTHON
