"""Carts: amounts, variants, the stock, price rules and totals."""

import json
import sqlite3
from datetime import datetime

import pytest

from webarena_gym.sites.shopping import carts
from webarena_gym.sites.shopping.carts import Totals, cents, restock_variant, rule_discount, rules_in_force, variants_of

NOW = datetime(2023, 5, 10, 12)


def database(script):
    db = sqlite3.connect(":memory:")
    db.row_factory = sqlite3.Row
    db.executescript(script)
    return db


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("12", 1200),
        ("12.5", 1250),
        ("12.05", 1205),
        ("$3", 300),
        (" 1,234.50 ", 123450),
        ("12.345", 1234),
        ("", None),
        (None, None),
        ("-3", None),
    ],
)
def test_amounts_are_read_in_cents(text, amount):
    assert cents(text) == amount


@pytest.mark.parametrize(
    ("quantity", "in_stock", "pieces", "after"),
    [(3, 1, -1, (2, 1)), (1, 1, -1, (0, 0)), (0, 0, 2, (2, 1)), (2, 0, -1, (1, 0)), (2, 0, 1, (3, 1)), (2, 1, 0, (2, 1))],
)
def test_the_stock_of_a_variant_follows_sales_and_returns(quantity, in_stock, pieces, after):
    db = database("CREATE TABLE product_variant (variant_id, product_id, sku, options, quantity, is_in_stock)")
    options = json.dumps({"Size": "S"})
    db.execute("INSERT INTO product_variant VALUES (1, 7, 'A-S', ?, ?, ?)", (options, quantity, in_stock))
    (variant,) = variants_of(db, [7]).values()
    assert variant.available == (quantity if in_stock else 0)
    restock_variant(db, 7, options, pieces)
    restock_variant(db, 7, "{}", pieces)  # no such combination
    assert tuple(db.execute("SELECT quantity, is_in_stock FROM product_variant").fetchone()) == after
    carts.remove_variants(db, [8])
    assert variants_of(db, [7])
    carts.remove_variants(db, [7])
    assert not variants_of(db, [7])


def test_products_of_shops_without_variants_have_none():
    db = database("CREATE TABLE product (product_id)")
    assert variants_of(db, [1]) == {}
    restock_variant(db, 1, "{}", 1)


def test_rules_apply_on_their_days_and_with_their_coupon():
    db = database("CREATE TABLE cart_rule (rule_id, is_active, coupon_code, from_date, to_date, action, amount)")
    rules = [
        (1, 1, "", "", "", "by_percent", 10),
        (2, 0, "", "", "", "by_percent", 50),
        (3, 1, "SPRING", "2023-05-10", "2023-05-10", "by_fixed", 300),
        (4, 1, None, "2023-05-11 00:00:00", None, "by_fixed", 1),
        (5, 1, None, None, "2023-05-09", "by_fixed", 1),
    ]
    db.executemany("INSERT INTO cart_rule VALUES (?, ?, ?, ?, ?, ?, ?)", rules)
    assert [rule["rule_id"] for rule in rules_in_force(db, NOW, None)] == [1]
    both = rules_in_force(db, NOW, "spring")
    assert [rule["rule_id"] for rule in both] == [1, 3]
    assert rule_discount(both, 1005) == 101 + 300  # half a cent is rounded up
    assert rule_discount(both, 200) == 200
    assert rule_discount([], 200) == 0


def test_the_total_is_the_subtotal_less_the_discount_and_the_shipping():
    assert Totals(1000, 250, None, 500).grand_total_cents == 1250
    assert Totals(1000, 250, None, None).grand_total_cents == 750
