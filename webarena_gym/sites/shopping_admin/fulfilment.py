"""Actions on an order and their effects: invoice, ship, refund, cancel, hold.

An order's status follows from the quantities of its lines, except `holded`, which is set and taken away by hand:
pending -> processing -> complete -> closed (all refunded), or canceled before anything was invoiced.
"""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from webarena_gym.errors import FormError
from webarena_gym.sites.country.texts import money
from webarena_gym.sites.kit.database import insert, update
from webarena_gym.sites.shopping.carts import restock_variant
from webarena_gym.sites.shopping.queries import next_increment_id
from webarena_gym.sites.shopping_admin.site import one

STATUSES = {
    "pending": "Pending", "processing": "Processing", "complete": "Complete", "closed": "Closed", "canceled": "Canceled",
    "holded": "On Hold",
}  # fmt: skip
Quantities = Mapping[int, int]  # of order lines, by item_id


class OrderError(FormError):
    """The order does not allow it; the message is for people."""


class Line(NamedTuple):
    """One line of an order. Its fields are those of the table order_item."""

    item_id: int
    product_id: int
    sku: str
    name: str
    options: str
    price_cents: int
    qty_ordered: int
    qty_invoiced: int
    qty_shipped: int
    qty_refunded: int
    qty_canceled: int

    @property
    def chosen(self) -> dict[str, str]:
        """The options that the buyer chose, by title."""
        chosen: dict[str, str] = json.loads(self.options)
        return chosen

    @property
    def to_invoice(self) -> int:
        """Number that is not invoiced yet."""
        return max(0, self.qty_ordered - self.qty_canceled - self.qty_invoiced)

    @property
    def to_ship(self) -> int:
        """Number that is not shipped yet."""
        return max(0, self.qty_ordered - self.qty_canceled - self.qty_refunded - self.qty_shipped)

    @property
    def to_refund(self) -> int:
        """Number that was paid and not refunded."""
        return max(0, self.qty_invoiced - self.qty_refunded)

    @property
    def to_cancel(self) -> int:
        """Number that is neither invoiced nor shipped."""
        return min(self.to_invoice, self.to_ship)


@dataclass(frozen=True, slots=True)
class Order:
    """An order with its lines and the sums of its invoices and credit memos, all in cents."""

    row: sqlite3.Row
    lines: tuple[Line, ...]
    invoices: int
    paid: int
    refunded: int
    shipping_refunded: int

    @property
    def status(self) -> str:
        """The stored status."""
        status: str = self.row["status"]
        return status

    @property
    def is_open(self) -> bool:
        """True if work on the order can go on."""
        return self.status in ("pending", "processing")

    @property
    def can_invoice(self) -> bool:
        """True if something is left to invoice."""
        return self.is_open and any(line.to_invoice for line in self.lines)

    @property
    def can_ship(self) -> bool:
        """True if something is left to ship."""
        return self.is_open and any(line.to_ship for line in self.lines)

    @property
    def can_refund(self) -> bool:
        """True if something that was paid is left to refund."""
        return self.status in ("processing", "complete") and any(line.to_refund for line in self.lines)

    @property
    def can_cancel(self) -> bool:
        """True if something is neither invoiced nor shipped."""
        return self.is_open and any(line.to_cancel for line in self.lines)

    @property
    def can_hold(self) -> bool:
        """True if the order can be put on hold."""
        return self.is_open

    @property
    def can_unhold(self) -> bool:
        """True if the order is on hold."""
        return self.status == "holded"

    @property
    def shipping_left(self) -> int:
        """The shipping charge that was paid and not refunded."""
        return max(0, self.row["shipping_cents"] - self.shipping_refunded) if self.invoices else 0

    def discount_on(self, goods_cents: int) -> int:
        """Return the share of the order's discount that falls on goods of that value, rounded half up."""
        subtotal, discount = int(self.row["subtotal_cents"]), int(self.row["discount_cents"])
        return (discount * goods_cents + subtotal // 2) // subtotal if subtotal else 0

    def worth(self, quantities: Quantities, counted: str) -> int:
        """Return what goods cost after the discount, on top of those that column `counted` holds already.

        Taking differences of rounded sums makes the parts add up to the whole, to the cent.
        """
        before = sum(line.price_cents * int(getattr(line, counted)) for line in self.lines)
        after = before + sum(line.price_cents * quantities.get(line.item_id, 0) for line in self.lines)
        return (after - self.discount_on(after)) - (before - self.discount_on(before))


def load(db: sqlite3.Connection, order_id: int) -> Order:
    """Return an order. Raises NotFound."""
    row = one(
        db,
        """SELECT o.*, coalesce(c.group_name, 'NOT LOGGED IN') AS group_name
           FROM sales_order o LEFT JOIN customer c USING (customer_id) WHERE order_id = ?""",
        order_id,
    )
    lines = db.execute(f"SELECT {', '.join(Line._fields)} FROM order_item WHERE order_id = ? ORDER BY item_id", (order_id,))
    sums = one(
        db,
        """SELECT (SELECT count(*) FROM invoice WHERE order_id = ?1),
                  (SELECT coalesce(sum(grand_total_cents), 0) FROM invoice WHERE order_id = ?1),
                  coalesce(sum(grand_total_cents), 0), coalesce(sum(refund_shipping_cents), 0)
           FROM creditmemo WHERE order_id = ?1""",
        order_id,
    )
    return Order(row, tuple(Line(*line) for line in lines), *sums)


def status_of(lines: tuple[Line, ...]) -> str:
    """Return the status that follows from the quantities."""
    wanted = [line for line in lines if line.qty_ordered > line.qty_canceled]
    if not wanted:
        return "canceled"
    if all(line.qty_refunded >= line.qty_ordered - line.qty_canceled for line in wanted):
        return "closed"
    if not any(line.qty_invoiced or line.qty_shipped for line in wanted):
        return "pending"
    return "processing" if any(line.to_invoice or line.to_ship for line in wanted) else "complete"


def _count(db: sqlite3.Connection, order: Order, column: str, quantities: Quantities) -> None:
    """Add the quantities to a column of the lines, and set the status that follows."""
    db.executemany(
        f"UPDATE order_item SET {column} = {column} + ? WHERE item_id = ?",
        [(quantity, item_id) for item_id, quantity in quantities.items()],
    )
    refresh_status(db, order.row["order_id"])


def refresh_status(db: sqlite3.Connection, order_id: int) -> None:
    """Set the status that follows from the order's lines."""
    update(db, "sales_order", "order_id", order_id, status=status_of(load(db, order_id).lines))


def _restock(db: sqlite3.Connection, order: Order, quantities: Quantities) -> None:
    """Put goods back into the shop's stock."""
    db.executemany(
        "UPDATE product SET quantity = quantity + ?1, is_in_stock = is_in_stock OR ?1 > 0 WHERE product_id = ?2",
        [(quantities.get(line.item_id, 0), line.product_id) for line in order.lines],
    )
    for line in order.lines:
        restock_variant(db, line.product_id, line.options, quantities.get(line.item_id, 0))


def _check(order: Order, quantities: Quantities, left: str, *, may_be_empty: bool = False) -> None:
    """Raise OrderError unless each quantity is at most what property `left` of its line allows."""
    for line in order.lines:
        if quantities.get(line.item_id, 0) > getattr(line, left):
            raise OrderError(f"{line.name}: the quantity can be at most {getattr(line, left)}.")
    if not may_be_empty and not any(quantities.values()):
        raise OrderError("Please enter the quantity of at least one item.")


def invoice(db: sqlite3.Connection, order: Order, quantities: Quantities, now: str) -> int:
    """Invoice goods, the first time with the shipping charge, and return the invoice's id. Raises OrderError."""
    if not order.can_invoice:
        raise OrderError("The order does not allow an invoice to be created.")
    _check(order, quantities, "to_invoice")
    total = order.worth(quantities, "qty_invoiced") + (0 if order.invoices else order.row["shipping_cents"])
    _count(db, order, "qty_invoiced", quantities)
    number = next_increment_id(db, "invoice")
    return insert(db, "invoice", increment_id=number, order_id=order.row["order_id"], grand_total_cents=total, created_at=now)


def ship(db: sqlite3.Connection, order: Order, quantities: Quantities, now: str) -> int:
    """Ship goods and return the shipment's id. Raises OrderError."""
    if not order.can_ship:
        raise OrderError("The order does not allow a shipment to be created.")
    _check(order, quantities, "to_ship")
    _count(db, order, "qty_shipped", quantities)
    return insert(
        db, "shipment", increment_id=next_increment_id(db, "shipment"), order_id=order.row["order_id"], created_at=now
    )


def refund(
    db: sqlite3.Connection,
    order: Order,
    quantities: Quantities,
    now: str,
    *,
    shipping_cents: int,
    adjustment_cents: int,
    returns_to_stock: bool,
) -> int:
    """Refund goods, shipping and an adjustment either way, and return the credit memo's id. Raises OrderError."""
    if not order.can_refund:
        raise OrderError("The order does not allow a credit memo to be created.")
    _check(order, quantities, "to_refund", may_be_empty=True)
    if shipping_cents > order.shipping_left:
        raise OrderError(f"At most {money(order.shipping_left)} of shipping can be refunded.")
    total = order.worth(quantities, "qty_refunded") + shipping_cents + adjustment_cents
    left = order.paid - order.refunded
    if total > left:
        raise OrderError(f"At most {money(left)} can be refunded.")
    if total <= 0:
        raise OrderError("The total of a credit memo must be more than zero.")
    _count(db, order, "qty_refunded", quantities)
    if returns_to_stock:
        _restock(db, order, quantities)
    return insert(
        db,
        "creditmemo",
        increment_id=next_increment_id(db, "creditmemo"),
        order_id=order.row["order_id"],
        refund_shipping_cents=shipping_cents,
        adjustment_cents=adjustment_cents,
        grand_total_cents=total,
        created_at=now,
    )


def cancel(db: sqlite3.Connection, order: Order) -> None:
    """Cancel what is neither invoiced nor shipped and put it back into stock. Raises OrderError."""
    if not order.can_cancel:
        raise OrderError("You cannot cancel the order.")
    quantities = {line.item_id: line.to_cancel for line in order.lines}
    _count(db, order, "qty_canceled", quantities)
    _restock(db, order, quantities)


def hold(db: sqlite3.Connection, order: Order) -> None:
    """Put an order on hold. Raises OrderError."""
    if not order.can_hold:
        raise OrderError("You cannot put the order on hold.")
    update(db, "sales_order", "order_id", order.row["order_id"], status="holded")


def unhold(db: sqlite3.Connection, order: Order) -> None:
    """Release an order from hold, to the status it had. Raises OrderError."""
    if not order.can_unhold:
        raise OrderError("The order is not on hold.")
    refresh_status(db, order.row["order_id"])
