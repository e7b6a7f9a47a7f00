"""Pieces that are computed from tables, and texts taken apart into pieces."""

import pytest

from agents.models.pointer.computing import computed_pieces, decompose, multi_page_pieces


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


def test_without_pages_there_are_no_computed_pieces():
    assert multi_page_pieces("How many?", ()) == ()


ORDERS = """<h1>Orders</h1>
<tr><th>Customer</th><th>Total</th><th>Date</th></tr>
<tr><td>Ann Lee</td><td>$5.00</td><td>May 3, 2023</td></tr>
<tr><td>Bob Ray</td><td>$12.50</td><td>May 9, 2023</td></tr>
<tr><td>Ann Lee</td><td>$20.00</td><td>June 1, 2023</td></tr>"""


def computed(goal, page=ORDERS):
    """Return the computed texts by their source, filter, filtered column and column."""
    return {(piece.source, piece.form, piece.left, piece.column): piece.text for piece in computed_pieces(goal, page)}


def test_rows_are_counted_and_columns_summed_and_listed():
    pieces = computed("What is the total?")
    assert pieces["count", "all", "", ""] == "3"
    assert pieces["sum", "all", "", "Total"] == "$37.50"
    assert pieces["list commas", "all", "", "Customer"] == "Ann Lee, Bob Ray, Ann Lee"
    assert pieces["list lines", "all", "", "Customer"] == "Ann Lee\nBob Ray\nAnn Lee"


def test_rows_are_filtered_by_the_values_months_and_numbers_of_the_goal():
    assert computed("How much did Ann Lee spend?")["sum", "equal", "Customer", "Total"] == "$25.00"
    assert computed("How much did I spend in May 2023?")["sum", "month", "", "Total"] == "$17.50"
    above = computed("Which orders are above $12.50?")
    assert above["count", "above", "Total", ""] == "1"
    assert above["count", "at least", "Total", ""] == "2"
    assert above["count", "at most", "Total", ""] == "2"
    assert above["count", "below", "Total", ""] == "1"
    assert computed("the first 2 orders")["sum", "first", "", "Total"] == "$17.50"


def test_a_decade_has_ten_years():
    years = "".join(
        f"<tr><td>{name}</td><td>{year}</td></tr>\n" for name, year in (("A", 1989), ("B", 1990), ("C", 1999), ("D", 2000))
    )
    pieces = computed("Which were built in 1990?", f"<tr><th>Name</th><th>Year</th></tr>\n{years}")
    assert pieces["list commas", "decade", "Year", "Name"] == "B, C"


def test_several_pages_give_differences_and_counts_over_all():
    later = ORDERS.replace("$5.00", "$7.00")
    pieces = multi_page_pieces("How much did Ann Lee spend?", (ORDERS, later))
    assert "$2.00" in {piece.text for piece in pieces if piece.source == "difference"}
    assert "4" in {piece.text for piece in pieces if piece.source == "count over pages" and piece.left == "Customer"}
