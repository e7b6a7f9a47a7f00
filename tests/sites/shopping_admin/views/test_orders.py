"""Orders of the admin: holds, cancellations, invoices, shipments, refunds and comments."""

import pytest

from tests.shopping_rows import NOW
from webarena_gym.sites.country.texts import money


def test_cancel_needs_the_form_key_and_returns_goods_to_stock(person):
    order_id = person.order_in("pending")
    answer = person.send("POST", f"/admin/sales/order/cancel/order_id/{order_id}/", {"form_key": "0" * 16})
    assert answer.status == 400
    assert person.status(order_id) == "pending"
    order_id = person.order_in("pending")
    lines = person.sql("SELECT product_id, qty_ordered FROM order_item WHERE order_id = ?", order_id)
    stock = dict(person.sql("SELECT product_id, quantity FROM product"))
    person.open(f"/admin/sales/order/view/order_id/{order_id}/").click("Cancel").shows_messages("You canceled the order.")
    assert person.status(order_id) == "canceled"
    for product_id, quantity in lines:
        assert person.value("SELECT quantity FROM product WHERE product_id = ?", product_id) == stock[product_id] + quantity
    again = person.send("POST", f"/admin/sales/order/cancel/order_id/{order_id}/", {"form_key": person.form_key})
    assert again.status == 302
    assert person.sql("SELECT quantity FROM product WHERE product_id = ?", lines[0][0]) == [stock[lines[0][0]] + lines[0][1]]


def test_order_page(person):
    order_id = person.value("SELECT min(order_id) FROM sales_order WHERE coupon_code IS NOT NULL AND status = 'closed'")
    person.open("/admin/sales/order/").open(f"/admin/sales/order/view/order_id/{order_id}/")
    columns = "customer_name, customer_email, subtotal_cents, discount_cents, grand_total_cents"
    (row,) = person.sql(f"SELECT {columns} FROM sales_order WHERE order_id = ?", order_id)
    person.sees(
        *row[:2], *map(money, (row[2], -row[3], row[4])), "1 Elm St", "Flat Rate - Fixed", f"Credit Memo #{order_id:09d}"
    )
    assert len(person.table) == person.value("SELECT count(*) FROM order_item WHERE order_id = ?", order_id)


@pytest.mark.parametrize("status", ["pending", "processing"])
def test_hold_and_unhold(person, status):
    order_id = person.order_in(status)
    assert person.open(f"/admin/sales/order/view/order_id/{order_id}/").click("Hold").status(order_id) == "holded"
    assert not person.root.xpath("//a[.='Invoice' or .='Ship']")
    assert person.click("Unhold").status(order_id) == status


@pytest.mark.parametrize("status", ["complete", "canceled", "closed", "holded"])
def test_finished_orders_refuse(person, status):
    order_id, key = person.order_in(status), {"form_key": person.form_key}
    for action in ("cancel", "hold"):
        person.send("POST", f"/admin/sales/order/{action}/order_id/{order_id}/", key)
    for path in ("sales/order_invoice", "admin/order_shipment"):
        person.send("POST", f"/admin/{path}/new/order_id/{order_id}/", key)
        assert person.send("GET", f"/admin/{path}/new/order_id/{order_id}/").status == 302
    assert person.status(order_id) == status


def test_invoice_ship_and_refund_the_whole_order(person):
    order_id = person.order_in("pending")
    url, total = f"/admin/sales/order/view/order_id/{order_id}/", person.value(
        "SELECT grand_total_cents FROM sales_order WHERE order_id = ?", order_id
    )  # fmt: skip
    person.open(url).click("Invoice", "Submit Invoice").shows_messages("The invoice has been created.").at(url)
    assert person.sql("SELECT grand_total_cents, created_at FROM invoice WHERE order_id = ?", order_id) == [(total, str(NOW))]
    assert person.status(order_id) == "processing"
    person.click("Ship").choose("Carrier", "Federal Express").fill({"Number": "TR-77"}).click("Submit Shipment")
    assert person.status(order_id) == "complete"
    shipment_id = person.value("SELECT shipment_id FROM shipment WHERE order_id = ?", order_id)
    track = ("Federal Express", "Federal Express", "TR-77")
    assert person.sql("SELECT carrier, title, number FROM shipment_track WHERE shipment_id = ?", shipment_id) == [track]
    assert "Federal Express: TR-77" in person.text
    (product_id, bought), *_ = person.sql("SELECT product_id, qty_ordered FROM order_item WHERE order_id = ?", order_id)
    before = person.value("SELECT quantity FROM product WHERE product_id = ?", product_id)
    assert person.click("Credit Memo", "Refund Offline").status(order_id) == "closed"
    assert person.sql("SELECT grand_total_cents FROM creditmemo WHERE order_id = ?", order_id) == [total]
    assert person.value("SELECT quantity FROM product WHERE product_id = ?", product_id) == before + bought


def test_parts_add_up_to_the_whole(person):
    order_id = person.value(
        """SELECT order_id FROM sales_order JOIN order_item USING (order_id) WHERE status = 'pending' AND coupon_code = 'TEN'
           GROUP BY order_id HAVING count(*) > 1 LIMIT 1"""
    )
    person.db.execute("UPDATE sales_order SET discount_cents = 1001, grand_total_cents = subtotal_cents + shipping_cents - 1001 WHERE order_id = ?", (order_id,))  # fmt: skip
    lines = person.sql("SELECT item_id, sku FROM order_item WHERE order_id = ?", order_id)
    for column, name, button in (
        ("invoiced", "Invoice", "Submit Invoice"),
        ("shipped", "Ship", "Submit Shipment"),
        ("refunded", "Credit Memo", "Refund Offline"),
    ):
        for place, (item_id, sku) in enumerate(lines):
            person.open(f"/admin/sales/order/view/order_id/{order_id}/").click(name)
            for other, other_sku in lines[place + 1 :]:
                person.fill({f"Qty of {other_sku}": "0"})
                assert person.value(f"SELECT qty_{column} FROM order_item WHERE item_id = ?", other) == 0
            person.click(button)
            is_done = person.value(f"SELECT qty_{column} = qty_ordered FROM order_item WHERE item_id = ?", item_id)
            assert is_done, (sku, person.messages)
    total = person.value("SELECT grand_total_cents FROM sales_order WHERE order_id = ?", order_id)
    assert person.sql("SELECT sum(grand_total_cents) FROM invoice WHERE order_id = ?", order_id) == [total]
    assert person.sql("SELECT sum(grand_total_cents) FROM creditmemo WHERE order_id = ?", order_id) == [total]
    assert person.status(order_id) == "closed"


def test_too_much_is_refused(person):
    order_id = person.order_in("processing")
    person.open(f"/admin/sales/order/view/order_id/{order_id}/").click("Ship")
    sku = person.table[0][1]
    person.fill({f"Qty of {sku}": "99"}).click("Submit Shipment")
    assert "can be at most" in person.messages[0]
    person.open(f"/admin/sales/order/view/order_id/{order_id}/").click("Credit Memo")
    person.fill({"Refund Shipping": "9999"}).click("Refund Offline")
    assert "of shipping can be refunded" in person.messages[0]
    person.fill({"Refund Shipping": "0", "Adjustment Refund": "9999"}).click("Refund Offline")
    assert person.messages[0].startswith("At most $")
    person.fill({"Adjustment Refund": "", "Adjustment Fee": "99999"}).click("Refund Offline")
    assert "more than zero" in person.messages[0]
    person.fill({"Adjustment Fee": "-5"}).click("Refund Offline")
    assert "at least 0.00" in person.messages[0]
    assert not person.sql("SELECT 1 FROM creditmemo WHERE order_id = ?", order_id)
    assert person.status(order_id) == "processing"


def test_comment_tracking_number_and_address(person):
    order_id = person.order_in("complete")
    url = f"/admin/sales/order/view/order_id/{order_id}/"
    person.open(url).fill({"Comment": "Sorry <b>for</b> the wait"}).click("Notify Customer by Email", "Submit Comment")
    comment = ("complete", "Sorry <b>for</b> the wait", 1, 0, str(NOW))
    columns = "status, comment, is_customer_notified, is_visible_on_front, created_at"
    assert person.sql(f"SELECT {columns} FROM order_comment WHERE order_id = ?", order_id) == [comment]
    person.sees("Sorry <b>for</b> the wait").click("Submit Comment")
    assert "required" in person.messages[0]
    person.click(f"Shipment #{order_id:09d}").choose("Carrier", "DHL").fill({"Title": "Express", "Number": "D 1"})
    assert person.click("Add Tracking Number").table == [["DHL", "Express", "D 1"]]
    person.open(url).click("Edit Shipping Address").fill({"City": ""}).click("Save").shows_messages(
        "City: this is a required field."
    )
    person.fill({"City": "Delft"}).click("Save").at(url)
    query = "SELECT kind, city FROM order_address WHERE order_id = ? ORDER BY kind"
    person.holds([("billing", "Salem"), ("shipping", "Delft")], query, order_id)
