"""Oracles of sixty standard templates, drawn by lot: the shop and its admin."""

import re
from datetime import datetime
from typing import Any

from tests.oracles.framework import Case, Outcome, UnclearError, added, changed, consequence
from tests.oracles.shopping import ME, cents, product_named
from tests.oracles.shopping_admin import SHOP, customer_named
from tests.oracles.shopping_orders import items_of, order_of, status


def _exists(case: Case, query: str, *parameters: Any) -> bool:
    return bool(case.values(SHOP, query, *parameters))


def address_add(case: Case) -> Outcome:
    me = case.row(SHOP, "SELECT * FROM customer WHERE customer_id = ?", ME)
    address = {slot: case[slot] for slot in ("street", "city", "region", "postcode", "telephone")}
    own = {"firstname": me["firstname"], "lastname": me["lastname"], "is_default_billing": 0, "is_default_shipping": 0}
    return Outcome(changes=[added(SHOP, "customer_address", customer_id=ME, **own, **address)])


def brand_count(case: Case) -> Outcome:
    query = """WITH RECURSIVE below(category_id) AS (SELECT category_id FROM category WHERE name = ?
            UNION SELECT c.category_id FROM category c JOIN below b ON c.parent_id = b.category_id)
        SELECT count(*) FROM product JOIN below USING (category_id) WHERE brand = ? AND is_enabled"""
    return Outcome(case.value(SHOP, query, case["category"], case["brand"]))


def cart_add_sold_out(case: Case) -> Outcome:
    product = product_named(case, case["product"])
    if product["is_in_stock"] and product["quantity"] > 0:
        raise UnclearError("the product is in stock")
    return Outcome("N/A")


def cheaper_of_two(case: Case) -> Outcome:
    first, second = (product_named(case, case[slot]) for slot in ("first", "second"))
    if first["today"] == second["today"]:
        raise UnclearError("both cost the same")
    return Outcome(str(min(first, second, key=lambda product: product["today"])["name"]))


def compare_two(case: Case) -> Outcome:
    two = [product_named(case, case[slot])["product_id"] for slot in ("first", "second")]
    return Outcome(changes=[added(SHOP, "compare_item", product_id=number) for number in two])


def missing_product(case: Case) -> Outcome:
    if _exists(case, "SELECT 1 FROM product WHERE name = ? AND is_enabled", case["product"]):
        raise UnclearError("there is such a product")
    return Outcome("N/A")


def month_count(case: Case) -> Outcome:
    month = datetime.strptime(case["month"], "%B %Y").strftime("%Y-%m")
    query = "SELECT count(*) FROM sales_order WHERE customer_id = ? AND strftime('%Y-%m', created_at) = ?"
    return Outcome(case.value(SHOP, query, ME, month))


def order_payment(case: Case) -> Outcome:
    return Outcome(str(order_of(case, case["number"])["payment_method"]))


def order_place(case: Case) -> Outcome:
    return Outcome(pages=[(f"/sales/order/view/order_id/{order_of(case, case['number'])['order_id']}/", {})])


def order_quantity(case: Case) -> Outcome:
    items = [item for item in items_of(case, order_of(case, case["number"])) if item["name"] == case["product"]]
    return Outcome(sum(item["qty_ordered"] for item in items))


def order_tracking(case: Case) -> Outcome:
    query = "SELECT number FROM shipment_track JOIN shipment USING (shipment_id) WHERE order_id = ?"
    return Outcome(str(case.value(SHOP, query, order_of(case, case["number"])["order_id"])))


def product_stock(case: Case) -> Outcome:
    product = product_named(case, case["product"])
    return Outcome("yes" if product["is_in_stock"] and product["quantity"] > 0 else "no")


def reviews_place(case: Case) -> Outcome:
    product = product_named(case, case["product"])
    return Outcome(pages=[(f"/review/product/list/id/{product['product_id']}/", {}), (f"/{product['url_key']}.html", {})])


def sorted_place(case: Case) -> Outcome:
    path = case.value(SHOP, "SELECT url_path FROM category WHERE name = ?", case["category"])
    pages = [(f"/{path}.html", {"product_list_order": "price"})]
    if case["extreme"] == "most expensive":
        pages[0][1]["product_list_dir"] = "desc"
    return Outcome(pages=pages)


def change_group_and_list(case: Case) -> Outcome:
    customer = customer_named(case, case["customer"])
    page = "/admin/customer/index/", {"group": case["group"]}
    return Outcome(changes=[changed(SHOP, "customer", customer, group_name=case["group"])], pages=[page])


def create_rule(case: Case) -> Outcome:
    percent = re.fullmatch(r"(\d+) percent off", case["discount"])
    fixed = re.fullmatch(r"(\$[\d.]+) off the whole cart", case["discount"])
    if percent:
        discount: dict[str, Any] = {"action": "by_percent", "amount": int(percent[1])}
    elif fixed:
        discount = {"action": "cart_fixed", "amount": cents(fixed[1])}
    else:
        raise UnclearError(f"the discount {case['discount']!r}")
    return Outcome(changes=[added(SHOP, "cart_rule", name=case["name"], coupon_code=case["code"], is_active=1, **discount)])


def customer_missing(case: Case) -> Outcome:
    if _exists(case, "SELECT 1 FROM customer_address WHERE telephone = ?", case["phone"]):
        raise UnclearError("there is such a customer")
    return Outcome("N/A")


def latest_pieces(case: Case) -> Outcome:
    query = """SELECT sum(qty_ordered) FROM order_item WHERE order_id IN
        (SELECT order_id FROM sales_order ORDER BY created_at DESC LIMIT ?)"""
    return Outcome(case.value(SHOP, query, int(case["count"])))


_LISTS = {
    "all cart price rules": "/admin/sales_rule/promo_quote/",
    "all categories": "/admin/catalog/category/",
    "all credit memos": "/admin/sales/creditmemo/",
    "all customers": "/admin/customer/index/",
    "all invoices": "/admin/sales/invoice/",
    "all pages of content": "/admin/cms/page/",
    "all shipments": "/admin/sales/shipment/",
    "all terms that people searched the shop for": "/admin/search/term/index/",
    "everyone who is subscribed to the newsletter": "/admin/newsletter/subscriber/",
    "the configuration of the store": "/admin/admin/system_config/",
    "the report of the products that are low in stock": "/admin/reports/report_product/lowstock/",
    "the reviews each customer has written": "/admin/reports/report_review/customer/",
    "the reviews each product has got": "/admin/reports/report_review/product/",
}


def list_page(case: Case) -> Outcome:
    if case["listed"] not in _LISTS:
        raise UnclearError(f"the list {case['listed']!r}")
    return Outcome(pages=[(_LISTS[case["listed"]], {})])


def move_customer(case: Case) -> Outcome:
    query = "SELECT * FROM customer_address WHERE customer_id = ?"
    address = case.row(SHOP, query, customer_named(case, case["customer"]))
    new = {slot: case[slot] for slot in ("street", "city", "region", "postcode") if case[slot] != address[slot]}
    return Outcome(changes=[changed(SHOP, "customer_address", address["address_id"], **new)])


def order_missing(case: Case) -> Outcome:
    if _exists(case, "SELECT 1 FROM sales_order WHERE increment_id = ?", case["number"]):
        raise UnclearError("there is such an order")
    return Outcome("N/A")


def orders_in_status(case: Case) -> Outcome:
    code = {"on hold": "holded"}.get(case["status"], case["status"])
    return Outcome(pages=[("/admin/sales/order/", {"status": code})])


def product_missing(case: Case) -> Outcome:
    if _exists(case, "SELECT 1 FROM product WHERE name = ?", case["product"]):
        raise UnclearError("there is such a product")
    return Outcome("N/A")


def refund_order(case: Case) -> Outcome:
    order = order_of(case, case["number"])
    memo = {"grand_total_cents": order["grand_total_cents"], "refund_shipping_cents": order["shipping_cents"]}
    outcome = Outcome(changes=[added(SHOP, "creditmemo", order_id=order["order_id"], **memo), status(order, "closed")])
    for item in items_of(case, order):
        outcome.changes.append(changed(SHOP, "order_item", item["item_id"], qty_refunded=item["qty_ordered"]))
        outcome.allowed.append(consequence(SHOP, "product", item["product_id"]))
    return outcome


def rule_of_coupon(case: Case) -> Outcome:
    return Outcome(str(case.value(SHOP, "SELECT name FROM cart_rule WHERE coupon_code = ?", case["code"])))


def ship_order(case: Case) -> Outcome:
    order = order_of(case, case["number"])
    shipment = added(SHOP, "shipment", order_id=order["order_id"])
    outcome = Outcome(changes=[shipment, added(SHOP, "shipment_track", carrier=case["carrier"], number=case["track"])])
    for item in items_of(case, order):
        shipped = item["qty_ordered"] - item["qty_canceled"]
        outcome.changes.append(changed(SHOP, "order_item", item["item_id"], qty_shipped=shipped))
    invoiced = all(item["qty_invoiced"] == item["qty_ordered"] - item["qty_canceled"] for item in items_of(case, order))
    new = "complete" if invoiced else "processing"
    if order["status"] != new:
        outcome.changes.append(status(order, new))
    return outcome


ORACLES = {
    "shopping.address_add": address_add,
    "shopping.brand_count": brand_count,
    "shopping.cart_add_sold_out": cart_add_sold_out,
    "shopping.cheaper_of_two": cheaper_of_two,
    "shopping.compare_two": compare_two,
    "shopping.missing_product": missing_product,
    "shopping.month_count": month_count,
    "shopping.order_payment": order_payment,
    "shopping.order_place": order_place,
    "shopping.order_quantity": order_quantity,
    "shopping.order_tracking": order_tracking,
    "shopping.product_stock": product_stock,
    "shopping.reviews_place": reviews_place,
    "shopping.sorted_place": sorted_place,
    "shopping_admin.change_group_and_list": change_group_and_list,
    "shopping_admin.create_rule": create_rule,
    "shopping_admin.customer_missing": customer_missing,
    "shopping_admin.latest_pieces": latest_pieces,
    "shopping_admin.list_page": list_page,
    "shopping_admin.move_customer": move_customer,
    "shopping_admin.order_missing": order_missing,
    "shopping_admin.order_tracking": order_tracking,
    "shopping_admin.orders_in_status": orders_in_status,
    "shopping_admin.product_missing": product_missing,
    "shopping_admin.refund_order": refund_order,
    "shopping_admin.rule_of_coupon": rule_of_coupon,
    "shopping_admin.ship_order": ship_order,
}
