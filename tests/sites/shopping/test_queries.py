"""Queries of the shop, compared with plain reads of its rows."""

import json
from contextlib import closing

import pytest

from webarena_gym.sites.shopping import queries
from webarena_gym.sites.world import load_world


@pytest.fixture(scope="module")
def db():
    with closing(load_world(1000).open()) as databases:
        yield databases["shopping"].connection


def rows(db, query, *parameters):
    return [dict(row) for row in db.execute(query, parameters)]


def test_prices_ratings_and_stock_of_products(db):
    products = {row["product_id"]: row for row in rows(db, "SELECT * FROM product")}
    cards = {row["product_id"]: row for row in queries.cards(db, "1", ())}
    assert cards.keys() == {number for number, row in products.items() if row["is_enabled"]}
    for number, card in cards.items():
        row = products[number]
        special = row["special_price_cents"]
        final = row["price_cents"] if special is None else min(special, row["price_cents"])
        ratings = [
            item["rating"] for item in rows(db, "SELECT * FROM review WHERE product_id = ? AND status = 'Approved'", number)
        ]
        mean = sum(ratings) / len(ratings) if ratings else None
        is_salable = bool(row["is_in_stock"] and row["quantity"] > 0)
        for found in (card, queries.product(db, number)):
            assert (found["final_cents"], found["review_count"], found["is_salable"]) == (final, len(ratings), is_salable)
            assert found["rating"] == (pytest.approx(mean) if ratings else None)
    assert queries.product(db, cards[1]["sku"], "sku")["product_id"] == 1
    assert queries.product(db, 10**6) is None


def test_categories_contain_the_products_of_their_subcategories(db):
    (top, *_) = queries.subcategories(db, None)
    below = [top["category_id"]]
    for number in below:
        below += [row["category_id"] for row in queries.subcategories(db, number)]
    expected = {row["product_id"] for row in rows(db, "SELECT * FROM product WHERE is_enabled") if row["category_id"] in below}
    assert {row["product_id"] for row in queries.category_cards(db, top["category_id"])} == expected
    path = queries.category_path(db, below[-1])
    assert [row["category_id"] for row in path] == [top["category_id"], *[row["category_id"] for row in path[1:]]]
    assert path[-1]["category_id"] == below[-1]
    assert [row["parent_id"] for row in path[1:]] == [row["category_id"] for row in path[:-1]]


def test_cards_keep_the_order_of_ids(db):
    assert [row["product_id"] for row in queries.cards_by_id(db, [7, 3, 10**6, 5])] == [7, 3, 5]
    assert queries.cards_by_id(db, []) == []


def test_options_are_in_the_order_of_the_form(db):
    numbers = [row["product_id"] for row in rows(db, "SELECT DISTINCT product_id FROM product_option LIMIT 3")]
    found = queries.options(db, numbers)
    assert len(found) == len(
        rows(
            db,
            f"SELECT v.* FROM product_option_value v JOIN product_option o USING (option_id) WHERE o.product_id IN ({queries.marks(numbers)})",
            *numbers,
        )
    )
    assert [row["product_id"] for row in found] == sorted(row["product_id"] for row in found)


def test_items_of_orders_have_options_and_addresses_of_products_for_sale(db):
    number = rows(db, "SELECT order_id FROM order_item WHERE options != '{}' LIMIT 1")[0]["order_id"]
    for item in queries.order_items(db, number):
        (row,) = rows(
            db,
            "SELECT i.options, p.url_key, p.is_enabled FROM order_item i LEFT JOIN product p USING (product_id) WHERE item_id = ?",
            item["item_id"],
        )
        assert item["options"] == json.loads(row["options"])
        assert item["url_key"] == (row["url_key"] if row["is_enabled"] else None)


def test_numbers_settings_and_labels(db):
    greatest = max(int(row["increment_id"]) for row in rows(db, "SELECT increment_id FROM sales_order"))
    assert queries.next_increment_id(db, "sales_order") == f"{greatest + 1:09d}"
    assert queries.config(db, "no/such/path", "default") == "default"
    assert (
        queries.country(db)
        == rows(db, "SELECT value FROM store_config WHERE path = 'general/store_information/country'")[0]["value"]
    )
    assert [queries.status_label(status) for status in ("holded", "other")] == ["On Hold", "other"]
    assert [queries.marks(values) for values in ((), (1,), (1, 2))] == ["", "?", "?, ?"]
    assert queries.customer(db, 1)["customer_id"] == 1
    assert {row["customer_id"] for row in queries.addresses(db, 1)} == {1}
