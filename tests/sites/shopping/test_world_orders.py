"""Generated orders: amounts add up, documents follow the status, and bestsellers are never tied."""

from collections import Counter

import pytest

from tests.generated import column, none, value, worlds

db = worlds("shopping", (1000,))


def test_totals_are_the_lines_less_the_discount_plus_the_shipping(db):
    none(db, "SELECT order_id FROM sales_order WHERE grand_total_cents != subtotal_cents - discount_cents + shipping_cents")
    none(
        db,
        """SELECT order_id FROM sales_order o WHERE subtotal_cents !=
        (SELECT sum(price_cents * qty_ordered) FROM order_item i WHERE i.order_id = o.order_id)""",
    )
    none(db, "SELECT 1 FROM sales_order WHERE discount_cents > subtotal_cents OR discount_cents < 0")
    none(db, "SELECT 1 FROM sales_order WHERE (shipping_method = 'Free Shipping') != (shipping_cents = 0)")


@pytest.mark.parametrize(
    ("status", "invoiced", "shipped"),
    [("pending", 0, 0), ("holded", 0, 0), ("canceled", 0, 0), ("processing", 1, None), ("complete", 1, 1), ("closed", 1, 1)],
)
def test_documents_follow_the_status(db, status, invoiced, shipped):
    assert value(db, "SELECT count(*) FROM sales_order WHERE status = ? AND customer_id = 1", status) >= 1
    items = db.execute("SELECT i.* FROM order_item i JOIN sales_order USING (order_id) WHERE status = ?", (status,)).fetchall()
    for item in items:
        assert item["qty_invoiced"] == invoiced * item["qty_ordered"]
        if shipped is None:
            assert item["qty_shipped"] in (0, item["qty_ordered"])
        else:
            assert item["qty_shipped"] == shipped * item["qty_ordered"]
        assert item["qty_canceled"] == (item["qty_ordered"] if status == "canceled" else 0)
        assert 0 <= item["qty_refunded"] <= item["qty_invoiced"]
        assert status != "closed" or item["qty_refunded"] == item["qty_ordered"]
    if status == "processing":
        whole = "SELECT count(*) FROM order_item i JOIN sales_order o USING (order_id) WHERE status = ? GROUP BY order_id HAVING min(qty_shipped) > 0"
        assert column(db, whole, status) == [], "an order that is sent completely is complete"


def test_documents_follow_each_other_and_precede_the_present(db):
    now = value(db, "SELECT value FROM world WHERE key = 'now'")
    for table in ("invoice", "shipment", "creditmemo", "order_comment"):
        none(
            db,
            f"SELECT 1 FROM {table} t JOIN sales_order o USING (order_id) WHERE t.created_at <= o.created_at OR t.created_at > ?",
            now,
        )
    none(db, "SELECT 1 FROM shipment s JOIN invoice i USING (order_id) WHERE s.created_at <= i.created_at")
    none(db, "SELECT 1 FROM creditmemo c JOIN shipment s USING (order_id) WHERE c.created_at <= s.created_at")


def test_numbers_of_parcels_fit_the_carrier(db):
    lengths = {"DHL": 10, "Federal Express": 12, "United States Postal Service": 22, "United Parcel Service": 18}
    rows = db.execute("SELECT carrier, number FROM shipment_track").fetchall()
    assert {row["carrier"] for row in rows} == lengths.keys()
    assert all(len(row["number"]) == lengths[row["carrier"]] for row in rows)


@pytest.mark.parametrize("canceled", [True, False])
@pytest.mark.parametrize("period", ["%Y-%m", "%Y", ""])
def test_the_five_bestsellers_of_a_period_sell_different_numbers_of_pieces(db, period, canceled):
    sold: dict[str, Counter[int]] = {}
    query = """SELECT strftime(?, o.created_at), product_id, qty_ordered FROM order_item JOIN sales_order o USING (order_id)
        WHERE ? OR status != 'canceled'"""
    for name, product_id, quantity in db.execute(query, (period, canceled)):
        sold.setdefault(name, Counter())[product_id] += quantity
    assert len(sold) == 1 or len(sold) > 1 == bool(period)
    for pieces in sold.values():
        best = sorted(pieces.values(), reverse=True)[:6]
        assert len(set(best)) == len(best)
