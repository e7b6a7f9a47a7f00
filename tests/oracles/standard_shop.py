"""Oracles of standard templates: the shop and its admin (see docs/oracles.md)."""

import re
from datetime import datetime
from typing import Any

from tests.oracles.framework import Case, Outcome, UnclearError, added, changed, consequence, only
from tests.oracles.shopping import ME, cents, into_cart, product_named, products
from tests.oracles.shopping_admin import SHOP, customer_named
from tests.oracles.shopping_orders import items_of, order_of, status


def money(amount: int) -> str:
    """Return an amount in cents as pages show it."""
    return f"${amount / 100:,.2f}"


_STATUSES = {"holded": "On Hold"}  # names of statuses that are not the capitalized codes


def status_name(order: dict[str, Any]) -> str:
    return _STATUSES.get(order["status"], order["status"].capitalize())


def _at_most_one(rows: list[dict[str, Any]], what: str) -> dict[str, Any] | None:
    """Return the row, or None if there is none. Raises UnclearError for several."""
    return dict(only(rows, what)) if rows else None


def _own_order(case: Case) -> dict[str, Any] | None:
    """Return the order of the goal, or None if the customer has no order of that number."""
    query = "SELECT * FROM sales_order WHERE increment_id = ? AND customer_id = ?"
    return _at_most_one(case.rows(SHOP, query, case["number"], ME), "own orders")


def _for_sale(case: Case) -> dict[str, Any] | None:
    """Return the product of the goal, or None if the shop does not show it."""
    return _at_most_one(products(case, "p.name = ? AND p.is_enabled", case["product"]), "products of that name")


def _exists(case: Case, query: str, *parameters: Any) -> bool:
    return bool(case.values(SHOP, query, *parameters))


def account_place(case: Case) -> Outcome:
    """Open a page of the account; the answer is a value on it."""
    reviews = "SELECT name, r.created_at FROM review r JOIN product USING (product_id) WHERE customer_id = ? ORDER BY 2 DESC"
    wishes = "SELECT name FROM wishlist_item JOIN product USING (product_id) WHERE customer_id = ? ORDER BY item_id"
    street = "SELECT street FROM customer_address WHERE customer_id = ? AND is_default_shipping"
    places = {
        ("account page", "which e-mail address it shows"): (
            "/customer/account/",
            "SELECT email FROM customer WHERE customer_id = ?",
        ),
        ("address book", "which street my default shipping address has"): ("/customer/address/", street),
        ("list of product reviews that I wrote", "which product the newest of them is about"): ("/review/customer/", reviews),
        ("name and email settings", "which last name is entered there"): (
            "/customer/account/edit/",
            "SELECT lastname FROM customer WHERE customer_id = ?",
        ),
        ("wish list", "which product stands first on it"): ("/wishlist/", wishes),
    }
    key = case["place"], case["question"]
    if key not in places:
        raise UnclearError(f"the page and question {key}")
    path, query = places[key]
    rows = [tuple(row.values()) for row in case.rows(SHOP, query, ME)]
    if len(rows) > 1 and rows[0][1:] and rows[0][1] == rows[1][1]:
        raise UnclearError("two reviews are the newest")
    return Outcome(str(rows[0][0]) if rows else "N/A", pages=[(path, {})])


def address_add(case: Case) -> Outcome:
    me = case.row(SHOP, "SELECT * FROM customer WHERE customer_id = ?", ME)
    address = {slot: case[slot] for slot in ("street", "city", "region", "postcode", "telephone")}
    own = {"firstname": me["firstname"], "lastname": me["lastname"], "is_default_billing": 0, "is_default_shipping": 0}
    return Outcome(changes=[added(SHOP, "customer_address", customer_id=ME, **own, **address)])


def brand_count(case: Case) -> Outcome:
    query = """WITH RECURSIVE below(category_id) AS (SELECT category_id FROM category WHERE name = ?
            UNION SELECT c.category_id FROM category c JOIN below b ON c.parent_id = b.category_id)
        SELECT coalesce(special_price_cents, price_cents) FROM product JOIN below USING (category_id)
        WHERE brand = ? AND is_enabled"""
    prices = case.values(SHOP, query, case["category"], case["brand"])
    if not prices:
        raise UnclearError("there is no such product: 0, or N/A?")
    return Outcome(f"{len(prices)}; {money(min(prices))}")


def brand_phone(case: Case) -> Outcome:
    """The page of a product has a phone number of its maker, or none of the maker's products has."""
    query = """SELECT product_id, value FROM product_attribute JOIN product USING (product_id)
        WHERE product_attribute.name = 'Phone' AND brand = ?"""
    rows, product = case.rows(SHOP, query, case["brand"]), product_named(case, case["product"])
    if product["brand"] != case["brand"]:
        raise UnclearError(f"the maker of the product is {product['brand']}")
    return Outcome(str(only({row["value"] for row in rows}, "phone numbers")) if rows else "N/A")


def cart_add_sold_out(case: Case) -> Outcome:
    product = _for_sale(case)
    if product is None:
        raise UnclearError("there is no such product")
    if not (product["is_in_stock"] and product["quantity"] > 0):
        return Outcome("N/A")
    if _exists(case, "SELECT 1 FROM product_option WHERE product_id = ?", product["product_id"]):
        raise UnclearError("the goal does not name the options")
    return Outcome(changes=into_cart(case, {product["product_id"]: 1}))


def cheaper_of_two(case: Case) -> Outcome:
    first, second = (product_named(case, case[slot]) for slot in ("first", "second"))
    if first["today"] == second["today"]:
        raise UnclearError("both cost the same")
    return Outcome(str(min(first, second, key=lambda product: product["today"])["name"]))


def compare_two(case: Case) -> Outcome:
    two = [product_named(case, case[slot])["product_id"] for slot in ("first", "second")]
    return Outcome(changes=[added(SHOP, "compare_item", product_id=number) for number in two])


def missing_order(case: Case) -> Outcome:
    order = _own_order(case)
    return Outcome(f"{status_name(order)}; {money(order['grand_total_cents'])}" if order else "N/A")


def missing_product(case: Case) -> Outcome:
    product = _for_sale(case)
    return Outcome(money(product["today"]) if product else "N/A")


def month_count(case: Case) -> Outcome:
    month = datetime.strptime(case["month"], "%B %Y").strftime("%Y-%m")
    query = """SELECT increment_id, created_at FROM sales_order WHERE customer_id = ? AND strftime('%Y-%m', created_at) = ?
        ORDER BY created_at"""
    orders = case.rows(SHOP, query, ME, month)
    if not orders:
        raise UnclearError("there is no such order: 0, or N/A?")
    if len(orders) > 1 and orders[0]["created_at"] == orders[1]["created_at"]:
        raise UnclearError("two orders are the earliest")
    return Outcome(f"{len(orders)}; {orders[0]['increment_id']}")


def order_payment(case: Case) -> Outcome:
    order = _own_order(case)
    return Outcome(f"{order['payment_method']}; {money(order['grand_total_cents'])}" if order else "N/A")


def order_place(case: Case) -> Outcome:
    order = _own_order(case)
    if order is None:
        return Outcome("N/A")
    return Outcome(money(order["grand_total_cents"]), pages=[(f"/sales/order/view/order_id/{order['order_id']}/", {})])


def order_quantity(case: Case) -> Outcome:
    order = _own_order(case)
    items = [item for item in items_of(case, order) if item["name"] == case["product"]] if order else []
    if not items:
        return Outcome("N/A")
    price = only({item["price_cents"] for item in items}, "prices")
    return Outcome(f"{sum(item['qty_ordered'] for item in items)}; {money(price)}")


def own_stars(case: Case) -> Outcome:
    query = "SELECT r.* FROM review r JOIN product USING (product_id) WHERE customer_id = ? AND name = ?"
    review = _at_most_one(case.rows(SHOP, query, ME, case["product"]), "own reviews")
    return Outcome(f"{review['rating']}; {review['title']}" if review else "N/A")


def order_tracking(case: Case) -> Outcome:
    query = "SELECT number FROM shipment_track JOIN shipment USING (shipment_id) WHERE order_id = ?"
    return Outcome(str(case.value(SHOP, query, order_of(case, case["number"])["order_id"])))


def product_stock(case: Case) -> Outcome:
    product = _for_sale(case)
    if product is None:
        return Outcome("N/A")
    stock = "In stock" if product["is_in_stock"] and product["quantity"] > 0 else "Out of stock"
    return Outcome(f"{stock}; {money(product['today'])}")


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
    query = "SELECT DISTINCT c.* FROM customer_address a JOIN customer c USING (customer_id) WHERE telephone = ?"
    customer = _at_most_one(case.rows(SHOP, query, case["phone"]), "customers")
    if customer:
        return Outcome([f"{customer['firstname']} {customer['lastname']}", customer["email"]])
    if _exists(case, "SELECT 1 FROM order_address WHERE telephone = ?", case["phone"]):
        raise UnclearError("only an order has the phone number")
    return Outcome("N/A")


def invoice_missing(case: Case) -> Outcome:
    invoice = _at_most_one(case.rows(SHOP, "SELECT * FROM invoice WHERE increment_id = ?", case["number"]), "invoices")
    return Outcome(money(invoice["grand_total_cents"]) if invoice else "N/A")


_RANKS = ("most recent", "second most recent", "third most recent", "fourth most recent", "fifth most recent")


def latest_of_status(case: Case) -> Outcome:
    """The rank counts the orders of that status only; two at the same time have no order."""
    if case["rank"] not in _RANKS:
        raise UnclearError(f"the rank {case['rank']}")
    orders = [order for order in case.rows(SHOP, "SELECT * FROM sales_order") if status_name(order) == case["status"]]
    days = sorted((datetime.fromisoformat(order["created_at"]) for order in orders), reverse=True)
    place = _RANKS.index(case["rank"])
    if place >= len(days):
        raise UnclearError(f"{len(days)} orders are {case['status']}")
    if days.count(days[place]) > 1:
        raise UnclearError("two orders are of the same time")
    return Outcome(f"{days[place]:%B} {days[place].day}, {days[place].year}")


def _month(text: str) -> str:
    return datetime.strptime(text, "%B %Y").strftime("%Y-%m")


def busiest_month(case: Case) -> Outcome:
    query = """SELECT strftime('%Y-%m', created_at) AS month, count(*) AS orders FROM sales_order
        WHERE status <> 'canceled' GROUP BY month HAVING month >= ? AND month <= ? ORDER BY orders DESC"""
    rows = case.rows(SHOP, query, _month(case["start"]), _month(case["end"]))
    if len(rows) > 1 and rows[0]["orders"] == rows[1]["orders"]:
        raise UnclearError("two months have as many orders")
    return Outcome(f"{datetime.strptime(rows[0]['month'], '%Y-%m'):%B %Y}")


def accounts_of_month(case: Case) -> Outcome:
    query = "SELECT count(*) FROM customer WHERE strftime('%Y-%m', created_at) = ?"
    one, other = (case.value(SHOP, query, _month(case[slot])) for slot in ("month", "later"))
    return Outcome((one, other))


def latest_pieces(case: Case) -> Outcome:
    query = """SELECT sum(qty_ordered) FROM order_item WHERE order_id IN
        (SELECT order_id FROM sales_order ORDER BY created_at DESC LIMIT ?)"""
    return Outcome(case.value(SHOP, query, int(case["count"])))


_LISTS = {  # pages and their rows
    "all credit memos": ("/admin/sales/creditmemo/", "creditmemo"),
    "all entries of newsletter subscribers": ("/admin/newsletter/subscriber/", "newsletter_subscriber"),
    "all invoices": ("/admin/sales/invoice/", "invoice"),
    "all orders": ("/admin/sales/order/", "sales_order"),
    "all reviews": ("/admin/review/product/index/", "review"),
    "all reviews that are pending": ("/admin/review/product/pending/", "review WHERE status = 'Pending'"),
    "all shipments": ("/admin/sales/shipment/", "shipment"),
}


def list_page(case: Case) -> Outcome:
    if case["listed"] not in _LISTS:
        raise UnclearError(f"the list {case['listed']!r}")
    path, table = _LISTS[case["listed"]]
    return Outcome(case.value(SHOP, f"SELECT count(*) FROM {table}"), pages=[(path, {})])


def move_customer(case: Case) -> Outcome:
    query = "SELECT * FROM customer_address WHERE customer_id = ?"
    address = case.row(SHOP, query, customer_named(case, case["customer"]))
    new = {slot: case[slot] for slot in ("street", "city", "region", "postcode") if case[slot] != address[slot]}
    return Outcome(changes=[changed(SHOP, "customer_address", address["address_id"], **new)])


def order_missing(case: Case) -> Outcome:
    query = "SELECT * FROM sales_order WHERE increment_id = ?"
    order = _at_most_one(case.rows(SHOP, query, case["number"]), "orders")
    return Outcome(f"{status_name(order)}; {money(order['grand_total_cents'])}" if order else "N/A")


def orders_in_status(case: Case) -> Outcome:
    code = {"on hold": "holded"}.get(case["status"], case["status"])
    return Outcome(pages=[("/admin/sales/order/", {"status": code})])


def product_missing(case: Case) -> Outcome:
    quantities = case.values(SHOP, "SELECT quantity FROM product WHERE name = ?", case["product"])
    return Outcome(only(quantities, "products") if quantities else "N/A")


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
    "shopping.account_place": account_place,
    "shopping.address_add": address_add,
    "shopping.brand_count": brand_count,
    "shopping.brand_phone": brand_phone,
    "shopping.cart_add_sold_out": cart_add_sold_out,
    "shopping.cheaper_of_two": cheaper_of_two,
    "shopping.compare_two": compare_two,
    "shopping.missing_order": missing_order,
    "shopping.missing_product": missing_product,
    "shopping.month_count": month_count,
    "shopping.order_payment": order_payment,
    "shopping.order_place": order_place,
    "shopping.order_quantity": order_quantity,
    "shopping.order_status": missing_order,
    "shopping.order_tracking": order_tracking,
    "shopping.own_stars": own_stars,
    "shopping.product_stock": product_stock,
    "shopping.reviews_place": reviews_place,
    "shopping.sorted_place": sorted_place,
    "shopping_admin.accounts_of_month": accounts_of_month,
    "shopping_admin.busiest_month": busiest_month,
    "shopping_admin.change_group_and_list": change_group_and_list,
    "shopping_admin.create_rule": create_rule,
    "shopping_admin.customer_missing": customer_missing,
    "shopping_admin.invoice_missing": invoice_missing,
    "shopping_admin.latest_of_status": latest_of_status,
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
