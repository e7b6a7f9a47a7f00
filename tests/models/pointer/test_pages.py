"""Features of the lines of a page: rank in a table, and largest and smallest values."""

import pytest

from agents.models.pointer.pages import EXTREME_FEATURES, extreme_features, parse_page, tables_of


def table_page(amounts):
    rows = "".join(f"<tr> <td>Order {number}</td> <td>${amount}.00</td> </tr>\n" for number, amount in enumerate(amounts))
    return f"URL: http://shop.test/orders\n<h1>Orders</h1>\n<table>\n<tr> <th>Order</th> <th>Total</th> </tr>\n{rows}</table>"


def features_of_rows(text):
    page, tables = parse_page(text), tables_of(text)
    features = extreme_features(page, tables)
    assert features.shape == (len(page.lines), EXTREME_FEATURES)
    (table,) = tables
    return features[[row.line_index for row in table.rows]]


@pytest.mark.parametrize("count", [2, 5, 6, 7, 30])
def test_row_features_have_rank_last_row_and_table_length(count):
    rows = features_of_rows(table_page([10] * count))
    for rank, row in enumerate(rows):
        assert [place for place in range(6) if row[place]] == [rank] * (rank < 5) + [5] * (rank == count - 1)
        assert row[6] == pytest.approx(min(count, 20) / 20)


def test_the_largest_and_the_smallest_amount_are_marked():
    rows = features_of_rows(table_page([30, 20, 90, 20]))
    assert rows[:, 7].tolist() == [0, 0, 1, 0]
    assert rows[:, 8].tolist() == [0, 1, 0, 1]
    equal = features_of_rows(table_page([30, 30]))
    assert not equal[:, 7:9].any()
