"""Orders: the list, one order, and everything that can be done with it."""

from webarena_gym.sites.kit.requests import Request, Response, redirect
from webarena_gym.sites.shopping_admin import fulfilment
from webarena_gym.sites.shopping_admin.base import get, post
from webarena_gym.sites.shopping_admin.fields import Form
from webarena_gym.sites.shopping_admin.fulfilment import STATUSES, OrderError
from webarena_gym.sites.shopping_admin.grids import Column, Grid, Link, show
from webarena_gym.sites.shopping_admin.queries import insert

URL = "/admin/sales/order/view/order_id/{}/"
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
    row_link=Link("View", URL),
)


@get("/admin/sales/order/")
def orders(request: Request) -> str:
    """The list of orders."""
    return show(request, GRID)


@get("/admin/sales/order/view/order_id/<int:order_id>/")
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


@post("/admin/sales/order/<any(cancel, hold, unhold):action>/order_id/<int:order_id>/")
def act(request: Request, action: str, order_id: int) -> Response:
    """Cancel, hold or unhold an order."""
    perform, message = ACTIONS[action]
    try:
        perform(request.db, fulfilment.load(request.db, order_id))
        request.flash(message)
    except OrderError as error:
        request.flash(str(error), "error")
    return redirect(URL.format(order_id))


@post("/admin/sales/order/addComment/order_id/<int:order_id>/")
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
    return redirect(URL.format(order_id))
