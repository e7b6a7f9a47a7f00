"""A small shop for tests of its admin: two years of orders in every state, drawn from one integer."""

import random
from collections import defaultdict
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from tests.visitors import rows_of, small_database

NOW = datetime(2023, 6, 15, 10, 0)
NAMES = ("Ada Brook", "Ben Cole", "Cleo Dunn", "Dora Éclair", "Emil Frost", "Fay O'Gray")
GOODS = ("Canvas Backpack", "Steel Bottle", "Wool Scarf", "Desk Lamp", "Chess Set", "Rain Jacket", "Tea Pot", "Yoga Mat")
STATES = ("pending", "processing", "complete", "complete", "canceled", "closed", "holded")

ITEM = """order_item (order_id, product_id, sku, name, price_cents, qty_ordered, qty_invoiced, qty_shipped, qty_refunded,
    qty_canceled)"""


@cache
def small_shop(seed: int = 3, orders: int = 60) -> bytes:
    """Return the shop's database."""
    rows, dice = defaultdict(list, rows_of("shop_of_admin")), random.Random(seed)
    for order_id in range(1, orders + 1):
        for table, row in _order(dice, order_id):
            rows[table].append(row)
    terms = enumerate(("bag", "lamp", "tea", "gift <b>"), start=1)
    rows["search_term"] = [(n, text, n, dice.randint(1, 40), str(NOW)) for n, text in terms]
    for n in range(1, 31):
        customer_id, product_id, stars = dice.choice([None, 1, 2, 3]), dice.randint(1, len(GOODS)), dice.randint(1, 5)
        status, moment = dice.choice(["Approved", "Pending", "Not Approved"]), f"2023-0{dice.randint(1, 5)}-10 12:00:00"
        row = (n, product_id, customer_id, "Nick", f"Review {n}", "Fine <i>thing</i>", stars, status, moment)
        rows["review"].append(row)
    return small_database("shopping", rows).serialize()


def _order(dice: random.Random, n: int) -> list[tuple[str, tuple[Any, ...]]]:
    """Draw an order, and return its rows with their tables."""
    state, customer_id = dice.choice(STATES), dice.randint(1, len(NAMES))
    moment = str(datetime(2022, 1, 1, 9) + timedelta(hours=dice.randrange(520 * 24)))
    goods = dice.sample(range(1, len(GOODS) + 1), dice.randint(1, 3))
    lines = [(product_id, dice.randint(1, 4)) for product_id in goods]
    subtotal = sum(product_id * 1050 * quantity for product_id, quantity in lines)
    has_coupon = dice.random() < 0.3
    discount, shipping = subtotal // 10 if has_coupon else 0, 500 * sum(quantity for _, quantity in lines)
    number, total = f"{n:09d}", subtotal - discount + shipping
    name, coupon = NAMES[customer_id - 1], "TEN" if has_coupon else None
    paid = (subtotal, discount, coupon, shipping, total, "Flat Rate - Fixed", "Check / Money order")
    rows = [("sales_order", (n, number, customer_id, f"person{customer_id}@example.com", name, state, moment, *paid))]
    home = (*name.split(" "), "", "1 Elm St", "Salem", "Ohio", "44001", "United States", "555-0199")
    rows += [("order_address", (n, kind, *home)) for kind in ("billing", "shipping")]
    is_paid, is_shipped = state in ("processing", "complete", "closed"), state in ("complete", "closed")
    for product_id, quantity in lines:
        done = (quantity * holds for holds in (is_paid, is_shipped, state == "closed", state == "canceled"))
        goods_row = (f"AC-{product_id:03d}", GOODS[product_id - 1], product_id * 1050, quantity, *done)
        rows.append((ITEM, (n, product_id, *goods_row)))
    if is_paid:
        rows.append(("invoice", (n, number, n, total, moment)))
    if is_shipped:
        rows.append(("shipment", (n, number, n, moment)))
    if state == "closed":
        rows.append(("creditmemo", (n, number, n, shipping, 0, total, moment)))
    return rows
