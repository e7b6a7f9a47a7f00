"""Pieces that are computed from tables, and texts taken apart into pieces."""

import pytest

from agents.models.pointer.computing import decompose, multi_page_pieces


@pytest.mark.parametrize(
    ("text", "pieces", "constants", "parts", "literals"),
    [
        ("Ann, Bob", {"Ann", "Bob"}, {", "}, ["Ann", ", ", "Bob"], []),
        ("Ann Lee", {"Ann", "Lee", "Ann Lee"}, {" "}, ["Ann Lee"], []),
        ("", {"a"}, set(), [""], []),
        ("x", set(), {"x"}, ["x"], []),
        ("Annex", {"Ann"}, set(), ["Annex"], ["Annex"]),  # no word is cut
        ("120", {"12", "0"}, set(), ["120"], ["120"]),  # and no number
        ("1200.50 km", {"1200.50"}, set(), ["1200.50", " km"], [" km"]),
        ("a-a-a", {"a", "a-a"}, {"-"}, ["a-a", "-", "a"], []),
    ],
)
def test_texts_are_decomposed_at_the_lowest_cost(text, pieces, constants, parts, literals):
    found, unknown = decompose(text, pieces, constants)
    assert "".join(found) == text
    assert (len(found), sorted(found), unknown) == (len(parts), sorted(parts), literals)


def test_a_text_of_too_many_parts_is_one_literal():
    text = " ".join(["abcdefghij"] * 20)
    assert decompose(text, {"abcdefghij"}, {" "}) == ([text], [text])


def test_nothing_is_computed_without_pages():
    assert multi_page_pieces("How many?", ()) == ()
