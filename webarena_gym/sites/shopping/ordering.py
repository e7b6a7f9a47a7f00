"""Turning a cart into an order: the rows that the shop's people will work with."""

import json
from collections.abc import Mapping, Sequence

from webarena_gym.sites.kit.requests import Request
from webarena_gym.sites.shopping import carts, pricing, queries, variants
from webarena_gym.sites.shopping.addressing import ADDRESS
from webarena_gym.sites.shopping.carts import Line
from webarena_gym.sites.shopping.forms import RefusedError

PAYMENT_METHODS = ("Check / Money order", "Cash On Delivery")


def check_stock(lines: Sequence[Line]) -> None:
    """Raise RefusedError when the cart holds more than the shop has."""
    pieces: dict[tuple[int, str], int] = {}
    for line in lines:
        key = (line.product_id, line.stock)
        pieces[key] = pieces.get(key, 0) + line.quantity
        if pieces[key] > line.available:
            raise RefusedError(f"The requested quantity of {line.name} is not available.")


def place(
    request: Request,
    lines: Sequence[Line],
    totals: pricing.Totals,
    *,
    email: str,
    addresses: Mapping[str, Mapping[str, str]],
    shipping_method: str,
    payment_method: str,
) -> str:
    """Write the order of the visitor's cart, take the goods from stock, drop the cart; return the order's number.

    `addresses` maps billing and shipping to the fields of an address.
    """
    db, cart = request.db, carts.find(request)
    assert cart is not None
    assert totals.shipping_cents is not None
    increment_id = queries.next_increment_id(db, "sales_order")
    buyer = queries.customer(db, request.session["customer_id"]) if "customer_id" in request.session else None
    named = buyer or addresses["billing"]
    order_id = db.execute(
        """
        INSERT INTO sales_order (increment_id, customer_id, customer_email, customer_name, status, created_at, subtotal_cents,
            discount_cents, coupon_code, shipping_cents, grand_total_cents, shipping_method, payment_method)
        VALUES (?, ?, ?, ?, 'pending', ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            increment_id,
            buyer["customer_id"] if buyer else None,
            email,
            f"{named['firstname']} {named['lastname']}",
            request.stamp,
            totals.subtotal_cents,
            totals.discount_cents,
            totals.coupon_code,
            totals.shipping_cents,
            totals.grand_total_cents,
            shipping_method,
            payment_method,
        ),
    ).lastrowid
    for kind, address in addresses.items():
        db.execute(
            f"INSERT INTO order_address (order_id, kind, {', '.join(ADDRESS)}) VALUES (?, ?, {queries.marks(ADDRESS)})",
            (order_id, kind, *(address[name] for name in ADDRESS)),
        )
    for line in lines:
        db.execute(
            """
            INSERT INTO order_item (order_id, product_id, sku, name, options, price_cents, qty_ordered)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """,
            (order_id, line.product_id, line.sku, line.name, json.dumps(line.options), line.price_cents, line.quantity),
        )
        db.execute(
            "UPDATE product SET quantity = quantity - :taken, is_in_stock = quantity > :taken WHERE product_id = :product_id",
            {"taken": line.quantity, "product_id": line.product_id},
        )
        variants.add(db, line.product_id, json.dumps(line.options), -line.quantity)
    for rule in pricing.rules(db, request.now, cart["coupon_code"]):
        db.execute("UPDATE cart_rule SET times_used = times_used + 1 WHERE rule_id = ?", (rule["rule_id"],))
    carts.remove(db, cart["cart_id"])
    return increment_id
