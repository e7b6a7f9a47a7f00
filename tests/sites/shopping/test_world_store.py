"""The generated shop: sizes, people, orders and texts agree with each other."""

import json

import pytest

from tests.generated import column, none, value

OF_STATUS = "SELECT o.order_id FROM sales_order o JOIN order_item i USING (order_id) WHERE o.status"
FAULTS = [
    f"{OF_STATUS} IN ('complete', 'closed') AND (qty_invoiced != qty_ordered OR qty_shipped != qty_ordered OR qty_canceled)",
    f"{OF_STATUS} = 'closed' AND qty_refunded != qty_ordered",
    f"{OF_STATUS} = 'processing' AND (qty_invoiced != qty_ordered OR qty_shipped > qty_ordered OR qty_refunded)",
    f"{OF_STATUS} IN ('pending', 'holded') AND qty_invoiced + qty_shipped + qty_refunded + qty_canceled > 0",
    f"{OF_STATUS} = 'canceled' AND (qty_canceled != qty_ordered OR qty_invoiced + qty_shipped + qty_refunded > 0)",
    "PRAGMA foreign_key_check",
    "SELECT name FROM product WHERE category_id IN (SELECT parent_id FROM category WHERE parent_id IS NOT NULL)",
    "SELECT name FROM product WHERE is_in_stock != (quantity > 0) OR price_cents <= 0 OR special_price_cents >= price_cents",
    "SELECT title FROM product_option o WHERE (SELECT count(*) FROM product_option_value v WHERE v.option_id = o.option_id) < 2",
    "SELECT 1 FROM product_option o JOIN product_attribute a ON a.product_id = o.product_id AND a.name = o.title",
    "SELECT option_id FROM product_option_value GROUP BY option_id, label HAVING count(*) > 1",
    "SELECT product_id FROM product_attribute GROUP BY product_id HAVING count(*) NOT BETWEEN 2 AND 6",
    "SELECT item_id FROM cart_item JOIN cart USING (cart_id) WHERE customer_id = 1",
    "SELECT customer_id FROM customer_address GROUP BY customer_id HAVING sum(is_default_billing) > 1",
    "SELECT order_id FROM sales_order o JOIN customer c USING (customer_id) WHERE o.created_at <= c.created_at",
    "SELECT 1 FROM invoice i JOIN sales_order o USING (order_id) WHERE i.created_at <= o.created_at",
    "SELECT 1 FROM shipment s JOIN invoice i USING (order_id) WHERE s.created_at <= i.created_at",
    "SELECT 1 FROM creditmemo m JOIN shipment s USING (order_id) WHERE m.created_at <= s.created_at",
    "SELECT o.order_id FROM sales_order o JOIN order_item i USING (order_id) GROUP BY o.order_id HAVING sum(i.price_cents * i.qty_ordered) != o.subtotal_cents OR o.subtotal_cents - o.discount_cents + o.shipping_cents != o.grand_total_cents",
    "SELECT 1 FROM sales_order WHERE (discount_cents = 0) != (coupon_code IS NULL)",
    "SELECT 1 FROM sales_order o JOIN invoice i USING (order_id) WHERE i.grand_total_cents != o.grand_total_cents",
    "SELECT m.order_id FROM creditmemo m JOIN sales_order o USING (order_id) JOIN order_item i USING (order_id) GROUP BY m.order_id HAVING m.grand_total_cents != sum(i.price_cents * i.qty_refunded) - o.discount_cents + m.refund_shipping_cents + m.adjustment_cents",
    "SELECT 1 FROM cart_rule r WHERE times_used != (SELECT count(*) FROM sales_order o WHERE o.coupon_code = r.coupon_code)",
    "SELECT o.order_id FROM sales_order o LEFT JOIN cart_rule r USING (coupon_code) WHERE o.coupon_code IS NOT NULL AND NOT coalesce(substr(o.created_at, 1, 10) BETWEEN r.from_date AND coalesce(r.to_date, '9'), 0)",
    "SELECT o.order_id FROM sales_order o JOIN order_item i USING (order_id) GROUP BY o.order_id HAVING shipping_cents != CASE shipping_method WHEN 'Free Shipping' THEN 0 WHEN 'Best Way - Table Rate' THEN 1500 WHEN 'Flat Rate - Fixed' THEN 500 * sum(qty_ordered) END",
    "SELECT order_id FROM order_item GROUP BY order_id HAVING sum(qty_refunded) = sum(qty_ordered) AND order_id NOT IN (SELECT order_id FROM sales_order WHERE status = 'closed')",
    "SELECT review_id FROM review r WHERE customer_id IS NOT NULL AND NOT EXISTS ( SELECT 1 FROM order_item i JOIN sales_order o USING (order_id) WHERE i.product_id = r.product_id AND o.customer_id = r.customer_id AND o.created_at < r.created_at AND i.qty_shipped > 0)",
    "SELECT product_id FROM review GROUP BY product_id, nickname HAVING count(*) > 1",
    "SELECT customer_id FROM review WHERE customer_id IS NOT NULL GROUP BY customer_id HAVING count(DISTINCT nickname) > 1",
]
"""Queries of what must not be in any world, a line each."""


def test_no_world_has_a_fault_or_a_letter_beyond_ascii(db):
    for query in FAULTS:
        none(db, query)
    for table in column(db, "SELECT name FROM sqlite_master WHERE type = 'table'"):
        assert all(str(cell).isascii() for row in db.execute(f"SELECT * FROM {table}") for cell in row)


def test_sizes_catalogue_and_people(db):
    assert len(db.serialize()) < 1_500_000
    tables = ["product", "customer", "sales_order", "review", "search_term", "cart_rule", "cms_page", "theme", "session"]
    counts = {table: value(db, f"SELECT count(*) FROM {table}") for table in tables}
    assert 270 <= counts["product"] <= 340
    assert 300 <= counts["sales_order"] <= 390
    assert 600 <= counts["review"] <= 800
    assert [counts[name] for name in ("customer", *tables[4:])] == [72, 25, 8, 8, 4, 2]
    assert 6 <= value(db, "SELECT count(*) FROM category WHERE parent_id IS NULL") <= 7
    assert value(db, "SELECT count(*) FROM product WHERE NOT is_enabled") == 4
    assert value(db, "SELECT avg(special_price_cents IS NOT NULL) FROM product") == pytest.approx(0.15, abs=0.07)
    assert value(db, "SELECT avg(quantity = 0) FROM product") == pytest.approx(0.08, abs=0.04)
    assert value(db, "SELECT count(DISTINCT product_id) FROM product_option") > 60
    assert value(db, "SELECT max(n) FROM (SELECT count(*) n FROM product GROUP BY brand)") >= 10
    phones = column(db, "SELECT DISTINCT telephone FROM customer_address")
    assert len(phones) == value(db, "SELECT count(*) FROM customer_address")
    assert value(db, "SELECT count(*) FROM customer_address WHERE customer_id = 1") == 2
    assert value(db, "SELECT count(*) FROM wishlist_item WHERE customer_id = 1") <= 3
    assert value(db, "SELECT count(*) FROM customer") > value(db, "SELECT count(DISTINCT firstname) FROM customer")
    expected = [{"site": "shopping", "customer_id": 1}, {"site": "shopping_admin", "admin_id": 1}]
    assert {*column(db, "SELECT data FROM session")} == {*map(json.dumps, expected)}


def test_time_runs_forward_and_papers_agree_with_status(db):
    (now,) = column(db, "SELECT value FROM world WHERE key = 'now'")
    assert "2022" <= now < "2025"
    for table in ("product", "customer", "sales_order", "invoice", "shipment", "creditmemo", "review", "order_comment"):
        moments = column(db, f"SELECT created_at FROM {table} ORDER BY rowid")
        assert moments == sorted(moments)
        assert moments[-1] < now
    for table in ("sales_order", "invoice", "shipment", "creditmemo"):
        assert column(db, f"SELECT increment_id FROM {table} ORDER BY rowid")[:2] == ["000000001", "000000002"]
    assert len(set(column(db, "SELECT created_at FROM sales_order"))) == value(db, "SELECT count(*) FROM sales_order")
    for table, amount in (("invoice", "qty_invoiced"), ("shipment", "qty_shipped"), ("creditmemo", "qty_refunded")):
        papers = column(db, f"SELECT order_id FROM {table} ORDER BY order_id")
        assert papers == column(db, f"SELECT DISTINCT order_id FROM order_item WHERE {amount} > 0 ORDER BY order_id")
    for status in ("pending", "processing", "complete", "canceled", "closed", "holded"):
        assert value(db, "SELECT count(*) FROM sales_order WHERE customer_id = 1 AND status = ?", status) >= 1
    assert 25 <= value(db, "SELECT count(*) FROM sales_order WHERE customer_id = 1") <= 40
