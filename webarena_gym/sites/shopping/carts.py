"""Carts: whose they are, what lies in them, and what they come to."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from webarena_gym.sites.kit.requests import Request
from webarena_gym.sites.shopping import pricing, queries, variants
from webarena_gym.sites.shopping.forms import RefusedError

MOST = 10_000  # pieces of one product in a cart


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a cart; `price_cents` is of one piece, with its options."""

    item_id: int
    product_id: int
    name: str
    sku: str
    url_key: str
    options: dict[str, str]
    price_cents: int
    quantity: int
    available: int
    stock: str = ""  # the choice as JSON, where it has a stock of its own

    @property
    def total_cents(self) -> int:
        """The price of the whole row."""
        return self.price_cents * self.quantity


def find(request: Request) -> sqlite3.Row | None:
    """Return the visitor's cart, if there is one."""
    customer_id = request.session.get("customer_id")
    if customer_id is None:
        query, value = "SELECT * FROM cart WHERE cart_id = ? AND customer_id IS NULL", request.session.get("cart_id")
    else:
        query, value = "SELECT * FROM cart WHERE customer_id = ?", customer_id
    row: sqlite3.Row | None = request.db.execute(query, (value,)).fetchone()
    return row


def obtain(request: Request) -> int:
    """Return the id of the visitor's cart, which is made if need be."""
    cart = find(request)
    if cart is not None:
        return int(cart["cart_id"])
    customer_id = request.session.get("customer_id")
    cart_id = request.db.execute("INSERT INTO cart (customer_id) VALUES (?)", (customer_id,)).lastrowid
    assert cart_id is not None
    if customer_id is None:
        request.session["cart_id"] = cart_id
    return cart_id


def item_count(request: Request) -> int:
    """Return how many pieces the visitor's cart holds."""
    cart = find(request)
    if cart is None:
        return 0
    query = """
        SELECT coalesce(sum(i.quantity), 0) FROM cart_item i JOIN product p USING (product_id)
        WHERE i.cart_id = ? AND p.is_enabled
    """
    (count,) = request.db.execute(query, (cart["cart_id"],)).fetchone()
    return int(count)


def lines(db: sqlite3.Connection, cart_id: int) -> list[Line]:
    """Return what lies in a cart; products that are no longer for sale are passed over."""
    rows = db.execute(
        f"""
        SELECT i.*, p.name, p.sku, p.url_key, {queries.FINAL_PRICE} AS final_cents, p.is_in_stock * p.quantity AS available
        FROM cart_item i JOIN product p USING (product_id)
        WHERE i.cart_id = ? AND p.is_enabled ORDER BY i.item_id
        """,
        (cart_id,),
    ).fetchall()
    choices = queries.options(db, sorted({row["product_id"] for row in rows})) if rows else []
    kinds = variants.of(db, sorted({row["product_id"] for row in rows}))
    deltas = {(row["product_id"], row["title"], row["label"]): row["price_delta_cents"] for row in choices}
    found = []
    for row in rows:
        options = json.loads(row["options"])
        kind = kinds.get((row["product_id"], row["options"]))
        extra = sum(deltas.get((row["product_id"], title, label), 0) for title, label in options.items())
        found.append(
            Line(
                item_id=row["item_id"],
                product_id=row["product_id"],
                name=row["name"],
                sku=kind.sku if kind else row["sku"],
                url_key=row["url_key"],
                options=options,
                price_cents=row["final_cents"] + extra,
                quantity=row["quantity"],
                available=min(row["available"], kind.available) if kind else row["available"],
                stock=row["options"] if kind else "",
            )
        )
    return found


def totals(request: Request, cart: sqlite3.Row, content: list[Line], shipping_method: str | None) -> pricing.Totals:
    """Return what a cart comes to today, with that shipping method if it is on offer."""
    rules = pricing.rules(request.db, request.now, cart["coupon_code"])
    subtotal = sum(line.total_cents for line in content)
    discount = pricing.discount(rules, subtotal)
    return pricing.Totals(
        subtotal_cents=subtotal,
        discount_cents=discount,
        coupon_code=next((rule["coupon_code"] for rule in rules if rule["coupon_code"]), None),
        shipping_cents=rates(request, content, subtotal - discount).get(shipping_method or ""),
    )


def rates(request: Request, content: list[Line], discounted_cents: int) -> dict[str, int]:
    """Return the shipping methods on offer for a cart, with their prices."""
    return pricing.shipping_rates(request.db, sum(line.quantity for line in content), discounted_cents)


def add(db: sqlite3.Connection, cart_id: int, product: sqlite3.Row, quantity: int, options: Mapping[str, str]) -> None:
    """Put pieces of a product into a cart, on top of equal ones. Raises RefusedError when there are not so many."""
    if not product["is_salable"]:
        raise RefusedError(f"{product['name']} is out of stock.")
    choice = json.dumps(dict(options))
    held = db.execute(
        "SELECT coalesce(sum(quantity), 0) FROM cart_item WHERE cart_id = ? AND product_id = ?",
        (cart_id, product["product_id"]),
    ).fetchone()[0]
    if held + quantity > min(product["quantity"], MOST):
        raise RefusedError(f"The requested quantity of {product['name']} is not available.")
    kind = variants.of(db, [product["product_id"]]).get((product["product_id"], choice))
    if kind is not None:
        query = "SELECT coalesce(sum(quantity), 0) FROM cart_item WHERE cart_id = ? AND product_id = ? AND options = ?"
        (held,) = db.execute(query, (cart_id, product["product_id"], choice)).fetchone()
        if held + quantity > kind.available:
            wanted = ", ".join(f"{title}: {label}" for title, label in options.items())
            how = "is out of stock" if not kind.available else "is not available in the requested quantity"
            raise RefusedError(f"{product['name']} ({wanted}) {how}.")
    query = "UPDATE cart_item SET quantity = quantity + ? WHERE cart_id = ? AND product_id = ? AND options = ?"
    if db.execute(query, (quantity, cart_id, product["product_id"], choice)).rowcount == 0:
        db.execute(
            "INSERT INTO cart_item (cart_id, product_id, options, quantity) VALUES (?, ?, ?, ?)",
            (cart_id, product["product_id"], choice, quantity),
        )


def chosen_options(db: sqlite3.Connection, product_id: int, chosen: Mapping[str, str]) -> dict[str, str]:
    """Return title -> label for the values chosen (option_id -> value_id, both as posted). Raises RefusedError.

    Every option must be chosen, as the product page says.
    """
    titles: dict[str, str] = {}
    labels: dict[str, str] = {}
    for row in queries.options(db, [product_id]):
        titles[row["title"]] = str(row["option_id"])
        if chosen.get(str(row["option_id"])) == str(row["value_id"]):
            labels[row["title"]] = row["label"]
    missing = [title for title in titles if title not in labels]
    if missing:
        raise RefusedError(f"You need to choose options for your item: {', '.join(missing)}.")
    return labels


def merge(request: Request, customer_id: int) -> None:
    """Give what a guest has gathered to the customer who has just signed in."""
    db = request.db
    guest = find(request) if "customer_id" not in request.session else None
    request.session["customer_id"] = customer_id
    request.session.pop("cart_id", None)
    if guest is None:
        return
    own = find(request)
    if own is None:
        db.execute("UPDATE cart SET customer_id = ? WHERE cart_id = ?", (customer_id, guest["cart_id"]))
        return
    for row in db.execute("SELECT * FROM cart_item WHERE cart_id = ?", (guest["cart_id"],)).fetchall():
        product = queries.product(db, row["product_id"])
        if product is not None:
            try:
                add(db, own["cart_id"], product, row["quantity"], json.loads(row["options"]))
            except RefusedError as refusal:
                request.flash(str(refusal), "error")
    remove(db, guest["cart_id"])


def remove(db: sqlite3.Connection, cart_id: int) -> None:
    """Take a cart away with all that lies in it."""
    db.execute("DELETE FROM cart_item WHERE cart_id = ?", (cart_id,))
    db.execute("DELETE FROM cart WHERE cart_id = ?", (cart_id,))
