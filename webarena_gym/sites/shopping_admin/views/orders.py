"""Orders: the list, one order, what can be done with it, and its invoices, shipments and credit memos."""

from collections.abc import Callable
from typing import NamedTuple

from webarena_gym.sites.kit.database import insert
from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.shopping_admin import fulfilment
from webarena_gym.sites.shopping_admin.fulfilment import STATUSES, Order, OrderError, Quantities
from webarena_gym.sites.shopping_admin.grids import Column, Form, Grid, Link, show, written_cents
from webarena_gym.sites.shopping_admin.site import members_only, one, site

ORDER_URL = "/admin/sales/order/view/order_id/{}/"
BILL_TO = "b.firstname || ' ' || b.lastname"
SHIP_TO = "s.firstname || ' ' || s.lastname"
GRID = Grid(
    title="Orders",
    section="Sales",
    source="""sales_order o LEFT JOIN order_address b ON b.order_id = o.order_id AND b.kind = 'billing'
              LEFT JOIN order_address s ON s.order_id = o.order_id AND s.kind = 'shipping'""",
    key="o.order_id",
    columns=(
        Column("ID", "increment_id", "o.increment_id"),
        Column("Purchase Date", "created_at", "o.created_at", "date"),
        Column("Bill-to Name", "billing_name", BILL_TO),
        Column("Ship-to Name", "shipping_name", SHIP_TO),
        Column("Grand Total", "grand_total", "o.grand_total_cents", "money"),
        Column("Status", "status", "o.status", "choice", STATUSES),
    ),
    order="-created_at",
    keyword=("o.increment_id", BILL_TO, SHIP_TO, "o.customer_email"),
    row_link=Link("View", ORDER_URL),
)


@site.get("/admin/sales/order/", members_only)
def orders(request: Request) -> str:
    """The list of orders."""
    return show(request, GRID)


@site.get("/admin/sales/order/view/order_id/<int:order_id>/", members_only)
def order(request: Request, order_id: int) -> str:
    """One order with all that belongs to it."""
    db, found = request.db, fulfilment.load(request.db, order_id)
    addresses = db.execute("SELECT * FROM order_address WHERE order_id = ?", (order_id,))
    invoices, shipments, creditmemos = (
        db.execute(
            f"SELECT {kind}_id, increment_id, created_at, {extra} FROM {kind} WHERE order_id = ?", (order_id,)
        ).fetchall()
        for kind, extra in (("invoice", "grand_total_cents"), ("shipment", "NULL"), ("creditmemo", "grand_total_cents"))
    )
    return request.render(
        "order.html",
        title=f"#{found.row['increment_id']}",
        section="Sales",
        order=found,
        row=found.row,
        statuses=STATUSES,
        addresses={address["kind"]: address for address in addresses},
        documents=(
            ("Invoice", "/admin/sales/order_invoice/view/invoice_id/{}/", invoices),
            ("Shipment", "/admin/admin/order_shipment/view/shipment_id/{}/", shipments),
            ("Credit Memo", "/admin/sales/order_creditmemo/view/creditmemo_id/{}/", creditmemos),
        ),
        tracks=db.execute(
            """SELECT shipment_id, carrier, title, number FROM shipment_track JOIN shipment USING (shipment_id)
               WHERE order_id = ? ORDER BY track_id""",
            (order_id,),
        ).fetchall(),
        comments=db.execute(
            "SELECT * FROM order_comment WHERE order_id = ? ORDER BY created_at DESC, comment_id DESC", (order_id,)
        ).fetchall(),
    )


ACTIONS = {
    "cancel": (fulfilment.cancel, "You canceled the order."),
    "hold": (fulfilment.hold, "You put the order on hold."),
    "unhold": (fulfilment.unhold, "You released the order from holding status."),
}


@site.post("/admin/sales/order/<any(cancel, hold, unhold):action>/order_id/<int:order_id>/", members_only)
def act(request: Request, action: str, order_id: int) -> Response:
    """Cancel, hold or unhold an order."""
    perform, message = ACTIONS[action]
    try:
        perform(request.db, fulfilment.load(request.db, order_id))
        request.flash(message)
    except OrderError as error:
        request.flash(str(error), "error")
    return redirect(ORDER_URL.format(order_id))


@site.post("/admin/sales/order/addComment/order_id/<int:order_id>/", members_only)
def add_comment(request: Request, order_id: int) -> Response:
    """Add a comment to an order's history."""
    found, form = fulfilment.load(request.db, order_id), Form(request)
    comment = form.text("comment", "Comment", limit=2000, lines=True)
    if not form.show_errors():
        insert(
            request.db,
            "order_comment",
            order_id=order_id,
            status=found.status,
            comment=comment,
            is_customer_notified=form.is_ticked("notify"),
            is_visible_on_front=form.is_ticked("visible"),
            created_at=str(request.now),
        )
        request.flash("You added the comment.")
    return redirect(ORDER_URL.format(order_id))


CARRIERS = ("Custom Value", "DHL", "Federal Express", "United Parcel Service", "United States Postal Service")


def _read_track(form: Form) -> dict[str, str]:
    carrier = form.choice("carrier", "Carrier", CARRIERS)
    title = form.text("title", "Title", required=carrier == CARRIERS[0])
    return {"carrier": carrier, "title": title or carrier, "number": form.text("number", "Number")}


def _stop_on(form: Form) -> None:
    """Raise OrderError when a field of the form is wrong."""
    if form.errors:
        raise OrderError(" ".join(form.errors))


def _invoice(request: Request, order: Order, quantities: Quantities, form: Form) -> None:
    _stop_on(form)
    fulfilment.invoice(request.db, order, quantities, str(request.now))


def _ship(request: Request, order: Order, quantities: Quantities, form: Form) -> None:
    track = _read_track(form) if form.text("number", "Number", required=False) else None
    _stop_on(form)
    shipment_id = fulfilment.ship(request.db, order, quantities, str(request.now))
    if track:
        insert(request.db, "shipment_track", shipment_id=shipment_id, **track)


def _refund(request: Request, order: Order, quantities: Quantities, form: Form) -> None:
    shipping = form.optional_cents("shipping", "Refund Shipping") or 0
    adjustment = form.optional_cents("adjustment_positive", "Adjustment Refund") or 0
    fee = form.optional_cents("adjustment_negative", "Adjustment Fee") or 0
    _stop_on(form)
    fulfilment.refund(
        request.db,
        order,
        quantities,
        str(request.now),
        shipping_cents=shipping,
        adjustment_cents=adjustment - fee,
        returns_to_stock=form.is_ticked("back_to_stock"),
    )


class Kind(NamedTuple):
    """One kind of document: its words, and how it is made from an order. `left` and `allowed` are properties there."""

    title: str
    left: str
    allowed: str
    submit: str
    done: str
    perform: Callable[[Request, Order, Quantities, Form], None]


KINDS = {
    "invoice": Kind("Invoice", "to_invoice", "can_invoice", "Submit Invoice", "The invoice has been created.", _invoice),
    "shipment": Kind("Shipment", "to_ship", "can_ship", "Submit Shipment", "The shipment has been created.", _ship),
    "creditmemo": Kind("Credit Memo", "to_refund", "can_refund", "Refund Offline", "You created the credit memo.", _refund),
}


def _grid(kind: str, title: str, view_url: str, *columns: Column) -> Grid:
    """The list of one kind of document."""
    return Grid(
        title=title,
        section="Sales",
        source=f"""{kind} d JOIN sales_order o ON o.order_id = d.order_id
                   LEFT JOIN order_address b ON b.order_id = o.order_id AND b.kind = 'billing'
                   LEFT JOIN order_address s ON s.order_id = o.order_id AND s.kind = 'shipping'""",
        key=f"d.{kind}_id",
        columns=(
            Column(KINDS[kind].title, "increment_id", "d.increment_id"),
            Column("Created", "created_at", "d.created_at", "date"),
            Column("Order #", "order_increment_id", "o.increment_id"),
            Column("Order Date", "order_created_at", "o.created_at", "date"),
            *columns,
        ),
        order="-created_at",
        keyword=("d.increment_id", "o.increment_id", BILL_TO, SHIP_TO),
        row_link=Link("View", view_url),
    )


_AMOUNT = "d.grand_total_cents"
_BILL_TO = Column("Bill-to Name", "billing_name", BILL_TO)
GRIDS = {
    "invoice": _grid(
        "invoice",
        "Invoices",
        "/admin/sales/order_invoice/view/invoice_id/{}/",
        _BILL_TO,
        Column("Amount", "grand_total", _AMOUNT, "money"),
    ),
    "shipment": _grid(
        "shipment",
        "Shipments",
        "/admin/admin/order_shipment/view/shipment_id/{}/",
        Column("Ship-to Name", "shipping_name", SHIP_TO),
    ),
    "creditmemo": _grid(
        "creditmemo",
        "Credit Memos",
        "/admin/sales/order_creditmemo/view/creditmemo_id/{}/",
        _BILL_TO,
        Column("Refunded", "grand_total", _AMOUNT, "money"),
    ),
}


@site.get("/admin/sales/<any(invoice, shipment, creditmemo):kind>/", members_only)
def documents(request: Request, kind: str) -> str:
    """The list of invoices, shipments or credit memos."""
    return show(request, GRIDS[kind])


@site.get("/admin/sales/order_<any(invoice, creditmemo):kind>/new/order_id/<int:order_id>/", members_only)
@site.get("/admin/admin/order_<any(shipment):kind>/new/order_id/<int:order_id>/", members_only)
def new(request: Request, kind: str, order_id: int) -> str | Response:
    """The form for a new invoice, shipment or credit memo, filled in for all that is left."""
    order = fulfilment.load(request.db, order_id)
    if not getattr(order, KINDS[kind].allowed):
        return request.redirect(
            ORDER_URL.format(order_id), f"The order does not allow a new {KINDS[kind].title.lower()}.", "error"
        )
    quantities = {f"qty_{line.item_id}": str(getattr(line, KINDS[kind].left)) for line in order.lines}
    return _new_form(request, kind, order, quantities | {"shipping": written_cents(order.shipping_left), "back_to_stock": "1"})


def _new_form(request: Request, kind: str, order: Order, typed: dict[str, str]) -> str:
    return request.render(
        "new_document.html",
        title=f"New {KINDS[kind].title}",
        section="Sales",
        kind=kind,
        words=KINDS[kind],
        order=order,
        lines=[(line, getattr(line, KINDS[kind].left)) for line in order.lines],
        typed=typed,
        carriers={carrier: carrier for carrier in CARRIERS},
    )


@site.post("/admin/sales/order_<any(invoice, creditmemo):kind>/new/order_id/<int:order_id>/", members_only)
@site.post("/admin/admin/order_<any(shipment):kind>/new/order_id/<int:order_id>/", members_only)
def create(request: Request, kind: str, order_id: int) -> str | Response:
    """Make an invoice, a shipment or a credit memo."""
    order, form = fulfilment.load(request.db, order_id), Form(request)
    quantities = {line.item_id: form.optional_count(f"qty_{line.item_id}", f"Qty of {line.name}") or 0 for line in order.lines}
    try:
        KINDS[kind].perform(request, order, quantities, form)
    except OrderError as error:
        request.flash(str(error), "error")
        return _new_form(request, kind, order, request.form.to_dict())
    return request.redirect(ORDER_URL.format(order_id), KINDS[kind].done)


@site.get("/admin/sales/order_<any(invoice):kind>/view/invoice_id/<int:document_id>/", members_only)
@site.get("/admin/admin/order_<any(shipment):kind>/view/shipment_id/<int:document_id>/", members_only)
@site.get("/admin/sales/order_<any(creditmemo):kind>/view/creditmemo_id/<int:document_id>/", members_only)
def document(request: Request, kind: str, document_id: int) -> str:
    """One invoice, shipment or credit memo."""
    row = one(request.db, f"SELECT * FROM {kind} WHERE {kind}_id = ?", document_id)
    tracks = request.db.execute(
        "SELECT carrier, title, number FROM shipment_track WHERE shipment_id = ? ORDER BY track_id", (document_id,)
    )
    return request.render(
        "document.html",
        title=f"{KINDS[kind].title} #{row['increment_id']}",
        section="Sales",
        kind=kind,
        row=row,
        order=fulfilment.load(request.db, row["order_id"]),
        back=f"/admin/sales/{kind}/",
        tracks=tracks.fetchall() if kind == "shipment" else [],
        carriers={carrier: carrier for carrier in CARRIERS},
    )


@site.post("/admin/admin/order_shipment/addTrack/shipment_id/<int:shipment_id>/", members_only)
def add_track(request: Request, shipment_id: int) -> Response:
    """Add a tracking number to a shipment."""
    one(request.db, "SELECT 1 FROM shipment WHERE shipment_id = ?", shipment_id)
    form = Form(request)
    track = _read_track(form)
    if not form.show_errors():
        insert(request.db, "shipment_track", shipment_id=shipment_id, **track)
        request.flash("You added the tracking number.")
    return redirect(f"/admin/admin/order_shipment/view/shipment_id/{shipment_id}/")
