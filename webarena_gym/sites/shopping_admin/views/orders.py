"""Orders: the list, an order, its actions, and its invoices, shipments and credit memos.

An order's status results from the quantities of its lines, except `holded`, which is set and removed by users:
pending -> processing -> complete -> closed (all refunded), or canceled before anything was invoiced.
"""

import json
import sqlite3
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from webarena_gym.errors import FormError
from webarena_gym.sites.country.texts import money
from webarena_gym.sites.kit.database import insert, update
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.shopping.carts import restock_variant
from webarena_gym.sites.shopping.queries import next_increment_id
from webarena_gym.sites.shopping_admin.grids import LISTS, Form, render_grid, written_cents
from webarena_gym.sites.shopping_admin.site import members_only, record_or_404, site

STATUSES = LISTS["orders"].choices("status")
Quantities = Mapping[int, int]  # of order lines, by item_id


class OrderError(FormError):
    """The order does not allow an action; the message is for the user."""


class OrderLine(NamedTuple):
    """A line of an order. The fields are columns of the table order_item."""

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
    def choice(self) -> dict[str, str]:
        """The options selected by the buyer, by title."""
        choice: dict[str, str] = json.loads(self.options)
        return choice

    def remaining(self, action: str) -> int:
        """Return the number of pieces that can be invoiced, shipped, refunded (if paid), or canceled (if neither invoiced nor shipped)."""
        to_invoice = max(0, self.qty_ordered - self.qty_canceled - self.qty_invoiced)
        to_ship = max(0, self.qty_ordered - self.qty_canceled - self.qty_refunded - self.qty_shipped)
        to_refund = max(0, self.qty_invoiced - self.qty_refunded)
        return {"invoice": to_invoice, "ship": to_ship, "refund": to_refund, "cancel": min(to_invoice, to_ship)}[action]


class Order(NamedTuple):
    """An order with its lines and the sums of its invoices and credit memos, all in cents."""

    row: sqlite3.Row
    lines: tuple[OrderLine, ...]
    invoices: int
    paid: int
    refunded: int
    shipping_refunded: int

    @property
    def status(self) -> str:
        """The stored status."""
        return str(self.row["status"])

    def can(self, action: str) -> bool:
        """Return True if an action is possible: hold, unhold, or one for which a line has remaining pieces."""
        if action == "unhold":
            return self.status == "holded"
        if self.status not in (("processing", "complete") if action == "refund" else ("pending", "processing")):
            return False
        return action == "hold" or any(line.remaining(action) for line in self.lines)

    @property
    def shipping_left(self) -> int:
        """The paid shipping charge that has not been refunded."""
        return max(0, self.row["shipping_cents"] - self.shipping_refunded) if self.invoices else 0

    def discount_on(self, goods_cents: int) -> int:
        """Return the share of the order's discount for goods of a value, rounded half up, in cents."""
        subtotal, discount = int(self.row["subtotal_cents"]), int(self.row["discount_cents"])
        return (discount * goods_cents + subtotal // 2) // subtotal if subtotal else 0

    def worth(self, quantities: Quantities, counted: str) -> int:
        """Return the discounted price of goods in cents, in addition to the goods that column `counted` contains.

        Differences of rounded sums make the parts add up exactly to the total.
        """
        before = sum(line.price_cents * int(getattr(line, counted)) for line in self.lines)
        after = before + sum(line.price_cents * quantities.get(line.item_id, 0) for line in self.lines)
        return (after - self.discount_on(after)) - (before - self.discount_on(before))


def load_order(db: sqlite3.Connection, order_id: int) -> Order:
    """Return an order. Raises NotFound."""
    query = """SELECT o.*, coalesce(c.group_name, 'NOT LOGGED IN') AS group_name
           FROM sales_order o LEFT JOIN customer c USING (customer_id) WHERE order_id = ?"""
    row = record_or_404(db, query, order_id)
    lines = db.execute(
        f"SELECT {', '.join(OrderLine._fields)} FROM order_item WHERE order_id = ? ORDER BY item_id", (order_id,)
    )
    query = """SELECT (SELECT count(*) FROM invoice WHERE order_id = ?),
                  (SELECT coalesce(sum(grand_total_cents), 0) FROM invoice WHERE order_id = ?),
                  coalesce(sum(grand_total_cents), 0), coalesce(sum(refund_shipping_cents), 0)
           FROM creditmemo WHERE order_id = ?"""
    sums = record_or_404(db, query, order_id, order_id, order_id)
    return Order(row, tuple(OrderLine(*line) for line in lines), *sums)


def status_of(lines: tuple[OrderLine, ...]) -> str:
    """Return the status that results from the quantities."""
    open_lines = [line for line in lines if line.qty_ordered > line.qty_canceled]
    if not open_lines:
        return "canceled"
    if all(line.qty_refunded >= line.qty_ordered - line.qty_canceled for line in open_lines):
        return "closed"
    if not any(line.qty_invoiced or line.qty_shipped for line in open_lines):
        return "pending"
    return "processing" if any(line.remaining("invoice") or line.remaining("ship") for line in open_lines) else "complete"


def _count(db: sqlite3.Connection, order: Order, column: str, quantities: Quantities) -> None:
    """Add quantities to a column of the lines, and update the status."""
    query = f"UPDATE order_item SET {column} = {column} + ? WHERE item_id = ?"
    db.executemany(query, [(quantity, item_id) for item_id, quantity in quantities.items()])
    refresh_status(db, order.row["order_id"])


def refresh_status(db: sqlite3.Connection, order_id: int) -> None:
    """Update the status of an order from its lines."""
    update(db, "sales_order", "order_id", order_id, status=status_of(load_order(db, order_id).lines))


def _restock(db: sqlite3.Connection, order: Order, quantities: Quantities) -> None:
    """Return goods to the shop's stock."""
    query = (
        "UPDATE product SET quantity = quantity + :back, is_in_stock = is_in_stock OR :back > 0 WHERE product_id = :product_id"
    )
    db.executemany(query, [{"back": quantities.get(line.item_id, 0), "product_id": line.product_id} for line in order.lines])
    for line in order.lines:
        restock_variant(db, line.product_id, line.options, quantities.get(line.item_id, 0))


def _check(order: Order, quantities: Quantities, action: str, *, may_be_empty: bool = False) -> None:
    """Raise OrderError unless each quantity is at most the remaining number for the action."""
    for line in order.lines:
        if quantities.get(line.item_id, 0) > line.remaining(action):
            raise OrderError(f"{line.name}: the quantity can be at most {line.remaining(action)}.")
    if not may_be_empty and not any(quantities.values()):
        raise OrderError("Please enter the quantity of at least one item.")


def invoice(db: sqlite3.Connection, order: Order, quantities: Quantities, now: str) -> int:
    """Invoice goods, the first time with the shipping charge, and return the invoice's id. Raises OrderError."""
    if not order.can("invoice"):
        raise OrderError("The order does not allow an invoice to be created.")
    _check(order, quantities, "invoice")
    total = order.worth(quantities, "qty_invoiced") + (0 if order.invoices else order.row["shipping_cents"])
    _count(db, order, "qty_invoiced", quantities)
    number = next_increment_id(db, "invoice")
    return insert(db, "invoice", increment_id=number, order_id=order.row["order_id"], grand_total_cents=total, created_at=now)


def ship(db: sqlite3.Connection, order: Order, quantities: Quantities, now: str) -> int:
    """Ship goods and return the shipment's id. Raises OrderError."""
    if not order.can("ship"):
        raise OrderError("The order does not allow a shipment to be created.")
    _check(order, quantities, "ship")
    _count(db, order, "qty_shipped", quantities)
    number = next_increment_id(db, "shipment")
    return insert(db, "shipment", increment_id=number, order_id=order.row["order_id"], created_at=now)


def refund(
    db: sqlite3.Connection, order: Order, quantities: Quantities, now: str, *, shipping_cents: int, adjustment_cents: int,
    returns_to_stock: bool,
) -> int:  # fmt: skip
    """Refund goods, shipping and a positive or negative adjustment, and return the credit memo's id. Raises OrderError."""
    if not order.can("refund"):
        raise OrderError("The order does not allow a credit memo to be created.")
    _check(order, quantities, "refund", may_be_empty=True)
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
    sums = {"refund_shipping_cents": shipping_cents, "adjustment_cents": adjustment_cents, "grand_total_cents": total}
    number = next_increment_id(db, "creditmemo")
    return insert(db, "creditmemo", increment_id=number, order_id=order.row["order_id"], created_at=now, **sums)


ORDER_URL = "/admin/sales/order/view/order_id/{}/"


site.get("/admin/sales/order/", members_only)(partial(render_grid, grid=LISTS["orders"]))


@site.get("/admin/sales/order/view/order_id/<int:order_id>/", members_only)
def order(request: Request, order_id: int) -> str:
    """An order with its documents and comments."""
    db, loaded = request.db, load_order(request.db, order_id)
    bound = (order_id,)
    addresses = db.execute("SELECT * FROM order_address WHERE order_id = ?", bound)
    documents = "SELECT {0}_id, increment_id, created_at, {1} FROM {0} WHERE order_id = ?"
    totals = {"invoice": "grand_total_cents", "shipment": "NULL", "creditmemo": "grand_total_cents"}
    tracks = """SELECT shipment_id, carrier, title, number FROM shipment_track JOIN shipment USING (shipment_id)
        WHERE order_id = ? ORDER BY track_id"""
    comments = "SELECT * FROM order_comment WHERE order_id = ? ORDER BY created_at DESC, comment_id DESC"
    return request.render(
        "order.html",
        title=f"#{loaded.row['increment_id']}",
        section="Sales",
        order=loaded,
        row=loaded.row,
        statuses=STATUSES,
        addresses={address["kind"]: address for address in addresses},
        documents=[
            (kind.title, kind.url, db.execute(documents.format(name, totals[name]), bound).fetchall())
            for name, kind in KINDS.items()
        ],
        tracks=db.execute(tracks, bound).fetchall(),
        comments=db.execute(comments, bound).fetchall(),
    )


WORDS = {
    "cancel": ("cancel the order", "canceled the order"),
    "hold": ("put the order on hold", "put the order on hold"),
    "unhold": ("", "released the order from holding status"),
}


@site.post("/admin/sales/order/<any(cancel, hold, unhold):action>/order_id/<int:order_id>/", members_only)
def act_on_order(request: Request, action: str, order_id: int) -> Response:
    """Hold or release an order, or cancel the pieces that are neither invoiced nor shipped, which return to the stock."""
    db, loaded = request.db, load_order(request.db, order_id)
    if not loaded.can(action):
        request.flash("The order is not on hold." if action == "unhold" else f"You cannot {WORDS[action][0]}.", "error")
        return redirect(ORDER_URL.format(order_id))
    if action == "hold":
        update(db, "sales_order", "order_id", order_id, status="holded")
    elif action == "unhold":
        refresh_status(db, order_id)
    else:
        quantities = {line.item_id: line.remaining("cancel") for line in loaded.lines}
        _count(db, loaded, "qty_canceled", quantities)
        _restock(db, loaded, quantities)
    request.flash(f"You {WORDS[action][1]}.")
    return redirect(ORDER_URL.format(order_id))


@site.post("/admin/sales/order/addComment/order_id/<int:order_id>/", members_only)
def add_comment(request: Request, order_id: int) -> Response:
    """Add a comment to an order's history."""
    loaded, form = load_order(request.db, order_id), Form(request)
    comment = form.text("comment", "Comment", limit=2000, lines=True)
    if not form.show_errors():
        ticks = {"is_customer_notified": form.is_ticked("notify"), "is_visible_on_front": form.is_ticked("visible")}
        row = {"order_id": order_id, "status": loaded.status, "comment": comment, "created_at": str(request.now)} | ticks
        insert(request.db, "order_comment", **row)
        request.flash("You added the comment.")
    return redirect(ORDER_URL.format(order_id))


CARRIERS = ("Custom Value", "DHL", "Federal Express", "United Parcel Service", "United States Postal Service")


def _read_track(form: Form) -> dict[str, str]:
    carrier = form.choice("carrier", "Carrier", CARRIERS)
    title = form.text("title", "Title", required=carrier == CARRIERS[0])
    return {"carrier": carrier, "title": title or carrier, "number": form.text("number", "Number")}


def _perform(request: Request, action: str, order: Order, quantities: Quantities, form: Form) -> None:
    """Invoice, ship or refund the quantities of the form. Raises OrderError, also for invalid fields."""
    db, now, track, sums = request.db, str(request.now), {}, {}
    if action == "ship" and form.text("number", "Number", required=False):
        track = _read_track(form)
    if action == "refund":
        labels = {"shipping": "Refund Shipping", "positive": "Adjustment Refund", "negative": "Adjustment Fee"}
        names = {name: name if name == "shipping" else f"adjustment_{name}" for name in labels}
        sums = {name: form.optional_cents(names[name], label) or 0 for name, label in labels.items()}
    if form.errors:
        raise OrderError(" ".join(form.errors))
    if action == "invoice":
        invoice(db, order, quantities, now)
    elif action == "ship":
        shipment_id = ship(db, order, quantities, now)
        if track:
            insert(db, "shipment_track", shipment_id=shipment_id, **track)
    else:
        refund(
            db, order, quantities, now, shipping_cents=sums["shipping"], adjustment_cents=sums["positive"] - sums["negative"],
            returns_to_stock=form.is_ticked("back_to_stock"),
        )  # fmt: skip


class DocumentKind(NamedTuple):
    """A kind of document: its words, the URL of a document, and the action that creates one."""

    action: str
    title: str
    url: str
    submit: str
    done: str


KINDS = {
    "invoice": DocumentKind(
        "invoice", "Invoice", "/admin/sales/order_invoice/view/invoice_id/{}/", "Submit Invoice", "The invoice has been created."
    ),
    "shipment": DocumentKind(
        "ship", "Shipment", "/admin/admin/order_shipment/view/shipment_id/{}/", "Submit Shipment", "The shipment has been created."
    ),
    "creditmemo": DocumentKind(
        "refund", "Credit Memo", "/admin/sales/order_creditmemo/view/creditmemo_id/{}/", "Refund Offline",
        "You created the credit memo.",
    ),
}  # fmt: skip


@site.get("/admin/sales/<any(invoice, shipment, creditmemo):kind>/", members_only)
def documents(request: Request, kind: str) -> str:
    """The list of invoices, shipments or credit memos."""
    return render_grid(request, LISTS[kind])


@site.form("/admin/sales/order_<any(invoice, creditmemo):kind>/new/order_id/<int:order_id>/", members_only)
@site.form("/admin/admin/order_<any(shipment):kind>/new/order_id/<int:order_id>/", members_only)
def create(request: Request, kind: str, order_id: int) -> str | Response:
    """Create an invoice, shipment or credit memo; the form initially contains all remaining pieces."""
    order, words, back = load_order(request.db, order_id), KINDS[kind], ORDER_URL.format(order_id)
    lines = [(line, line.remaining(words.action)) for line in order.lines]
    if request.method == "POST":
        form, typed = Form(request), request.form.to_dict()
        fields = {line.item_id: (f"qty_{line.item_id}", f"Qty of {line.name}") for line in order.lines}
        quantities = {item_id: form.optional_count(*field) or 0 for item_id, field in fields.items()}
        try:
            _perform(request, words.action, order, quantities, form)
        except OrderError as error:
            request.flash(str(error), "error")
        else:
            return request.redirect(back, words.done)
    elif not order.can(words.action):
        return request.redirect(back, f"The order does not allow a new {words.title.lower()}.", "error")
    else:
        typed = {f"qty_{line.item_id}": str(left) for line, left in lines}
        typed |= {"shipping": written_cents(order.shipping_left), "back_to_stock": "1"}
    page = {"title": f"New {words.title}", "section": "Sales", "carriers": {carrier: carrier for carrier in CARRIERS}}
    return request.render("new_document.html", kind=kind, words=words, order=order, lines=lines, typed=typed, **page)


@site.get("/admin/sales/order_<any(invoice):kind>/view/invoice_id/<int:document_id>/", members_only)
@site.get("/admin/admin/order_<any(shipment):kind>/view/shipment_id/<int:document_id>/", members_only)
@site.get("/admin/sales/order_<any(creditmemo):kind>/view/creditmemo_id/<int:document_id>/", members_only)
def document(request: Request, kind: str, document_id: int) -> str:
    """An invoice, shipment or credit memo."""
    row = record_or_404(request.db, f"SELECT * FROM {kind} WHERE {kind}_id = ?", document_id)
    tracks = "SELECT carrier, title, number FROM shipment_track WHERE shipment_id = ? ORDER BY track_id"
    return request.render(
        "document.html",
        title=f"{KINDS[kind].title} #{row['increment_id']}",
        section="Sales",
        kind=kind,
        row=row,
        order=load_order(request.db, row["order_id"]),
        back=f"/admin/sales/{kind}/",
        tracks=request.db.execute(tracks, (document_id,)).fetchall() if kind == "shipment" else [],
        carriers={carrier: carrier for carrier in CARRIERS},
    )


@site.post("/admin/admin/order_shipment/addTrack/shipment_id/<int:shipment_id>/", members_only)
def add_track(request: Request, shipment_id: int) -> Response:
    """Add a tracking number to a shipment."""
    record_or_404(request.db, "SELECT 1 FROM shipment WHERE shipment_id = ?", shipment_id)
    form = Form(request)
    track = _read_track(form)
    if not form.show_errors():
        insert(request.db, "shipment_track", shipment_id=shipment_id, **track)
        request.flash("You added the tracking number.")
    return redirect(f"/admin/admin/order_shipment/view/shipment_id/{shipment_id}/")
