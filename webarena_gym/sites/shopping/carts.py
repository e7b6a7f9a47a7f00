"""Carts: stock of variants, prices, addresses, and orders placed at checkout."""

import json
import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from webarena_gym.errors import FormError
from webarena_gym.sites.kit.database import first, insert, update
from webarena_gym.sites.kit.forms import Field
from webarena_gym.sites.kit.requests import Request
from webarena_gym.sites.shopping import queries
from webarena_gym.sites.shopping.queries import marks

_AMOUNT = re.compile(r"\$?([0-9]{1,9})(?:\.([0-9]{1,2})[0-9]*)?")


class RefusedError(FormError):
    """The shop cannot do what the customer requests; the message is for the customer."""


def cents(value: str | None) -> int | None:
    """Return an amount of money in cents, or None for other texts.

    >>> cents("12.5"), cents("$3"), cents("free")
    (1250, 300, None)
    """
    match = _AMOUNT.fullmatch((value or "").strip().replace(",", ""))
    return int(match[1]) * 100 + int((match[2] or "").ljust(2, "0")) if match else None


class Variant(NamedTuple):
    """A combination of a product's options. The fields are columns of the table product_variant."""

    variant_id: int
    product_id: int
    sku: str
    options: Mapping[str, str]
    quantity: int
    is_in_stock: bool

    @property
    def available(self) -> int:
        """Largest quantity that can be bought."""
        return self.quantity if self.is_in_stock else 0


def variants_of(db: sqlite3.Connection, product_ids: Sequence[int]) -> dict[tuple[int, str], Variant]:
    """Return the variants of products, by product and by combination in the format of carts; empty for products without variants."""
    if first(db, "SELECT 1 FROM main.sqlite_schema WHERE name = 'product_variant'") is None:
        return {}
    query = f"SELECT * FROM product_variant WHERE product_id IN ({marks(product_ids)}) ORDER BY variant_id"
    rows = [dict(row) for row in db.execute(query, product_ids)]
    return {(row["product_id"], row["options"]): Variant(**row | {"options": json.loads(row["options"])}) for row in rows}


def restock_variant(db: sqlite3.Connection, product_id: int, choice: str, pieces: int) -> None:
    """Add pieces, which may be negative, to the stock of a variant. Does nothing for products without variants."""
    variant = variants_of(db, [product_id]).get((product_id, choice))
    if variant is not None:
        quantity = variant.quantity + pieces
        set_stock(db, variant, quantity, is_in_stock=quantity > 0 and (variant.is_in_stock or pieces > 0))


def set_stock(db: sqlite3.Connection, variant: Variant, quantity: int, *, is_in_stock: bool) -> None:
    """Set the stock of a variant."""
    update(db, "product_variant", "variant_id", variant.variant_id, quantity=quantity, is_in_stock=is_in_stock)


def remove_variants(db: sqlite3.Connection, product_ids: Sequence[int]) -> None:
    """Delete the variants of products."""
    for variant in variants_of(db, product_ids).values():
        db.execute("DELETE FROM product_variant WHERE variant_id = ?", (variant.variant_id,))


FLAT, TABLE, FREE = "Flat Rate - Fixed", "Best Way - Table Rate", "Free Shipping"


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals of a cart or order. `shipping_cents` is None until a method is selected."""

    subtotal_cents: int
    discount_cents: int
    coupon_code: str | None
    shipping_cents: int | None

    @property
    def grand_total_cents(self) -> int:
        """Subtotal minus discount plus shipping."""
        return self.subtotal_cents - self.discount_cents + (self.shipping_cents or 0)


def rules_in_force(db: sqlite3.Connection, now: datetime, coupon_code: str | None) -> list[sqlite3.Row]:
    """Return the active price rules: those without a coupon, and the one of the coupon, if it is valid."""
    return db.execute(
        """
        SELECT * FROM cart_rule
        WHERE is_active AND (coalesce(coupon_code, '') = '' OR coupon_code = :code COLLATE NOCASE)
            AND (coalesce(from_date, '') = '' OR substr(from_date, 1, 10) <= :today)
            AND (coalesce(to_date, '') = '' OR substr(to_date, 1, 10) >= :today)
        ORDER BY rule_id
        """,
        {"code": coupon_code or "", "today": f"{now:%Y-%m-%d}"},
    ).fetchall()


def rule_discount(rules_in_force: Sequence[sqlite3.Row], subtotal_cents: int) -> int:
    """Return the discount of rules in cents, at most the subtotal."""
    discount = 0
    for rule in rules_in_force:
        is_percent = rule["action"] == "by_percent"
        discount += (subtotal_cents * rule["amount"] + 50) // 100 if is_percent else rule["amount"]
    return min(discount, subtotal_cents)


MOST = 10_000  # pieces of one product in a cart


@dataclass(frozen=True, slots=True)
class CartLine:
    """A row of a cart. `price_cents` is the price of one piece, with its options."""

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
        """The price of all pieces."""
        return self.price_cents * self.quantity


def find(request: Request) -> sqlite3.Row | None:
    """Return the user's cart, or None."""
    customer_id = request.session.get("customer_id")
    if customer_id is not None:
        return first(request.db, "SELECT * FROM cart WHERE customer_id = ?", (customer_id,))
    query = "SELECT * FROM cart WHERE cart_id = ? AND customer_id IS NULL"
    return first(request.db, query, (request.session.get("cart_id"),))


def obtain(request: Request) -> int:
    """Return the id of the user's cart, which is created if necessary."""
    cart = find(request)
    if cart is not None:
        return int(cart["cart_id"])
    customer_id = request.session.get("customer_id")
    cart_id = insert(request.db, "cart", customer_id=customer_id)
    if customer_id is None:
        request.session["cart_id"] = cart_id
    return cart_id


def item_count(request: Request) -> int:
    """Return the number of pieces in the user's cart."""
    cart = find(request)
    query = """SELECT coalesce(sum(i.quantity), 0) FROM cart_item i JOIN product p USING (product_id)
        WHERE i.cart_id = ? AND p.is_enabled"""
    return int(request.db.execute(query, (cart["cart_id"],)).fetchone()[0]) if cart else 0


def lines(db: sqlite3.Connection, cart_id: int) -> list[CartLine]:
    """Return the rows of a cart, without products that are no longer for sale."""
    query = f"""
        SELECT i.*, p.name, p.sku, p.url_key, {queries.FINAL_PRICE} AS final_cents, p.is_in_stock * p.quantity AS available
        FROM cart_item i JOIN product p USING (product_id)
        WHERE i.cart_id = ? AND p.is_enabled ORDER BY i.item_id
        """
    rows = db.execute(query, (cart_id,)).fetchall()
    product_ids = sorted({row["product_id"] for row in rows})
    choices = queries.options(db, product_ids) if rows else []
    kinds = variants_of(db, product_ids)
    deltas = {(row["product_id"], row["title"], row["label"]): row["price_delta_cents"] for row in choices}
    result = []
    for row in rows:
        options, product_id = json.loads(row["options"]), row["product_id"]
        kind = kinds.get((product_id, row["options"]))
        price = row["final_cents"] + sum(deltas.get((product_id, *option), 0) for option in options.items())
        sku, stock = (kind.sku, row["options"]) if kind else (row["sku"], "")
        available = min(row["available"], kind.available) if kind else row["available"]
        result.append(
            CartLine(
                row["item_id"], product_id, row["name"], sku, row["url_key"], options, price, row["quantity"], available, stock
            )
        )
    return result


def totals(request: Request, cart: sqlite3.Row, content: list[CartLine], shipping_method: str | None) -> Totals:
    """Return the current totals of a cart, with a shipping method if it is available."""
    rules = rules_in_force(request.db, request.now, cart["coupon_code"])
    subtotal = sum(line.total_cents for line in content)
    discount = rule_discount(rules, subtotal)
    code = next((rule["coupon_code"] for rule in rules if rule["coupon_code"]), None)
    return Totals(subtotal, discount, code, rates(request, content, subtotal - discount).get(shipping_method or ""))


def rates(request: Request, content: list[CartLine], discounted_cents: int) -> dict[str, int]:
    """Return the available shipping methods for a cart with a subtotal, with their prices."""
    settings = dict(request.db.execute("SELECT path, value FROM store_config WHERE path LIKE 'carriers/%'").fetchall())
    flat, table, threshold = (
        cents(settings.get(f"carriers/{name}"))
        for name in ("flatrate/price", "tablerate/price", "freeshipping/free_shipping_subtotal")
    )
    quantity = sum(line.quantity for line in content)
    prices = {FLAT: (500 if flat is None else flat) * quantity, TABLE: 1500 if table is None else table}
    if threshold is not None and discounted_cents >= threshold:
        prices[FREE] = 0
    return prices


def add(db: sqlite3.Connection, cart_id: int, product: sqlite3.Row, quantity: int, options: Mapping[str, str]) -> None:
    """Add pieces of a product to a cart. Raises RefusedError if the stock is too small."""
    if not product["is_salable"]:
        raise RefusedError(f"{product['name']} is out of stock.")
    choice = json.dumps(dict(options))
    key = (cart_id, product["product_id"])
    query = "SELECT coalesce(sum(quantity), 0) FROM cart_item WHERE cart_id = ? AND product_id = ?"
    (held,) = db.execute(query, key).fetchone()
    if held + quantity > min(product["quantity"], MOST):
        raise RefusedError(f"The requested quantity of {product['name']} is not available.")
    kind = variants_of(db, [product["product_id"]]).get((product["product_id"], choice))
    if kind is not None:
        (held,) = db.execute(f"{query} AND options = ?", (*key, choice)).fetchone()
        if held + quantity > kind.available:
            description = ", ".join(f"{title}: {label}" for title, label in options.items())
            how = "is out of stock" if not kind.available else "is not available in the requested quantity"
            raise RefusedError(f"{product['name']} ({description}) {how}.")
    query = "UPDATE cart_item SET quantity = quantity + ? WHERE cart_id = ? AND product_id = ? AND options = ?"
    if db.execute(query, (quantity, cart_id, product["product_id"], choice)).rowcount == 0:
        insert(db, "cart_item", cart_id=cart_id, product_id=product["product_id"], options=choice, quantity=quantity)


def chosen_options(db: sqlite3.Connection, product_id: int, chosen: Mapping[str, str]) -> dict[str, str]:
    """Return labels by title for selected values (ids by option, both as posted). Raises RefusedError.

    Every option must be chosen, as the product page requires.
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
    """Move the rows of a guest's cart to the cart of the customer who has signed in."""
    db = request.db
    guest = find(request) if "customer_id" not in request.session else None
    request.session["customer_id"] = customer_id
    request.session.pop("cart_id", None)
    if guest is None:
        return
    cart = find(request)
    if cart is None:
        db.execute("UPDATE cart SET customer_id = ? WHERE cart_id = ?", (customer_id, guest["cart_id"]))
        return
    for row in db.execute("SELECT * FROM cart_item WHERE cart_id = ?", (guest["cart_id"],)).fetchall():
        product = queries.product(db, row["product_id"])
        if product is not None:
            try:
                add(db, cart["cart_id"], product, row["quantity"], json.loads(row["options"]))
            except RefusedError as refusal:
                request.flash(str(refusal), "error")
    remove(db, guest["cart_id"])


def remove(db: sqlite3.Connection, cart_id: int) -> None:
    """Delete a cart with its rows."""
    db.execute("DELETE FROM cart_item WHERE cart_id = ?", (cart_id,))
    db.execute("DELETE FROM cart WHERE cart_id = ?", (cart_id,))


ADDRESS = {
    "firstname": Field("First Name"), "lastname": Field("Last Name"), "company": Field("Company", required=False),
    "street": Field("Street Address"), "city": Field("City"), "region": Field("State/Province"),
    "postcode": Field("Zip/Postal Code", limit=32), "country": Field("Country"), "telephone": Field("Phone Number", limit=64),
}  # fmt: skip


def save_address(
    db: sqlite3.Connection, customer_id: int, values: Mapping[str, str], defaults: Mapping[str, bool], address_id: int = 0
) -> None:
    """Write an address into a customer's address book, replacing `address_id` if it is given.

    There is one default of each kind at most: a new one takes over, and the first address of a book is both.
    """
    is_first = first(db, "SELECT 1 FROM customer_address WHERE customer_id = ?", (customer_id,)) is None
    texts = {name: values[name] for name in ADDRESS}
    if address_id:
        update(db, "customer_address", "address_id", address_id, **texts)
    else:
        address_id = insert(db, "customer_address", customer_id=customer_id, **texts)
    for name, is_default in defaults.items():
        if is_default or is_first:
            query = f"UPDATE customer_address SET {name} = (address_id = ?) WHERE customer_id = ?"
            db.execute(query, (address_id, customer_id))


PAYMENT_METHODS = ("Check / Money order", "Cash On Delivery")


def check_stock(lines: Sequence[CartLine]) -> None:
    """Raise RefusedError if the cart contains more pieces than the stock."""
    pieces: dict[tuple[int, str], int] = {}
    for line in lines:
        key = (line.product_id, line.stock)
        pieces[key] = pieces.get(key, 0) + line.quantity
        if pieces[key] > line.available:
            raise RefusedError(f"The requested quantity of {line.name} is not available.")


def place(
    request: Request, lines: Sequence[CartLine], totals: Totals, *, email: str, addresses: Mapping[str, Mapping[str, str]],
    shipping_method: str, payment_method: str,
) -> str:  # fmt: skip
    """Place the order of the user's cart, reduce the stock and delete the cart. Returns the order's number.

    `addresses` maps billing and shipping to the fields of an address.
    """
    db, cart = request.db, find(request)
    assert cart is not None
    assert totals.shipping_cents is not None
    increment_id = queries.next_increment_id(db, "sales_order")
    buyer = queries.customer(db, request.session["customer_id"]) if "customer_id" in request.session else None
    named = buyer or addresses["billing"]
    order_id = insert(
        db, "sales_order", increment_id=increment_id, customer_id=buyer["customer_id"] if buyer else None, customer_email=email,
        customer_name=f"{named['firstname']} {named['lastname']}", status="pending", created_at=request.stamp,
        subtotal_cents=totals.subtotal_cents, discount_cents=totals.discount_cents, coupon_code=totals.coupon_code,
        shipping_cents=totals.shipping_cents, grand_total_cents=totals.grand_total_cents, shipping_method=shipping_method,
        payment_method=payment_method,
    )  # fmt: skip
    for kind, address in addresses.items():
        insert(db, "order_address", order_id=order_id, kind=kind, **{name: address[name] for name in ADDRESS})
    for line in lines:
        choice = json.dumps(line.options)
        insert(
            db, "order_item", order_id=order_id, product_id=line.product_id, sku=line.sku, name=line.name, options=choice,
            price_cents=line.price_cents, qty_ordered=line.quantity,
        )  # fmt: skip
        query = "UPDATE product SET quantity = quantity - :sold, is_in_stock = quantity > :sold WHERE product_id = :product_id"
        db.execute(query, {"sold": line.quantity, "product_id": line.product_id})
        restock_variant(db, line.product_id, choice, -line.quantity)
    for rule in rules_in_force(db, request.now, cart["coupon_code"]):
        db.execute("UPDATE cart_rule SET times_used = times_used + 1 WHERE rule_id = ?", (rule["rule_id"],))
    remove(db, cart["cart_id"])
    return increment_id
